"""
The play: when the server is killed and comes back under the load, and what is to be said of it.

Law: time and outcome stand here, and what the screen shows is read from here. This file must not
know how it is shown. Everything runs in the scope of whoever runs it, and ends with Cancelled when
that is cancelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import reduce
from operator import add
from time import monotonic
from typing import NamedTuple

from forbear import Ticker, scope

from ._demo_load import Load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from ._demo_load import Figures, Lane
    from ._demo_server import Server

    class View(Protocol):
        """What shows the stage."""

        def show(self, stage: Stage) -> None: ...


__all__ = ["Outage", "Stage", "Verdict", "schedule", "total", "verdict"]

FRAME = 0.1  # seconds from one picture to the next
OUTAGE = 2.0  # seconds that the server is away, or less where the whole is short
PATIENCE = 15.0  # seconds for calls to end; their policy's limit and a client's timeout are less


class Outage(NamedTuple):
    """From when to when the server was away, in seconds; `end` is None while it is."""

    begin: float
    end: float | None


class Stage:
    """
    One run of the demo.

    Args:
        server: Where the load goes; it is started here and not stopped.
        seconds: How long the load goes on.
        kills: How often the server is killed, at even distances.
    """

    def __init__(self, server: Server, *, seconds: float, kills: int) -> None:
        self.server = server
        self.seconds = seconds
        self.kills = kills
        self.killed = 0  # by SIGKILL, and nothing else
        self.outages: list[Outage] = []
        self.events: list[tuple[float, str]] = []
        server.start()
        self.load = Load(server.port or 0, lambda: self.elapsed)
        self._began = monotonic()
        self._ended: float | None = None
        self._plan = deque[tuple[float, Callable[[], None]]]()
        for begin, end in schedule(seconds, kills):
            self._plan += [(begin, self._kill), (end, self._start)]

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """All lanes, the protected ones first."""
        return *self.load.protected, *self.load.bare

    @property
    def elapsed(self) -> float:
        """Seconds since the load began; they stop when it has ended."""
        return (monotonic() if self._ended is None else self._ended) - self._began

    @property
    def is_up(self) -> bool:
        """Whether the server is there."""
        return not self.outages or self.outages[-1].end is not None

    def run(self, view: View) -> None:
        """
        Let the load run, kill the server and start it again, and wait until every call has ended.

        Raises:
            Cancelled: A scope around is cancelled; the callers have ended nevertheless.
            ServerError: The server didn't come back.
        """
        with scope() as callers:
            try:
                self._note(f"server is up on port {self.server.port} (pid {self.server.pid})")
                self.load.start()
                self._act(view)
            except BaseException:
                callers.cancel("the demo ends early")
                raise
            finally:
                self.load.stop()
                self.load.join(PATIENCE)
                self._ended = monotonic()
            callers.check()  # a Ctrl-C while they ended
        view.show(self)

    def _act(self, view: View) -> None:
        for _ in Ticker(FRAME):
            while self._plan and self._plan[0][0] <= self.elapsed:
                self._plan.popleft()[1]()
            view.show(self)
            if self.elapsed >= self.seconds:
                return

    def _kill(self) -> None:
        killed = self.server.kill()
        self.killed += killed
        self.outages.append(Outage(self.elapsed, None))
        if killed:
            self._note(f"server is killed with SIGKILL ({self.killed} of {self.kills})")
        else:
            self._note("server had ended by itself")

    def _start(self) -> None:
        self.server.start()
        begin, end = self.outages[-1].begin, self.elapsed
        self.outages[-1] = Outage(begin, end)
        self._note(f"server is back after {end - begin:.1f} s (pid {self.server.pid})")

    def _note(self, text: str) -> None:
        self.events.append((self.elapsed, text))


def schedule(seconds: float, kills: int) -> list[tuple[float, float]]:
    """
    Return from when to when the server is to be away, with rest before, between and after.

    >>> schedule(10.0, 2)
    [(2.0, 4.0), (6.0, 8.0)]
    >>> schedule(3.0, 1)
    [(1.0, 2.0)]
    """
    away = min(OUTAGE, seconds / (2 * kills + 1))
    rest = (seconds - kills * away) / (kills + 1)
    begins = [rest + number * (rest + away) for number in range(kills)]
    return [(begin, begin + away) for begin in begins]


def total(lanes: Iterable[Lane]) -> Figures:
    """Return the figures of several lanes together."""
    return reduce(add, (lane.figures() for lane in lanes))


class Verdict(NamedTuple):
    """What came of it: whether no protected call was lost and that means something; and why."""

    good: bool
    text: str


def verdict(stage: Stage) -> Verdict:
    """
    Judge a run that has ended.

    A run in which the server didn't die, or nobody noticed, is no success: it has shown nothing.
    """
    protected, bare = total(stage.load.protected), total(stage.load.bare)
    if protected.lost:
        last = next(lane.last_loss for lane in stage.load.protected if lane.last_loss)
        lost = f"{protected.lost:,} of {protected.calls:,} protected calls were lost"
        return Verdict(good=False, text=f"{lost}, one of them by {last}")
    if protected.waiting or bare.waiting:
        pending = protected.waiting + bare.waiting
        return Verdict(good=False, text=f"{pending:,} calls have not ended; nobody knows of them.")
    nothing = _nothing_shown(stage, protected, bare)
    if nothing is not None:
        return Verdict(good=False, text=f"The demo has shown nothing: {nothing}.")
    return Verdict(
        good=True,
        text=f"The server was killed {_times(stage.kills)}, and none of {protected.calls:,} "
        f"protected calls was lost ({protected.recovered:,} were saved by {protected.retries:,} "
        f"retries); the bare load lost {bare.lost:,} of {bare.calls:,}.",
    )


def _nothing_shown(stage: Stage, protected: Figures, bare: Figures) -> str | None:
    """Say why a run without losses means nothing, or None if it means what it seems to."""
    if stage.killed < stage.kills:
        return f"the server was killed {_times(stage.killed)} and not {_times(stage.kills)}"
    if not bare.lost:
        return f"none of {bare.calls:,} bare calls was lost either"
    if not protected.recovered:
        return "no protected call needed a retry"
    return None


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")
