"""
The block form: `for attempt in policy: with attempt: ...`, and its async twin.

Law: one object is the loop and the attempt, because a block that succeeds should cost little more than the
loop around it. What follows a failure is decided and told as everywhere, in `_run` and `_drive`. The time limit
of a block is a scope of its own that is bound only while an attempt runs: a body may break out of the loop at
any time, and then nothing may be left behind.
"""

from __future__ import annotations

import sys

from . import _drive
from ._kinds import kind_of
from ._limits import AttemptCut, sign_cut_off
from ._notes import EPOCH
from ._run import OVER, PASS, Run
from ._scope import Scope, current, time_left
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from ._events import Event
    from ._rules import Rules

__all__ = ["AsyncAttempts", "Attempt", "Attempts"]

# Where a block stands. OFFERED: handed to the body, which has not entered it yet.
# SUCCEEDED: its hook is still to be awaited.
NEW, OFFERED, INSIDE, FAILED, SUCCEEDED, DONE = range(6)


class Attempt:
    """
    One attempt of a block: enter it with `with`.

    Leaving it with an error that the policy retries is not the end of the block: the loop goes round once more.
    So what stands behind the `with` in the loop's body also runs after a failed attempt; put it inside. Who leaves
    the loop there after a failure leaves that failure, and what its traceback holds, to the garbage collector.
    """

    __slots__ = ("_limit", "_name", "_rules", "_run", "_since", "_state", "number")

    number: int

    def __init__(self, rules: Rules) -> None:
        if rules.on_result is not None:
            raise ConfigError(
                "on_result can't judge a block, which returns nothing; decorate a function instead"
            )
        self._rules = rules
        self._run: Run | None = None
        self._state = NEW
        self._since = EPOCH.count
        self.number = 0
        self._limit: Scope | None = None
        if rules.total_timeout is not None:
            self._limit = Scope(rules.total_timeout)
            self._limit.start()

    def __repr__(self) -> str:
        state = ("new", "offered", "inside", "failed", "succeeded", "done")[self._state]
        return f"<attempt {self.number} of {self._rules.name or 'a block'}, {state}>"

    @property
    def remaining(self) -> float | None:
        """Seconds left of the time limits around and of the policy's own, at least 0; None without a limit."""
        left = time_left(self._limit or current())
        return None if left is None else max(0.0, left)

    def _entered_before(self) -> ConfigError:
        return ConfigError(
            "an attempt is entered once, inside the loop that gave it: for ...: with attempt: ..."
        )

    def _not_entered(self) -> ConfigError:
        return ConfigError(
            "the loop's body must enter its attempt, and did not; write `for attempt in policy:` and in it "
            "`with attempt:` around what may fail"
        )

    def _failed_run(self) -> Run:
        """Return what the block remembers; the block's function gives the name."""
        if self._run is None:
            self._run = Run(self._rules, _function_outside(), self._since)
        return self._run

    def _end(self) -> None:
        self._state = DONE
        if self._run is not None:
            self._run.close()
        if self._limit is not None:
            self._limit.leave()


class Attempts(Attempt):
    """The loop of a sync block. What a success passes through is written out: each call costs as much as the rest."""

    __slots__ = ()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Self:
        state = self._state
        if state != NEW:
            if state == DONE:
                raise StopIteration
            if state == OFFERED:
                raise self._not_entered()
            if state == FAILED and self._run is not None and _drive.waited(self._run) is None:
                error = self._run.pop()
                self._end()
                try:
                    raise error
                finally:
                    del error  # its traceback holds this frame
        self.number += 1
        self._state = OFFERED
        return self

    def __enter__(self) -> Self:
        if self._state != OFFERED:
            raise self._entered_before()
        self._state = INSIDE
        if self._limit is not None:
            self._limit.bind()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if (
            error is None
            and self._run is None
            and self._limit is None
            and self._rules.on_success is None
        ):
            self._state = DONE
            return False
        if isinstance(error, Exception):
            self._failed_run()  # while the limit is bound, so that the run keeps to it
        if self._limit is not None:
            self._limit.unbind()
        if error is None:
            try:
                if self._run is not None or self._rules.on_success is not None:
                    who = self._run or _function_outside()
                    _drive.succeeded(self._rules, who, None, self._limit)
            finally:
                self._end()
            return False
        if isinstance(error, Exception):
            self._state = FAILED
            try:
                over = _drive.failed(self._failed_run(), None, error)
            except BaseException:
                self._end()
                raise
            if not over:
                return True
        self._end()
        return False


