"""
One call's memory, and the decision after each failed attempt.

Law: the order of events stands here, once, for threads, asyncio and trio alike. A run decides and remembers;
it asks what the policy is made of (`on`, `giveup`, `hint`, `describe`, the backoff), but makes no attempt, tells
no hook and waits for nothing: that is the drivers' part. It begins with the first failure, because a call that
succeeds has nothing to remember. It holds on to one error at the most (the last), and lets go of it when the call
ends, so that no cycle is left behind.
"""

from __future__ import annotations

import sys

from . import _cancel_all, _events, _notes, _scope
from ._again import is_plain
from ._groups import holds_never
from ._hints import RetryAfter, as_delay, as_hint, signals
from ._notes import EPOCH, name_of
from .backoff import chance
from .errors import NEVER, Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._clock import Clock
    from ._events import Event
    from ._rules import Rules
    from ._scope import Node

__all__ = ["AGAIN", "OVER", "PASS", "Run"]

# Verdicts. PASS: not ours, the error passes untouched. OVER: trying ends. AGAIN: wait, then try once more.
PASS, OVER, AGAIN = 0, 1, 2

# What a clock's last digits may be off by when seconds are added up: a nanosecond, as the finest clocks count.
GRAIN = 1e-9
LONGEST = sys.float_info.max


