"""
What the demo shows: a picture that changes, or plain lines where there is no terminal for it.

Law: it reads the stage and changes nothing. Both views show the same figures, made once. Plain
means plain: ASCII, no control character, a line at a time.
"""

from __future__ import annotations

import math
import sys

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ._demo_load import BIN, POLICY, RATE, TASKS, THREADS
from ._demo_stage import total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from ._demo_load import Lane
    from ._demo_stage import Stage, Verdict

    Cell = tuple[str, str]  # a character and its style

__all__ = ["LiveView", "PlainView", "new_view"]

TITLES = ("", "calls", "answered", "retries", "recovered", "given up", "lost", "slowest")
WIDTH, HEIGHT = 80, 20  # what the picture needs
EDGES = 4  # the panel's border and padding, left and right
LABEL = 14  # the widest lane's name, and two blanks

BARS = "▁▂▃▄▅▆▇█"
WAITING, LOST = "·", "\N{MULTIPLICATION SIGN}"
USUAL = 6  # which of the bars stands for the usual pace: there is room for a rush above it


def new_view(*, plain: bool) -> LiveView | PlainView:
    """Return the view that suits the standard output: the picture if that can show it."""
    console = Console()
    is_screen = sys.stdout.isatty() and console.is_terminal and not console.is_dumb_terminal
    fits = console.width >= WIDTH and console.height >= HEIGHT
    if plain or not is_screen or not fits or "utf" not in console.encoding.lower():
        return PlainView()
    return LiveView(console)


def figures(stage: Stage) -> Iterator[tuple[str, ...]]:
    """Yield a row for each lane; what only a policy could know is a dash where there is none."""
    for lane in stage.lanes:
        now = lane.figures()
        known = [now.retries, now.recovered, now.given_up]
        told = ["-" if lane.policy is None else f"{number:,}" for number in known]
        counted = f"{now.calls:,}", f"{now.answered:,}", *told, f"{now.lost:,}"
        yield lane.name, *counted, f"{now.slowest:.2f} s"


def introduction() -> str:
    """Say what is about to be seen."""
    return (
        f"{THREADS} threads and {TASKS} asyncio tasks call a real valkey-server, each call under\n"
        f"{POLICY!r}\n"
        "As many again make the same calls bare. The server is about to be killed."
    )


# -- plain


class PlainView:
    """One line for each event and each second, and the table at the end."""

    def __init__(self) -> None:
        self._told = 0
        self._next = 1

    def __enter__(self) -> Self:
        self._say(introduction())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None

    def show(self, stage: Stage) -> None:
        """Tell the events that are new, and how it stands, once a second."""
        for at, text in stage.events[self._told :]:
            self._say(f"{at:6.1f} s  {text}")
        self._told = len(stage.events)
        if stage.elapsed >= self._next:
            self._next = int(stage.elapsed) + 1
            self._say(f"{stage.elapsed:6.1f} s  {_standing(stage)}")

    def end(self, stage: Stage, verdict: Verdict) -> None:
        """Tell the table and the verdict."""
        table = [TITLES, *figures(stage)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        self._say("")
        for name, *numbers in table:
            cells = [number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)]
            self._say("  ".join([name.ljust(widths[0]), *cells]))
        self._say(f"\n{verdict.text}")

    def _say(self, text: str) -> None:
        print(text.encode("ascii", "replace").decode(), flush=True)


def _standing(stage: Stage) -> str:
    protected, bare = total(stage.load.protected), total(stage.load.bare)
    return (
        f"{'UP  ' if stage.is_up else 'DOWN'}  "
        f"protected: {protected.calls:,} calls, {protected.waiting:,} waiting, "
        f"{protected.retries:,} retries, {protected.lost:,} lost; "
        f"bare: {bare.calls:,} calls, {bare.lost:,} lost"
    )


# -- the picture