class AsyncAttempts(Attempt):
    """
    The loop of an async block; the attempt itself is entered with a plain `with`.

    Async hooks are awaited when the loop comes round, so an async `on_success` is not told of a body that leaves
    the loop by `return` or `break`.
    """

    __slots__ = ("_cut", "_ended", "_event", "_verdict")

    def __init__(self, rules: Rules) -> None:
        self._cut: AttemptCut | None = None
        self._ended: BaseException | None = None
        self._event: Event | None = None
        self._verdict = PASS
        super().__init__(rules)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Self:
        state = self._state
        if state == SUCCEEDED:
            who = self._run or _function_outside()
            try:
                await _drive.asucceeded(self._rules, who, None, self._limit)
            finally:
                self._end()
        if self._state == DONE:
            raise StopAsyncIteration
        if state == OFFERED:
            raise self._not_entered()
        if state == FAILED:
            try:
                error = await self._after()
            except BaseException:
                self._end()  # a hook raised, or the wait was cancelled
                raise
            if error is not None:
                self._end()
                try:
                    raise error
                finally:
                    del error  # its traceback holds this frame
        self.number += 1
        self._state = OFFERED
        return self

    async def _after(self) -> BaseException | None:
        """Tell the hooks and wait; what is returned ends the block."""
        run = self._run
        ended, self._ended = self._ended, None
        if ended is not None:
            if self._rules.on_giveup is not None and self._event is not None:
                await _drive.acall_hook(self._rules.on_giveup, self._event)
            return ended
        assert run is not None  # noqa: S101 (an attempt has failed)
        error = run.error
        try:
            if await _drive.atold(run, self._verdict) == OVER and run.instead is None:
                return error
        except BaseException as raised:
            # As everywhere: what a hook raises has the failure that it was told of as its context.
            if raised.__context__ is None and raised is not error:
                raised.__context__ = error
            raise
        finally:
            del error  # its traceback holds frames, and this frame is held by the hook's error
        return run.pop() if await _drive.awaited(run) is None else None

    def __enter__(self) -> Self:
        if self._state != OFFERED:
            raise self._entered_before()
        self._state = INSIDE
        if self._limit is not None:
            self._limit.bind_cut()
        if self._rules.attempt_timeout is not None:
            self._cut = AttemptCut(self._rules)
            self._cut.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if error is not None:
            self._failed_run()  # while the limit is bound, so that the run keeps to it
        failure, cut = self._leave_cut(kind, error, traceback)
        try:
            if self._leave_limit(failure):
                return True
            if failure is None:
                self._state = SUCCEEDED
                if kind_of(self._rules.on_success) != "async":
                    self._succeed()
                return False
            if isinstance(failure, Exception) and self._goes_on(failure, cut=cut):
                return True
            self._end()
            if failure is not error:
                raise failure
            return False
        finally:
            del failure, error, traceback  # what comes out must not hold itself through this frame

    def _end(self) -> None:
        self._event = self._ended = None  # what they hold, holds this
        super()._end()

    def _succeed(self) -> None:
        try:
            if self._run is not None or self._rules.on_success is not None:
                who = self._run or _function_outside()
                _drive.succeeded(self._rules, who, None, self._limit)
        finally:
            self._end()

    def _leave_cut(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> tuple[BaseException | None, bool]:
        """Leave the attempt's own limit; what has failed then, and whether the limit has cut it off."""
        cut, self._cut = self._cut, None
        if cut is None:
            return error, False
        try:
            cut.__exit__(kind, error, traceback)
        except BaseException as instead:  # noqa: BLE001 (on trio a cut takes its own part out of a group)
            return instead, cut.made(instead)
        return error, False

    def _leave_limit(self, error: BaseException | None) -> bool:
        """Leave the time limit of the block; true if it has cut off, and a hook is to be awaited first."""
        limit = self._limit
        if limit is None:
            return False
        if self._run is not None:
            limit.leave_trace(self._run.error, self._run.number)
        try:
            limit.unbind_cut(error)
        except TimeoutError as over:
            self._event = sign_cut_off(self._rules, _function_outside(), over, limit)
            if self._rules.on_giveup is not None:
                self._ended = over
                self._state = FAILED
                return True
            self._end()
            raise
        except BaseException:
            self._end()
            raise
        return False

    def _goes_on(self, error: Exception, *, cut: bool) -> bool:
        """Judge the failure; true goes round the loop, where hooks can be awaited."""
        self._state = FAILED
        run = self._failed_run()
        try:
            self._verdict = run.judge(error, cut=cut)
            if self._verdict == OVER and run.instead is None and self._rules.on_giveup is None:
                _drive.tell_giveup(run)
                return False
        except BaseException:
            self._end()
            raise
        return self._verdict != PASS


def _function_outside() -> str:
    """Return the qualified name of the function that the block stands in."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_qualname