class Run:
    """What one call of a policy remembers, from its first failure on."""

    __slots__ = (
        "_again",
        "_carried",
        "_delay_after",
        "_fn",
        "_known",
        "_last",
        "_mark",
        "_seen",
        "_since",
        "_warned",
        "attempts",
        "began",
        "clock",
        "delay",
        "error",
        "failures",
        "instead",
        "number",
        "pending",
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
        self._fn = fn
        # When the call began, counted in ends of trying; a wrapper doesn't know, and this is its first failure.
        self._since = began
        self.began = EPOCH.count if began is None else began
        if began is None and _cancel_all.at >= 0 and _cancel_all.began_before():
            self.began = -1
        self._seen = began or 0  # up to which count marks have been looked for
        self.scope: Node | None = _scope.current()
        self.clock: Clock = _scope.clock_of(self.scope)
        self.attempts = rules.attempts
        self.waits = True
        self.started = -1.0
        if self.scope is not None:
            self._heed(self.scope)
        if self.started < 0.0:
            self.started = self.clock.now()
        self.number = 0  # attempts that have failed
        self.failures = 0  # as the backoff counts them: a hint starts it anew
        self.previous = self.delay = 0.0
        self.pending = (
            False  # whether there is something to wait for, or to raise in the error's place
        )
        self.error: BaseException | None = None
        self.result: Any = None
        self.instead: BaseException | None = None  # what is raised in the place of the error
        self.reason: str | None = None
        self.why = ""
        self._again: RetryAfter | None = None
        self._carried: BaseException | None = None  # what a signal gives way to when trying ends
        self._known: type | None = None  # a type of error that needs no closer look
        self._mark: _notes.Mark | None = None
        self._warned = False
        # The last three failures, each in the place of its number: its text, or of a known type its arguments.
        self._last: list[str | tuple[object, ...]] = ["", "", ""]
        self._delay_after = None if rules._plain_backoff is None else rules._plain_backoff.delay

    def _heed(self, scope: Node) -> None:
        """Take over what the scopes around say of this call: its own time limit, and a test's limits."""
        if self.rules.total_timeout is not None and scope.deadline is not None:
            self.started = scope.started
        node: Node | None = scope
        while node is not None:
            if node.limit is not None and node.open:
                self.waits = False
                self.attempts = (
                    node.limit if self.attempts is None else min(self.attempts, node.limit)
                )
            node = node.parent

    @property
    def name(self) -> str:
        """The policy's name, else the function's."""
        return name_of(self.rules.name, self._fn)

    @property
    def elapsed(self) -> float:
        """Seconds since the call began (with a limit of its own), else since its first failure."""
        return self.clock.now() - self.started

    # -- the decision

    def judge(self, error: Exception, *, cut: bool = False) -> int:
        """
        Decide what follows an attempt that raised: one of PASS, OVER and AGAIN.

        The order is a promise of the manual: signals, `on` and `giveup`, attempts, cancellation, nesting, the
        backoff, the hint, the time limit.

        Args:
            error: What the attempt raised.
            cut: Whether `attempt_timeout` cut it off: then it counts as matched, whatever `on` says.
        """
        self.number += 1
        self.error = error
        if not self._look_at(error, cut=cut):
            self.close()
            return PASS
        if self.reason is not None:
            return OVER
        if self.number == self.attempts:
            return self._over(
                "attempts",
                "its only attempt" if self.attempts == 1 else f"all {self.attempts} attempts",
            )
        if (self.scope is not None or _cancel_all.at > self.began) and self.is_cancelled():
            return OVER
        if self._mark is not None and self.rules.nested == "stop":
            return self._over("nested", f"{self._mark[3]} inside has already retried it to the end")
        return self._schedule(error)

    def judge_result(self, result: object) -> int:
        """Decide what follows an attempt whose result `on_result` calls a failure: OVER or AGAIN."""
        self.number += 1
        self.error = self._carried = self._again = self._mark = None
        self.result = result
        self._note(f"result refused: {type(result).__name__}")
        if self.number == self.attempts:
            return self._over(
                "attempts",
                "its only attempt" if self.attempts == 1 else f"all {self.attempts} attempts",
            )
        if (self.scope is not None or _cancel_all.at > self.began) and self.is_cancelled():
            return OVER
        return self._schedule(None)

    def _look_at(self, error: Exception, *, cut: bool) -> bool:
        """Look for signals and marks, and tell whether this failure is ours to retry."""
        self.result = self._carried = self._again = self._mark = None
        if self._known is not None:
            self._last = [_notes.text_of(self._known, entry) for entry in self._last]
            self._known = None
        if isinstance(error, NEVER) or holds_never(error):
            return False
        permanent, again = signals(error)
        if permanent is None and not self._is_ours(error, again, cut=cut):
            return False
        text = _notes.glance(error) if self.rules.describe is _notes.describe else None
        self._note(_notes.described(error, self.rules.describe) if text is None else text)
        if permanent is not None:
            if permanent is error:
                self._carried = permanent.carried
            self._over("permanent", "no further try can help")
            return True
        if again is error and again is not None:
            self._carried = again.__cause__
        self._again = again
        if _notes.may_have_mark(error):
            self._mark = _notes.mark_inside(error, self._since)
            if self._mark is not None and self._mark[0] == "permanent":
                self._over("permanent", f"{self._mark[3]} inside says that no further try can help")
        self._seen = EPOCH.count
        return True

    def _is_ours(self, error: Exception, again: RetryAfter | None, *, cut: bool) -> bool:
        rules = self.rules
        if cut or (again is not None and not isinstance(error, BaseExceptionGroup)):
            return not rules.gives_up(error)
        if not rules.matches(error):
            return False
        if self.scope is None and rules.at_once and is_plain(error):
            self._known = type(error)
        return True

    def _note(self, text: str) -> None:
        self._last[self.number % 3] = text

    def _over(self, reason: str, why: str) -> int:
        self.reason = reason
        self.why = why
        self.instead = self._carried
        self.pending = self._carried is not None
        return OVER

    def is_cancelled(self) -> bool:
        """Tell whether the call was cancelled; then Cancelled is what comes out."""
        reason = _scope.cancelled(self.scope, self.began)
        if reason is None:
            return False
        self._over("cancelled", _notes.one_line(reason, 200))
        self.pending = True
        self.instead = Cancelled(reason)
        self.instead.__cause__ = self.error
        return True

    def _schedule(self, error: Exception | None) -> int:
        """Find the delay before the next attempt, or the reason why there is none."""
        rules = self.rules
        ask = self._delay_after or rules.backoff_for(error).delay
        delay = ask(self.failures + 1, self.previous, chance)
        if delay is None:
            return self._over("backoff", "the backoff says stop")
        delay = as_delay(delay)
        hinted = self._hint(error)
        if hinted is None:
            self.failures += 1
            self.previous = delay
        else:
            if rules.max_hint is not None and hinted > rules.max_hint:
                return self._over(
                    "hint", f"asked to wait {hinted:.6g} s, above max_hint={rules.max_hint:g}"
                )
            self.failures, self.previous = 0, 0.0
            delay = min(LONGEST, hinted * (1.0 + rules.hint_jitter * chance()))
        self.delay = delay if self.waits else 0.0
        self.pending = self.delay > 0.0
        return AGAIN if self.scope is None else self.recheck()

    def _hint(self, error: Exception | None) -> float | None:
        """Return the seconds that the failing side asks for, if it does."""
        if self._again is not None and self._again.retry_after is not None:
            return self._again.retry_after
        hint = self.rules.hint
        if hint is None:
            return None
        said = hint(self.result if error is None else error)
        return None if said is None else as_hint(said)

    def recheck(self) -> int:
        """Decide whether the wait would still end within the time limit, and nobody has cancelled."""
        if (self.scope is not None or _cancel_all.at > self.began) and self.is_cancelled():
            return OVER
        left = _scope.time_left(self.scope)
        if left is not None and self.delay - left > GRAIN:
            return self._over(
                "timeout", f"waiting {self.delay:.3g} s more would pass the time limit"
            )
        return AGAIN

    def _leave_trace(self) -> None:
        """Leave the last failure on the cancelled scopes around, for the error that they will raise."""
        node = self.scope
        while node is not None:
            if node.open and node.is_cutting():
                node.leave_trace(self.error, self.number)
            node = node.parent

    # -- what is told

    def event(self, kind: Literal["retry", "giveup", "success"]) -> Event:
        """Make the event that hooks, listeners and the log are given."""
        if kind == "retry":
            return _events.Event(
                kind,
                self.name,
                self.number,
                delay=self.delay,
                elapsed=self.elapsed,
                error=self.error,
                result=self.result,
            )
        error = self.error if self.instead is None or self.reason == "cancelled" else self.instead
        return _events.Event(
            kind,
            self.name,
            self.number,
            elapsed=self.elapsed,
            error=error,
            result=self.result,
            reason=self.reason,
        )

    @property
    def because(self) -> str:
        """Why trying ended: the word, and what it means here."""
        return f"{self.reason}: {self.why}"

    def text(self) -> str:
        """Return the last failure on one line."""
        return _notes.text_of(self._known, self._last[self.number % 3])

    @property
    def is_nested(self) -> bool:
        """Whether an inner policy has already retried this error, and a warning is still owed: once a call."""
        return self._mark is not None and not self._warned and self.rules.nested == "warn"

    def inner(self) -> str:
        """Return the name of that inner policy; the warning is no longer owed."""
        self._warned = True
        return "" if self._mark is None else self._mark[3]

    def sign(self) -> None:
        """Leave the note and the mark on the error that comes out."""
        error = self.error if self.instead is None else self.instead
        if error is not None:
            _notes.mark(
                error,
                self.reason or "attempts",
                self.name,
                self.note(),
                own=not isinstance(self._fn, str),
            )

    def note(self) -> str:
        """Return the note: how many attempts, how long, why it stopped, the last failures."""
        times = "1 attempt" if self.number == 1 else f"{self.number} attempts"
        head = (
            f"forbear: {self.name} gave up after {times} in {self.elapsed:.3g} s ({self.because})"
        )
        numbers = range(max(1, self.number - 2), self.number + 1)
        return "\n".join(
            [
                head,
                *(
                    f"  attempt {n}: {_notes.text_of(self._known, self._last[n % 3])}"
                    for n in numbers
                ),
            ]
        )

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
        self.error = self.instead = self.result = self._carried = self._again = None
        self._mark = None
