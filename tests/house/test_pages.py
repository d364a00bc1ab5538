"""The house: every block of the README and of the documentation runs, and prints what the page says it prints."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pages import PAGES, ROOT, Block, Piece, blocks, programs, run

PROGRAMS = [
    pytest.param(pieces, id=f"{page.relative_to(ROOT)}:{pieces[0].line}")
    for page in PAGES
    for pieces in programs(page)
]


def everywhere(*languages: str) -> list[tuple[Path, Block]]:
    return [
        (page, block) for page in PAGES for block in blocks(page) if block.language in languages
    ]


@pytest.mark.parametrize("pieces", PROGRAMS)
def test_blocks_of_a_page_print_what_it_says(pieces: list[Piece], tmp_path: Path) -> None:
    """Who pastes the blocks of a page into a file gets what stands below them."""
    printed = run(pieces, tmp_path / "page.py")
    assert {piece.line: piece.prints for piece in pieces} == {
        piece.line: text for piece, text in zip(pieces, printed, strict=True)
    }


def test_blocks_that_do_not_run_say_why_and_compile() -> None:
    """What a test can't run (it needs a library or a server that tests don't have) is Python all the same."""
    left_out = [(page, block) for page, block in everywhere("python") if block.word == "no-run"]
    assert left_out
    for page, block in left_out:
        where = f"{page.relative_to(ROOT)}:{block.line}"
        assert re.match(r"(needs|a sketch|a test that)", block.why), f"{where} says no reason"
        compile(block.text, where, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_what_needs_a_library_that_is_here_runs() -> None:
    """A block is left out for want of a library only if the tests don't install it."""
    here = {"httpx", "redis", "gevent", "trio", "pytest", "fastapi"}
    for page, block in everywhere("python"):
        if block.why.startswith("needs"):
            assert not here & set(re.findall(r"[\w-]+", block.why)), (
                f"{page.relative_to(ROOT)}:{block.line}"
            )


def test_only_languages_that_are_looked_at() -> None:
    """A block of a language that no test knows would be a block that nobody runs."""
    known = {"python", "text", "console", "sh", "toml", "go", "{toctree}", "{eval-rst}"}
    assert set() == {block.language for page in PAGES for block in blocks(page)} - known


# -- commands

# What a test may run: forbear itself, and examples. All else makes environments, installs, or runs the tests.
RUNS = re.compile(r"(?:printf '[^']*' \| )?(?:forbear (?:explain|run)|python examples/)")
NOT_RUN = re.compile(
    r"(?:make|pip|git|(?:PY|ARGS)=.* make|python tools/|\.venv/bin/python|forbear demo)\b"
)


def commands(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a console block, each with what it prints; nothing if the page doesn't show it."""
    assert block.text.startswith("$ ")
    found = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        found.append((command, output))
    return found


COMMANDS = [
    pytest.param(command, output, id=f"{page.relative_to(ROOT)}:{block.line}: {command:.40}")
    for page, block in everywhere("console")
    for command, output in commands(block)
    if RUNS.match(command)
]


def test_every_command_is_known() -> None:
    """A command of a page is one that is run here, or one that is known to be no business of a test."""
    for page, block in everywhere("console"):
        for command, output in commands(block):
            where = f"{page.relative_to(ROOT)}:{block.line}: {command}"
            assert RUNS.match(command) or (NOT_RUN.match(command) and not output), where


def plain(output: str) -> str:
    """Leave out what differs: folders, line numbers, seconds passed, and the marks below lines of newer Pythons."""
    output = re.sub(r"^[ ~^]+\n", "", output, flags=re.MULTILINE)
    output = re.sub(
        r'File "[^"]*?((?:examples|forbear)/[\w.]+)", line \d+', r'File ".../\1", line N', output
    )
    output = re.sub(r'File "\.\.\./examples', 'File "examples', output)
    return re.sub(r" in \d+\.\d+ s \(", " in N s (", output)


@pytest.mark.parametrize(("command", "output"), COMMANDS)
def test_commands_print_what_the_page_says(command: str, output: str) -> None:
    """Who types a command of a page sees what stands below it; where nothing stands, it is at least one that works."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env=os.environ | {"PATH": path, "COLUMNS": "100", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
    if output:
        assert (0, plain(output)) == (done.returncode, plain(done.stdout))
    else:
        assert done.returncode not in {2, 125, 126, 127}, done.stdout
        assert "Traceback" not in done.stdout


def test_settings_can_be_read() -> None:
    """A piece of a configuration file is one."""
    import tomllib  # noqa: PLC0415

    for _, block in everywhere("toml"):
        assert tomllib.loads(block.text)