class LiveView:
    """A panel that is drawn anew ten times a second, and stays when it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False)

    def __enter__(self) -> Self:
        self._console.print(introduction(), style="dim", highlight=False)
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, traceback)

    def show(self, stage: Stage) -> None:
        """Draw the panel."""
        self._live.update(picture(stage, self._console.width), refresh=True)

    def end(self, stage: Stage, verdict: Verdict) -> None:
        """Leave the panel with its last figures, and tell the verdict below it."""
        self.show(stage)
        self._live.stop()
        self._console.print(Text(verdict.text, style="bold green" if verdict.good else "bold red"))


def picture(stage: Stage, width: int) -> Group:
    """
    Return the panel: how the server is, what happened until now, and the figures.

    An empty line follows, on which the terminal writes the `^C` of whoever interrupts. At the end
    of a panel as wide as the screen it would begin another line, and the next picture lie askew.
    """
    moments = round(stage.seconds / BIN)
    step = max(1, -(-moments // (width - EDGES - LABEL)))  # tenths of a second to a cell
    parts = (_status(stage), Text(), _strips(stage, step), Text(), _table(stage))
    panel = Panel(
        Group(*parts),
        title="[bold]forbear demo[/]",
        title_align="left",
        subtitle=f"{min(stage.elapsed, stage.seconds):.1f} s of {stage.seconds:g} s",
        subtitle_align="right",
        border_style="green" if stage.is_up else "red",
        width=max(WIDTH, EDGES + LABEL + -(-moments // step)),
    )
    return Group(panel, "")


def _status(stage: Stage) -> Table:
    if stage.is_up:
        state = Text("● UP", style="bold green")
        story = f"valkey-server on port {stage.server.port}, pid {stage.server.pid}"
    else:
        state = Text("● DOWN", style="bold red")
        away = stage.elapsed - stage.outages[-1].begin
        story = f"valkey-server was killed with SIGKILL {away:.1f} s ago"
    line = Table.grid(expand=True)
    line.add_column(width=LABEL)
    line.add_column(ratio=1)
    line.add_column(justify="right")
    line.add_row(state, story, f"killed {stage.killed} of {stage.kills}")
    return line


def _strips(stage: Stage, step: int) -> Table:
    """
    Draw what happened from the beginning to now to the server and to each lane.

    Args:
        step: How many tenths of a second a cell stands for.
    """
    cells = int(min(stage.elapsed, stage.seconds) / BIN / step + 0.01)
    strips = Table.grid()
    strips.add_column(width=LABEL)
    strips.add_column(no_wrap=True)
    strips.add_row("server", Text.assemble(*_server_cells(stage, cells, step)))
    for lane in stage.lanes:
        strips.add_row(lane.name, Text.assemble(*_lane_cells(lane, cells, step)))
    signs = f"{BARS[USUAL - 1]} answered   {WAITING} waiting   {LOST} lost"
    strips.add_row("", Text(f"{signs}      a cell is {step * BIN:.1f} s", style="dim"))
    return strips


def _server_cells(stage: Stage, cells: int, step: int) -> Iterator[Cell]:
    for number in range(cells):
        middle = (number + 0.5) * step * BIN
        down = any(begin <= middle < (end or math.inf) for begin, end in stage.outages)
        yield ("╌", "red") if down else ("━", "green")


def _lane_cells(lane: Lane, cells: int, step: int) -> Iterator[Cell]:
    answered, lost = lane.history()
    usual = RATE * BIN * step
    for begin in range(0, cells * step, step):
        moments = range(begin, begin + step)
        if any(lost[moment] for moment in moments):
            yield LOST, "red"
            continue
        count = sum(answered[moment] for moment in moments)
        height = min(len(BARS), max(1, round(USUAL * count / usual)))
        yield (BARS[height - 1], "green") if count else (WAITING, "yellow")


def _table(stage: Stage) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=False, expand=True, header_style="dim")
    for title in TITLES:
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for row, lane in zip(figures(stage), stage.lanes, strict=True):
        lost = lane.figures().lost
        styled = [Text(cell) for cell in row]
        styled[TITLES.index("recovered")].stylize("green" if lane.policy else "")
        styled[TITLES.index("lost")].stylize("bold red" if lost else "green")
        table.add_row(*styled)
    return table
