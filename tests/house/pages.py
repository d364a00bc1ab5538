"""
The blocks of a Markdown page, and a program made of them.

Law: it reads what readers read. A ``python`` block runs, after the ones above it; a ``text`` block right below one is
what has been printed by then; a ``console`` block is commands and what they print. A comment above a block may say

    <!-- no-run: needs a server -->     it is only compiled; the reason is for readers of the page's source
    <!-- alone -->                      it is a program of its own
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDERS = ("*.md", "examples/*.md", "benchmarks/*.md", "docs/**/*.md")
PAGES = sorted(
    page for folder in FOLDERS for page in ROOT.glob(folder) if "_build" not in page.parts
)

FENCE = re.compile(r"^(?P<fence>```+|~~~+)(?P<language>[^\s`]*)")
COMMENT = re.compile(r"^<!-- (?P<word>no-run|alone)(?:: (?P<why>.+))? -->$")
END_OF_BLOCK = "-- end of block"
VIRTUAL = (
    "import forbear.testing; forbear.testing.virtual_time(everywhere=True).__enter__(); del forbear"
)


class Block(NamedTuple):
    """A fenced block; `line` is the number of its first line, `below` the line of the block right above it, or 0."""

    language: str
    text: str
    line: int
    word: str
    why: str
    below: int


class Piece(NamedTuple):
    """A Python block and what it is to print."""

    code: str
    line: int
    prints: str


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    word = why = fence = language = ""
    first = previous = 0
    for number, line in enumerate(lines, 1):
        if fence:
            if line.strip() == fence:
                text = "\n".join(lines[first - 1 : number - 1]) + "\n"
                found.append(Block(language, text, first, word, why, previous))
                previous, fence, word, why = first, "", "", ""
        elif opening := FENCE.match(line):
            fence, language, first = opening["fence"], opening["language"], number + 1
        elif comment := COMMENT.match(line):
            word, why = comment["word"], comment["why"] or ""
        elif line.strip():
            previous = 0
    assert not fence, f"{page}: the block that begins in line {first} has no end"
    return found


def programs(page: Path) -> list[list[Piece]]:
    """Return the programs of a page: the blocks that build on each other, and each that stands alone."""
    together: list[Piece] = []
    made = [together]
    last: list[Piece] = together
    for block in blocks(page):
        if block.language == "python" and block.word != "no-run":
            last = [] if block.word == "alone" else together
            if last is not together:
                made.append(last)
            last.append(Piece(block.text, block.line, ""))
        elif block.language == "text" and block.below and last and last[-1].line == block.below:
            last[-1] = last[-1]._replace(prints=block.text)
    return [pieces for pieces in made if pieces]


def run(pieces: list[Piece], file: Path) -> list[str]:
    """
    Put the blocks into a file, each at the line where it stands in the page, run it, and return what each printed.

    Warnings are errors, and nothing may be written to standard error. Waits take no time: a page has a heading in its
    first line, so there is room for that.
    """
    text = VIRTUAL
    for piece in pieces:
        text += "\n" * (piece.line - 1 - text.count("\n"))
        text += piece.code + f"print({END_OF_BLOCK!r})\n"
    file.write_text(text, encoding="utf-8")
    done = python("-W", "error", str(file))
    assert (0, "") == (done.returncode, done.stderr), f"{done.stdout}{done.stderr}"
    return done.stdout.split(END_OF_BLOCK + "\n")[:-1]


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this Python, from the top of the repository."""
    return subprocess.run(
        [sys.executable, "-X", "utf8", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=100,
        check=False,
    )
