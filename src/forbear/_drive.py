"""
The two drivers: they call hooks, wait, and write the log, sync and async.

Law: nothing is decided here; what follows a failure is the run's decision. The two halves differ in `await` and in
nothing else, and a test compares their syntax trees. A wrapper asks a driver what to do with an error (`dealt`),
with a result (`settled`), and before the next attempt (`waited`); the answer is the run where trying goes on, and
None where it ends.
"""

from __future__ import annotations

import sys

from . import _clock, _events, _loops, _scope
from ._events import ERROR, WARNING
from ._notes import name_of
from ._run import AGAIN, OVER, PASS, Run
from ._warn import warn_blocking, warn_nested
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._events import Event
    from ._limits import AttemptCut
    from ._rules import Hook, Rules
    from ._scope import Node

__all__ = [
    "acall_hook",
    "adealt",
    "afailed",
    "arefused",
    "asettled",
    "asucceeded",
    "atell_giveup",
    "atold",
    "awaited",
    "call_hook",
    "dealt",
    "failed",
    "refused",
    "settled",
    "succeeded",
    "tell_giveup",
    "waited",
]


exception = sys.exception

# -- sync


def dealt(
    run: Run | None,
    rules: Rules,
    fn: object,
    began: int | None = None,
    cut: AttemptCut | None = None,
) -> Run | None:
    """Deal with a failed attempt, the first of a call or a later one; None lets the error pass."""
    run = Run(rules, fn, began) if run is None else run
    return None if failed(run, cut) else run


def failed(run: Run, cut: AttemptCut | None = None, error: BaseException | None = None) -> bool:
    """Deal with a failed attempt, by default the error that is just being handled; true lets it pass."""
    try:
        error = exception() if error is None else error
        if isinstance(error, Exception):
            verdict = run.judge(error, cut=cut is not None and cut.made(error))
        else:
            verdict = PASS
        if verdict == AGAIN:
            verdict = _retrying(run)
        if verdict == OVER:
            tell_giveup(run)
    except BaseException:
        run.close()  # a hook raised: its traceback must not hold what this run holds
        raise
    if verdict == AGAIN or run.instead is not None:
        return False
    run.close()
    return True


def settled(run: Run, result: object) -> Run | None:
    """Deal with a returned value; None accepts it, or gives up with it."""
    try:
        judge = run.rules.on_result
        if judge is not None and judge(result):
            return refused(run, result)
        run.close()
        succeeded(run.rules, run, result)
    except BaseException:
        run.close()
        raise
    return None


def refused(run: Run, result: object) -> Run | None:
    """Deal with a value that `on_result` calls a failure; None gives up with it."""
    verdict = run.judge_result(result)
    if verdict == AGAIN:
        verdict = _retrying(run)
    if verdict == OVER:
        tell_giveup(run)
    return None if verdict == OVER and run.instead is None else run


def succeeded(rules: Rules, who: object, result: object, limit: Node | None = None) -> None:
    """
    Tell of a success: the policy's hook always, the listeners only after failures or with a hook.

    Args:
        limit: The call's own time limit, where it is no longer the innermost one.
    """
    hook = rules.on_success
    if hook is not None or _events.listeners:
        event = _success(rules, who, result, limit)
        _events.tell(event)
        if hook is not None:
            call_hook(hook, event)


def waited(run: Run) -> Run | None:
    """Wait before the next attempt; None when something else is to be raised in the error's place."""
    if not run.pending:
        return run
    if run.instead is not None:
        return None
    if run.delay > 0.0:
        try:
            _pause(run)
            if run.is_cancelled():
                tell_giveup(run)
                return None
        except BaseException:
            run.close()
            raise
    return run


def _retrying(run: Run) -> int:
    warn_nested(run)
    hook = run.rules.on_retry
    log = _events.logger(WARNING)
    if hook is None and log is None and not _events.listeners:
        return AGAIN
    event = run.event("retry")
    if log is not None:
        _events.log_retry(log, event, run.text(), run.attempts)
    _events.tell(event)
    if hook is None:
        return AGAIN
    call_hook(hook, event)
    return run.recheck()


def tell_giveup(run: Run) -> None:
    """Sign the error that comes out, and tell of it."""
    run.sign()
    hook = run.rules.on_giveup
    log = _events.logger(ERROR)
    if hook is None and log is None and not _events.listeners:
        return
    event = run.event("giveup")
    if log is not None:
        _events.log_giveup(log, event, run.because, run.text())
    _events.tell(event)
    if hook is not None:
        call_hook(hook, event)


def call_hook(hook: Hook, event: Event) -> None:
    """Call a hook in sync use; one that hands back something to await is refused."""
    outcome = hook(event)
    if hasattr(outcome, "__await__"):
        close = getattr(outcome, "close", None)
        if close is not None:
            close()  # a coroutine that nobody will await
        raise ConfigError(
            "a hook of a sync call must be a plain function, not an async one: nobody can await it"
        )


