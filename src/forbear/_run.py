"""
One call's memory, and the decision after each failed attempt.

Law: the order of events stands here, once, for threads, asyncio and trio alike. A run decides and remembers;
it calls no function of the call, tells no hook and waits for nothing, that is the drivers' part. It begins
with the first failure, because a call that succeeds has nothing to remember. It holds on to one error at the
most (the last), and lets go of it when the call ends, so that no cycle is left behind.
"""

from __future__ import annotations

import random as _random
import sys
from collections import deque

from . import _events, _notes, _scope
from ._hints import as_hint, signals
from ._notes import EPOCH
from ._rules import NEVER, holds_never
from .errors import Cancelled, ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._clock import Clock
    from ._events import Event
    from ._hints import RetryAfter
    from ._rules import Rules
    from ._scope import Scope

__all__ = ["AGAIN", "OVER", "PASS", "Run", "name_of"]

# Verdicts. PASS: not ours, the error passes untouched. OVER: trying ends. AGAIN: wait, then try once more.
PASS, OVER, AGAIN = 0, 1, 2

# What a clock's last digits may be off by when seconds are added up: a nanosecond, as the finest clocks count.
GRAIN = 1e-9


class Run:
    """What one call of a policy remembers, from its first failure on."""

    __slots__ = (
        "_fn",
        "_carried",
        "_known",
        "_mark",
        "_permanent",
        "_since",
        "_texts",
        "_warned",
        "attempts",
        "began",
        "clock",
        "delay",
        "error",
        "failures",
        "instead",
        "number",
        "previous",
        "reason",
        "result",
        "rules",
        "scope",
        "started",
        "waits",
        "why",
    )

    def __init__(self, rules: Rules, fn: object, began: int | None = None) -> None:
        self.rules = rules
        # When the call began, counted in ends of trying; a wrapper doesn't know, and this is its first failure.
        self._since = began
        self.began = EPOCH[0] if began is None else began
        self._fn = fn
        self.scope: Scope | None = _scope.current()
        self.clock: Clock = _scope.clock_of(self.scope)
        self.attempts = rules.attempts
        self.waits = True
        if self.scope is not None:
            self._heed_limits(self.scope)
        own = self.scope is not None and rules.total_timeout is not None
        self.started: float = self.scope.started if own and self.scope.started is not None else self.clock.now()  # type: ignore[union-attr]
        self.number = 0  # attempts that have failed
        self.failures = 0  # as the backoff counts them: a hint starts it anew
        self.previous = 0.0
        self.delay = 0.0
        self.error: BaseException | None = None
        self.result: Any = None
        self.instead: BaseException | None = None  # what is raised in the place of the error
        self.reason: str | None = None
        self.why = ""
        self._known: type | None = None  # a type of error that needs no closer look
        self._mark: _notes.Mark | None = None
        self._carried: BaseException | None = None  # what a signal gives way to when trying ends
        self._permanent = False
        self._warned = False
        self._texts: deque[tuple[int, str]] = deque(maxlen=3)

    def _heed_limits(self, scope: Scope) -> None:
        node: Scope | None = scope
        while node is not None:
            if node.limit is not None and node.open:
                self.waits = False
                self.attempts = node.limit if self.attempts is None else min(self.attempts, node.limit)
            node = node.parent

    @property
    def name(self) -> str:
        """The policy's name, else the function's."""
        return name_of(self.rules, self._fn)

    @property
    def elapsed(self) -> float:
        """Seconds since the call began (with a limit of its own), else since its first failure."""
        return self.clock.now() - self.started

    # -- the decision

    def judge(self, error: Exception | None, result: object = None, *, cut: bool = False) -> int:
        """
        Decide what follows a failed attempt: one of PASS, OVER and AGAIN.

        The order is a promise of the manual: signals, `on` and `giveup`, attempts, cancellation, nesting, the
        backoff, the hint, the time limit.

        Args:
            error: What the attempt raised, or None if its result was refused by `on_result`.
            result: What it returned.
            cut: Whether `attempt_timeout` cut it off: then it counts as matched, whatever `on` says.
        """
        self.number += 1
        self.result = result
        self.error = error
        self.reason = None
        self._carried = self._mark = None
        again: RetryAfter | None = None
        if error is not None and (type(error) is not self._known or error.__cause__ is not None):
            matched, again = self._look_at(error, cut)
            if not matched:
                self.close()
                return PASS
        self._remember(error, result)
        if self._permanent:
            return self._over("permanent", "no further try can help")
        # Where nobody has ever given up, or (known to a block) not since it began, there is no mark to look for.
        eventful = EPOCH[0] != (self._since or 0)
        if eventful and error is not None and _notes.may_have_mark(error):
            self._mark = _notes.mark_inside(error, self._since)
            if self._mark is not None and self._mark[0] == "permanent":
                return self._over("permanent", f"{self._mark[3]} inside says that no further try can help")
        if self.attempts is not None and self.number >= self.attempts:
            return self._over("attempts", "its only attempt" if self.attempts == 1 else f"all {self.attempts} attempts")
        if (eventful or self.scope is not None) and self.is_cancelled():
            return OVER
        if self._mark is not None and self.rules.nested == "stop":
            return self._over("nested", f"{self._mark[3]} inside has already retried it to the end")
        return self._schedule(error, result, again)

    def _look_at(self, error: Exception, cut: bool) -> tuple[bool, RetryAfter | None]:
        """Tell whether a failure is ours to retry, and find the signals in it."""
        if isinstance(error, NEVER) or holds_never(error):
            return False, None
        permanent, again = signals(error)
        if permanent is not None:
            self._permanent = True
            if permanent is error:
                self._carried = permanent.carried
            return True, None
        if again is not None or cut:
            if again is error:
                self._carried = again.__cause__
            return not self.rules.gives_up(error), again
        if not self.rules.matches(error):
            return False, None
        rules = self.rules
        plain = rules._on_types is not None and (rules.giveup is None or rules._giveup_types is not None)
        if plain and error.__cause__ is None and not isinstance(error, BaseExceptionGroup):
            self._known = type(error)
        return True, None

    def _remember(self, error: BaseException | None, result: object) -> None:
        if error is None:
            text = f"result refused: {type(result).__name__}"
        elif self.rules.describe is _notes.describe:
            text = _notes.glance(error)
        else:
            text = _notes.described(error, self.rules.describe)
        self._texts.append((self.number, text))

    def _over(self, reason: str, why: str) -> int:
        self.reason = reason
        self.why = why
        self.instead = self._carried
        return OVER

    def is_cancelled(self) -> bool:
        """Tell whether the call was cancelled; then Cancelled is what comes out."""
        reason = _scope.cancelled(self.scope, self.began)
        if reason is None:
            return False
        self._cancel(reason)
        return True

    def _cancel(self, reason: str) -> None:
        self._over("cancelled", reason)
        self.instead = Cancelled(reason)
        self.instead.__cause__ = self.error

    def _schedule(self, error: Exception | None, result: object, again: RetryAfter | None) -> int:
        """Find the delay before the next attempt, or the reason why there is none."""
        rules = self.rules
        backoff = rules._plain_backoff or rules.backoff_for(error)
        delay = backoff.delay(self.failures + 1, self.previous, _random.random)
        if delay is None:
            return self._over("backoff", "the backoff says stop")
        if not 0.0 <= delay <= sys.float_info.max:
            delay = _readable(delay)
        hinted = again.retry_after if again is not None else None
        if hinted is None and rules.hint is not None:
            said = rules.hint(result if error is None else error)
            hinted = None if said is None else as_hint(said)
        if hinted is None:
            self.failures += 1
            self.previous = delay
        else:
            if rules.max_hint is not None and hinted > rules.max_hint:
                return self._over("hint", f"asked to wait {hinted:.6g} s, above max_hint={rules.max_hint:g}")
            self.failures, self.previous = 0, 0.0
            delay = min(sys.float_info.max, hinted * (1.0 + rules.hint_jitter * _random.random()))
        self.delay = delay if self.waits else 0.0
        return AGAIN if self.scope is None else self.recheck()

    def recheck(self) -> int:
        """Decide whether the wait would still end within the time limit, and nobody has cancelled."""
        if self.is_cancelled():
            return OVER
        left = _scope.time_left(self.scope)
        if left is not None and self.delay - left > GRAIN:
            return self._over("timeout", f"waiting {self.delay:.3g} s more would pass the time limit")
        return AGAIN

    def interrupted(self) -> bool:
        """Tell whether the wait that just ended was cancelled; then Cancelled is what comes out."""
        return (self.scope is not None or EPOCH[0] != self.began) and self.is_cancelled()

    def _leave_trace(self) -> None:
        """Leave the last failure on the cancelled scopes around, for the error that they will raise."""
        node = self.scope
        while node is not None:
            if node.open and node.cut_off:
                node.failure, node.attempts = self.error, self.number
            node = node.parent

    # -- what is told

    def event(self, kind: Literal["retry", "giveup", "success"]) -> Event:
        """Make the event that hooks, listeners and the log are given."""
        if kind == "retry":
            return _events.Event(
                kind, self.name, self.number, delay=self.delay, elapsed=self.elapsed, error=self.error, result=self.result
            )
        error = self.error if self.instead is None or self.reason == "cancelled" else self.instead
        return _events.Event(
            kind, self.name, self.number, elapsed=self.elapsed, error=error, result=self.result, reason=self.reason
        )

    @property
    def because(self) -> str:
        """Why trying ended: the word, and what it means here."""
        return f"{self.reason}: {self.why}"

    def text(self) -> str:
        """Return the last failure on one line."""
        return _notes.one_line(self._texts[-1][1]) if self._texts else ""

    @property
    def nested(self) -> str | None:
        """The policy inside that has already retried this error, where that deserves a warning, once a call."""
        if self._mark is None or self.rules.nested != "warn" or self._warned:
            return None
        self._warned = True
        return self._mark[3]

    def sign(self) -> None:
        """Leave the note and the mark on the error that comes out."""
        error = self.error if self.instead is None else self.instead
        if error is not None:
            _notes.mark(error, self.reason or "attempts", self.name, self.note())

    def note(self) -> str:
        """Return the note: how many attempts, how long, why it stopped, the last failures."""
        times = "1 attempt" if self.number == 1 else f"{self.number} attempts"
        head = f"forbear: {self.name} gave up after {times} in {self.elapsed:.3g} s ({self.because})"
        return "\n".join([head, *(f"  attempt {n}: {_notes.one_line(text)}" for n, text in self._texts)])

    # -- the end

    def pop(self) -> BaseException:
        """Hand over what is raised in the place of the last error, and let go of everything."""
        error = self.instead
        assert error is not None  # noqa: S101 (asked only when there is one)
        self.close()
        return error

    def close(self) -> None:
        """Let go of errors and results: their tracebacks hold the frame that holds this run."""
        if self.scope is not None and self.error is not None:
            self._leave_trace()
        self.error = self.instead = self.result = self._carried = None
        self._mark = None


def _readable(delay: object) -> float:
    """Read the answer of somebody else's backoff; what is no number of seconds is refused."""
    seconds = as_hint(delay)
    if seconds is None:
        raise ConfigError(
            f"backoff must answer with seconds or None, not {delay!r:.80}; for example with what Exponential() answers"
        )
    return seconds



def name_of(rules: Rules, fn: object) -> str:
    """Return the policy's name, else the function's qualified name."""
    return _notes.label(fn) if rules.name is None else _notes.one_line(rules.name, 200)
