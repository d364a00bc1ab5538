"""
Scenarios, and what is seen while one is played.

A scenario is data: what each attempt does, the policy, and the story that must come of it. The story is one list
of short lines in the order in which things happened: calls, log lines, events, hooks, waits.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import forbear
from forbear import Event, Policy
from forbear.testing import VirtualClock, virtual_time

from ways import Way

# -- what an attempt does: steps are functions of the stage, and give a value or raise


@dataclass
class Stage:
    """What a step can reach: the clock, and the scope that the whole call stands in."""

    clock: VirtualClock
    scope: forbear.Scope
    story: list[str] = field(default_factory=list)
    calls: int = 0


Step = Callable[[Stage], object]


def fail(text: str, kind: type[Exception] = ConnectionError) -> Step:
    """Raise an error of this kind, a new object each time."""

    def step(stage: Stage) -> object:
        raise kind(text)

    return step


def fails(*texts: str) -> tuple[Step, ...]:
    """Fail once for each text."""
    return tuple(fail(text) for text in texts)


def raises(
    make: Callable[[], BaseException], cause: Callable[[], BaseException] | None = None
) -> Step:
    """Raise what the function makes, from what the other makes."""

    def step(stage: Stage) -> object:
        error = make()
        if cause is None:
            raise error
        raise error from cause()

    return step


def give(value: object) -> Step:
    """Return the value."""
    return lambda stage: value


def takes(seconds: float, step: Step) -> Step:
    """Let so much time pass before the step."""

    def slow(stage: Stage) -> object:
        stage.clock.advance(seconds)
        return step(stage)

    return slow


def cancels(reason: str, step: Step) -> Step:
    """Cancel the scope around the call before the step."""

    def cancelling(stage: Stage) -> object:
        stage.scope.cancel(reason)
        return step(stage)

    return cancelling


MOST = 50


class Runaway(BaseException):
    """A policy that should have ended goes on and on; no policy may catch this."""


# -- the story, as tests write it down


def call(number: int) -> list[str]:
    """Tell of an attempt that begins."""
    return [f"call {number}"]


def again(number: int, delay: float) -> list[str]:
    """Tell of what follows a failed attempt that is tried again: log, listeners, hook, then the wait."""
    told = [
        f"log WARNING retry {number}",
        f"listener retry {number} {delay:g}",
        f"on_retry {number} {delay:g}",
    ]
    return [*told, f"wait {delay:g}"] if delay else told


def over(number: int, reason: str) -> list[str]:
    """Tell of trying that ends without success."""
    level = "INFO" if reason == "cancelled" else "ERROR"
    return [
        f"log {level} giveup {number}",
        f"listener giveup {number} {reason}",
        f"on_giveup {number} {reason}",
    ]


def well(number: int) -> list[str]:
    """Tell of a success."""
    return [f"listener success {number}", f"on_success {number}"]


def told(*parts: list[str]) -> list[str]:
    """Put a story together."""
    return [line for part in parts for line in part]


@dataclass(frozen=True)
class Scenario:
    """
    One call: what happens in it, and what must come of it.

    Args:
        id: For the test's name.
        steps: What each attempt does; the last one goes on for ever.
        policy: The policy's parameters.
        story: What is seen, in order.
        result: What is returned.
        error: `Type: text` of what is raised.
        cause: `Type: text` of its `__cause__`.
        reason: What `forbear.reason` says of it.
        timeout: Of the scope around the call.
        cancelled: Whether that scope is cancelled before the call begins, and why.
        during_wait: In which wait it is cancelled, counted from 1.
        forms: The ways it applies to.
    """

    id: str
    steps: tuple[Step, ...]
    policy: dict[str, Any]
    story: list[str]
    result: object = None
    error: str | None = None
    cause: str | None = None
    reason: str | None = None
    timeout: float | None = None
    cancelled: str | None = None
    during_wait: int | None = None
    forms: tuple[str, ...] = ("decorator", "call", "block", "generator")


@dataclass
class Outcome:
    """What came of it."""

    story: list[str]
    waits: list[float]
    calls: int
    result: object = None
    error: BaseException | None = None
    raised: list[BaseException] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


class _Waits(list[float]):
    """The clock's list of waits, which also tells of each as it begins."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, seconds: float) -> None:
        super().append(seconds)
        self._tell(seconds)


class _Log(logging.Handler):
    def __init__(self, story: list[str]) -> None:
        super().__init__()
        self._story = story

    def emit(self, record: logging.LogRecord) -> None:
        args = record.args
        assert isinstance(args, tuple)
        kind = "giveup" if "gave up" in record.msg else "retry"
        number = str(args[1]).split()[0]
        self._story.append(f"log {record.levelname} {kind} {number}")


class Lines(logging.Handler):
    """A handler that keeps what is logged, as a formatter would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def logged_to(handler: logging.Handler, level: int = logging.INFO) -> Iterator[logging.Logger]:
    """Give forbear's logger a handler and a level for a while."""
    logger = logging.getLogger("forbear")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield logger
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextlib.contextmanager
def only_heard_by(handlers: list[logging.Handler]) -> Iterator[None]:
    """Have nobody else listen to the log: pytest does, and it keeps every line."""
    root = logging.getLogger()
    before, root.handlers = root.handlers, handlers
    try:
        yield
    finally:
        root.handlers = before


def text_of(error: BaseException | None) -> str | None:
    """Return `Type: text`, or None."""
    return None if error is None else f"{type(error).__name__}: {error}"


def perform(way: Way, scenario: Scenario) -> Outcome:
    """Play a scenario in one of the ways."""
    story: list[str] = []
    seen = Outcome(story, [], 0)

    def listener(event: Event) -> None:
        seen.events.append(event)
        story.append(f"listener {_line(event)}")

    def hook(event: Event) -> None:
        story.append(f"on_{_line(event)}")

    given: dict[str, Any] = {"on_retry": hook, "on_giveup": hook, "on_success": hook, "name": "p"}
    policy = Policy(**(given | scenario.policy))
    with (
        virtual_time() as clock,
        forbear.scope(scenario.timeout) as around,
        logged_to(_Log(story)),
    ):
        stage = Stage(clock, around, story)

        def waiting(seconds: float) -> None:
            story.append(f"wait {seconds:g}")
            if len(clock.waits) == scenario.during_wait:
                around.cancel("while waiting")

        clock.waits = _Waits(waiting)
        if scenario.cancelled is not None:
            around.cancel(scenario.cancelled)

        def step() -> object:
            stage.calls += 1
            if stage.calls > MOST:
                raise Runaway(f"more than {MOST} calls")
            story.append(f"call {stage.calls}")
            try:
                return scenario.steps[min(stage.calls, len(scenario.steps)) - 1](stage)
            except BaseException as error:
                seen.raised.append(error)
                raise

        remove = forbear.on_event(listener)
        try:
            seen.result = way.run(policy, step)
        except BaseException as error:
            seen.error = error
        finally:
            remove()
        seen.calls = stage.calls
        seen.waits = list(clock.waits)
    return seen


def _line(event: Event) -> str:
    what = {"retry": event.delay, "giveup": event.reason, "success": None}[event.kind]
    shown = "" if what is None else f" {what:g}" if isinstance(what, float) else f" {what}"
    return f"{event.kind} {event.attempt}{shown}"
