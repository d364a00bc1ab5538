"""
An explanation as lines for a terminal: the sentences, the table of waits, and a bar for each.

Law: it shows what the explanation says and works out no wait of its own. What the terminal can show
(its width, its characters, colours) comes in as a value. No line is wider than that.
"""

from __future__ import annotations

import itertools
import math
import os
import sys

from forbear._explain import duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forbear._explain import Explanation, Wait

__all__ = ["Screen", "bar", "lines"]

ROWS, TAIL = 20, 3  # more rows than that are cut, down to the last few
LEAST_BAR = 8  # columns; where there is no room for that, there are no bars
EIGHTHS = " ▏▎▍▌▋▊▉"
SURE, MAYBE = "\x1b[36m", "\x1b[2m"
PLAIN = "\x1b[0m"


class Screen:
    """
    What can be shown.

    Args:
        width: Columns of a line.
        blocks: Whether block characters can be shown; else ASCII.
        colours: Whether colours can.
    """

    def __init__(self, width: int = 80, *, blocks: bool = False, colours: bool = False) -> None:
        self.width = width
        self.blocks = blocks
        self.colours = colours

    @classmethod
    def of_stdout(cls) -> Screen:
        """Find out what the standard output can show; a pipe or a file gets plain ASCII."""
        from shutil import get_terminal_size  # noqa: PLC0415 (not free)

        width, out = get_terminal_size().columns, sys.stdout
        if out is None or not out.isatty():  # None: it was closed from the start
            return cls(width)
        blocks = (out.encoding or "").lower().startswith("utf")
        colours = os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")
        return cls(width, blocks=blocks, colours=colours)


def lines(told: Explanation, title: str, screen: Screen, worst: float | None = None) -> list[str]:
    """
    Return the explanation as lines.

    Args:
        title: Stands above it.
        worst: Seconds that calls and waits take at most, if something limits them.
    """
    from textwrap import wrap  # noqa: PLC0415 (not free)

    def prose(text: str) -> list[str]:
        return wrap(text, screen.width, subsequent_indent="  ", break_on_hyphens=False)

    summary = told.summary()
    if worst is not None and math.isfinite(worst):
        summary.insert(1, f"at most {duration(worst)} in all, calls and waits together")
    head = [*prose(title), "", *(line for text in summary for line in prose(text)), ""]
    return [*head, *(line.rstrip() for line in _table(told, screen))]


def _table(told: Explanation, screen: Screen) -> list[str]:
    waits = _within(told)
    if not waits:
        return ["no waits"]
    columns = _columns(waits, screen.width)
    top = max(wait.high for wait in waits)
    room = screen.width - sum(len(cells[0]) + 2 for cells in columns)
    rows = ["  ".join(row) for row in zip(*columns, strict=True)]
    if room >= LEAST_BAR:
        bars = [bar(wait, top, room, screen) for wait in waits]
        rows = [rows[0], *(f"{row}  {drawn}" for row, drawn in zip(rows[1:], bars, strict=True))]
        rows += _legend(waits, screen)
    return _cut(rows, len(waits), told)


def _within(told: Explanation) -> list[Wait]:
    """Return the waits that can begin at all: the time limit may end it sooner than the attempts."""
    if told.limit is None:
        return list(told.waits)
    least = itertools.accumulate(wait.low for wait in told.waits)
    pairs = zip(told.waits, least, strict=True)
    return [wait for wait, total in pairs if total <= told.limit]


def _columns(waits: list[Wait], width: int) -> list[list[str]]:
    """Return the columns, head first: what is the same twice, or has no room, is left out."""
    total = itertools.accumulate(wait.high for wait in waits)
    spread = any(wait.low != wait.high for wait in waits)
    columns = [["after", *(str(wait.number) for wait in waits)]]
    columns.append(["waits", *(_seconds(wait.low) for wait in waits)])
    if spread:
        columns.append(["to", *(_seconds(wait.high) for wait in waits)])
    if spread and width >= 64:
        columns.append(["typically", *(_seconds(wait.typical) for wait in waits)])
    if width >= 48:
        columns.append(["in all", *(_seconds(seconds) for seconds in total)])
    return [[cell.rjust(max(map(len, cells))) for cell in cells] for cells in columns]


def _seconds(seconds: float) -> str:
    return duration(seconds) if math.isfinite(seconds) else "for ever"


def _legend(waits: list[Wait], screen: Screen) -> list[str]:
    if all(wait.low == wait.high for wait in waits):
        return []
    sure, maybe = ("█", "░") if screen.blocks else ("#", "-")
    texts = [f"{maybe} left to chance"]
    if any(wait.low > 0.0 for wait in waits):
        texts.insert(0, f"{sure} waited in any case")
    text = "   ".join(texts)
    return ["", text] if len(text) <= screen.width else []


def _cut(rows: list[str], count: int, told: Explanation) -> list[str]:
    """Leave out the middle of a long table, and say how it goes on where it has no end."""
    head, body, rest = rows[0], rows[1 : count + 1], rows[count + 1 :]
    if count > ROWS:
        hidden = count - (ROWS - TAIL)
        body = [*body[: ROWS - 2 * TAIL], f"... {hidden} more", *body[-TAIL:]]
    if count < len(told.waits) and told.limit is not None:
        body.append(f"... no further wait ends within {duration(told.limit)}")
    elif not told.complete:
        body.append("... and so on")
    return [head, *body, *rest]


def bar(wait: Wait, top: float, room: int, screen: Screen) -> str:
    """
    Draw one wait: what is waited in any case, and behind it what is left to chance.

    >>> from forbear._explain import Wait
    >>> bar(Wait(1, 1.0, 1.5, 2.0), top=4.0, room=16, screen=Screen())
    '####----'
    >>> bar(Wait(1, 1.0, 1.0, 1.0), top=3.0, room=8, screen=Screen(blocks=True))
    '██▋'

    Args:
        top: The longest wait of the picture, which is as long as the room.
        room: Columns of the longest bar.
    """
    if not wait.high > 0.0 or not math.isfinite(top):
        return ""
    if wait.low == wait.high:
        sure, maybe = _sure(wait.low / top * room, screen), ""
    else:
        end = max(1, round(wait.high / top * room))
        cells = min(end - 1, round(wait.low / top * room))
        sure = ("█" if screen.blocks else "#") * cells
        maybe = ("░" if screen.blocks else "-") * (end - cells)
    if not screen.colours:
        return sure + maybe
    return (f"{SURE}{sure}" if sure else "") + (f"{MAYBE}{maybe}" if maybe else "") + PLAIN


def _sure(length: float, screen: Screen) -> str:
    """Draw a bar without chance, by eighths of a column where that can be shown; never nothing."""
    if not screen.blocks:
        return "#" * max(1, round(length))
    whole, eighths = divmod(max(1, round(length * 8)), 8)
    return "█" * whole + EIGHTHS[eighths].strip()