def _pause(run: Run) -> None:
    if run.clock is _clock.SYSTEM and _clock.on_event_loop():
        warn_blocking(run.name)
    waiter = _clock.ThreadWaiter(run.scope)
    _clock.waiting.add(waiter)
    try:
        if not run.is_cancelled():
            run.clock.sleep(run.delay, waiter)
    finally:
        _clock.waiting.discard(waiter)


# -- async


async def adealt(
    run: Run | None,
    rules: Rules,
    fn: object,
    began: int | None = None,
    cut: AttemptCut | None = None,
) -> Run | None:
    """Deal with a failed attempt, the first of a call or a later one; None lets the error pass."""
    run = Run(rules, fn, began) if run is None else run
    return None if await afailed(run, cut) else run


async def afailed(
    run: Run, cut: AttemptCut | None = None, error: BaseException | None = None
) -> bool:
    """Deal with a failed attempt, by default the error that is just being handled; true lets it pass."""
    try:
        error = exception() if error is None else error
        if isinstance(error, Exception):
            verdict = run.judge(error, cut=cut is not None and cut.made(error))
        else:
            verdict = PASS
        if verdict == AGAIN:
            verdict = await _aretrying(run)
        if verdict == OVER:
            await atell_giveup(run)
    except BaseException:
        run.close()  # a hook raised: its traceback must not hold what this run holds
        raise
    if verdict == AGAIN or run.instead is not None:
        return False
    run.close()
    return True


async def asettled(run: Run, result: object) -> Run | None:
    """Deal with a returned value; None accepts it, or gives up with it."""
    try:
        judge = run.rules.on_result
        if judge is not None and judge(result):
            return await arefused(run, result)
        run.close()
        await asucceeded(run.rules, run, result)
    except BaseException:
        run.close()
        raise
    return None


async def arefused(run: Run, result: object) -> Run | None:
    """Deal with a value that `on_result` calls a failure; None gives up with it."""
    verdict = run.judge_result(result)
    if verdict == AGAIN:
        verdict = await _aretrying(run)
    if verdict == OVER:
        await atell_giveup(run)
    return None if verdict == OVER and run.instead is None else run


async def asucceeded(rules: Rules, who: object, result: object, limit: Node | None = None) -> None:
    """
    Tell of a success: the policy's hook always, the listeners only after failures or with a hook.

    Args:
        limit: The call's own time limit, where it is no longer the innermost one.
    """
    hook = rules.on_success
    if hook is not None or _events.listeners:
        event = _success(rules, who, result, limit)
        _events.tell(event)
        if hook is not None:
            await acall_hook(hook, event)


async def awaited(run: Run) -> Run | None:
    """Wait before the next attempt; None when something else is to be raised in the error's place."""
    if not run.pending:
        return run
    if run.instead is not None:
        return None
    if run.delay > 0.0:
        try:
            await _apause(run)
            if run.is_cancelled():
                await atell_giveup(run)
                return None
        except BaseException:
            run.close()
            raise
    return run


async def _aretrying(run: Run) -> int:
    warn_nested(run)
    hook = run.rules.on_retry
    log = _events.logger(WARNING)
    if hook is None and log is None and not _events.listeners:
        return AGAIN
    event = run.event("retry")
    if log is not None:
        _events.log_retry(log, event, run.text(), run.attempts)
    _events.tell(event)
    if hook is None:
        return AGAIN
    await acall_hook(hook, event)
    return run.recheck()


async def atell_giveup(run: Run) -> None:
    """Sign the error that comes out, and tell of it."""
    run.sign()
    hook = run.rules.on_giveup
    log = _events.logger(ERROR)
    if hook is None and log is None and not _events.listeners:
        return
    event = run.event("giveup")
    if log is not None:
        _events.log_giveup(log, event, run.because, run.text())
    _events.tell(event)
    if hook is not None:
        await acall_hook(hook, event)


async def atold(run: Run, verdict: int) -> int:
    """Tell the hooks of a verdict that was reached where nothing can be awaited, and return what it is then."""
    if verdict == AGAIN:
        verdict = await _aretrying(run)
    if verdict == OVER:
        await atell_giveup(run)
    return verdict


async def acall_hook(hook: Hook, event: Event) -> None:
    """Call a hook in async use, and await it if it is an async one."""
    outcome: Any = hook(event)
    if hasattr(outcome, "__await__"):
        await outcome


async def _apause(run: Run) -> None:
    waiter = _loops.new_waiter(run.scope)
    _clock.waiting.add(waiter)
    try:
        if not run.is_cancelled():
            await run.clock.asleep(run.delay, waiter)
    finally:
        _clock.waiting.discard(waiter)


# -- what both share


def _success(rules: Rules, who: object, result: object, limit: Node | None) -> Event:
    if isinstance(who, Run):
        return _events.Event(
            "success", who.name, who.number + 1, elapsed=who.elapsed, result=result
        )
    elapsed = None  # no clock was looked at
    if rules.total_timeout is not None:
        limit = limit or _scope.current()
        if limit is not None and limit.deadline is not None:
            elapsed = limit.clock.now() - limit.started
    return _events.Event("success", name_of(rules.name, who), 1, elapsed=elapsed, result=result)
