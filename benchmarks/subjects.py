"""
The libraries, each told to do the same: retry `Boom`, three attempts, the way its manual shows.

Law: a library gets its best. It is imported only in the process that measures it, its log and its hooks are
off, an object that its manual lets a program keep is kept, and where it can leave out its jitter or its wait,
it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from yardsticks import Boom, aby_hand, apassing, by_hand, ok, passing

if TYPE_CHECKING:
    from collections.abc import Callable

    from yardsticks import Fn

    Decorator = Callable[[Fn], Any]

__all__ = ["LIBRARIES", "YARDSTICKS", "Subject", "subject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """
    One row of the table.

    Args:
        decorate: Decorates a plain function for three attempts.
        adecorate: The same for an async function.
        failing: Decorates for so many attempts without a wait.
        block: A function that succeeds in the library's block form, if it has one.
        has_decorator: Whether the library decorates at all; without, bytes a function mean nothing.
    """

    decorate: Decorator
    adecorate: Decorator
    failing: Callable[[int], Decorator] | None = None
    block: Fn | None = None
    has_decorator: bool = True


def _passing() -> Subject:
    return Subject(decorate=passing, adecorate=apassing)


def _by_hand() -> Subject:
    return Subject(decorate=by_hand(3), adecorate=aby_hand(3), failing=by_hand)


def _forbear() -> Subject:
    forbear = import_module("forbear")
    call = ok()
    policy = forbear.retry(on=Boom, attempts=3)
    at_once = forbear.Constant(0)

    def block(x: int) -> Any:
        for attempt in policy:
            with attempt:
                return call(x)
        return None

    return Subject(
        decorate=policy,
        adecorate=policy,
        failing=lambda attempts: forbear.retry(on=Boom, attempts=attempts, backoff=at_once),
        block=block,
    )


def _tenacity() -> Subject:
    tenacity = import_module("tenacity")
    call = ok()
    settings = {
        "retry": tenacity.retry_if_exception_type(Boom),
        "stop": tenacity.stop_after_attempt(3),
        "wait": tenacity.wait_exponential_jitter(),
        "reraise": True,
    }
    kept = tenacity.Retrying(**settings)

    def block(x: int) -> Any:
        for attempt in kept:
            with attempt:
                return call(x)
        return None

    def failing(attempts: int) -> Decorator:
        stop, wait = tenacity.stop_after_attempt(attempts), tenacity.wait_none()
        decorator: Decorator = tenacity.retry(**(settings | {"stop": stop, "wait": wait}))
        return decorator

    return Subject(
        decorate=tenacity.retry(**settings),
        adecorate=tenacity.retry(**settings),
        failing=failing,
        block=block,
    )


def _stamina() -> Subject:
    stamina = import_module("stamina")
    call = ok()
    stamina.instrumentation.set_on_retry_hooks([])

    def block(x: int) -> Any:
        for attempt in stamina.retry_context(on=Boom, attempts=3):
            with attempt:
                return call(x)
        return None

    def failing(attempts: int) -> Decorator:
        decorator: Decorator = stamina.retry(
            on=Boom, attempts=attempts, timeout=None, wait_initial=0, wait_max=0, wait_jitter=0
        )
        return decorator

    decorate = stamina.retry(on=Boom, attempts=3)
    return Subject(decorate=decorate, adecorate=decorate, failing=failing, block=block)


def _backoff() -> Subject:
    backoff = import_module("backoff")

    def decorate(fn: Fn) -> Any:
        # A kept decorator would collect handlers with each function.
        return backoff.on_exception(backoff.expo, Boom, max_tries=3, logger=None)(fn)

    def failing(attempts: int) -> Decorator:
        decorator: Decorator = backoff.on_exception(
            backoff.constant, Boom, interval=0, max_tries=attempts, jitter=None, logger=None
        )
        return decorator

    return Subject(decorate=decorate, adecorate=decorate, failing=failing)


def _backoffs() -> Subject:
    backoffs = import_module("backoffs")
    policy = backoffs.Policy(backoffs.Exponential(0.1), backoffs.FullJitter(), max_retries=2)

    def decorate(fn: Fn) -> Fn:
        return lambda x: backoffs.retry(lambda: fn(x), policy, retry_on=Boom)

    def adecorate(fn: Fn) -> Fn:
        async def call(x: int) -> Any:
            return await backoffs.aretry(lambda: fn(x), policy, retry_on=Boom)

        return call

    def failing(attempts: int) -> Decorator:
        at_once = backoffs.Policy(backoffs.Constant(0.0), max_retries=attempts - 1)
        return lambda fn: lambda x: backoffs.retry(lambda: fn(x), at_once, retry_on=Boom)

    return Subject(decorate=decorate, adecorate=adecorate, failing=failing, has_decorator=False)


def _nopanic() -> Subject:
    nopanic = import_module("nopanic")
    decorate = nopanic.retry(3, on=Boom)
    return Subject(
        decorate=decorate,
        adecorate=decorate,
        failing=lambda attempts: nopanic.retry(attempts, on=Boom, backoff=0.0),
    )


YARDSTICKS = {"pass-through": _passing, "by hand": _by_hand}
LIBRARIES = {
    "forbear": _forbear,
    "nopanic": _nopanic,
    "backoff": _backoff,
    "stamina": _stamina,
    "tenacity": _tenacity,
    "backoffs": _backoffs,
}


def subject(name: str) -> Subject:
    """Return the subject of that name; its library is imported by this."""
    return (YARDSTICKS | LIBRARIES)[name]()
