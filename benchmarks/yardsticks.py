"""
What the libraries are measured beside: bare functions, wrappers that add nothing, and loops written by hand.

Law: each yardstick is the least that could be written for its job, by somebody who knows the function. Nothing
here knows a library. All of it comes from factories, and a factory made `fresh` for each use, so that no two
uses share a code object, and with it what the interpreter has adapted there.
"""

from __future__ import annotations

import asyncio
import random
import time
import types
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Fn = Callable[[int], Any]

__all__ = [
    "Boom",
    "aby_hand",
    "ajudging",
    "alimiting",
    "aok",
    "apassing",
    "astandard_limit",
    "asuspends",
    "bad",
    "by_hand",
    "by_hand_with_waits",
    "fails_once",
    "fresh",
    "gives_up",
    "judging",
    "limiting",
    "ok",
    "passing",
    "refuses",
]

P = ParamSpec("P")
R = TypeVar("R")

LIMIT = 30.0
DEADLINE: ContextVar[float] = ContextVar("deadline")


class Boom(ValueError):
    """The failure that everybody is told to retry."""


def fresh(factory: Callable[P, R]) -> Callable[P, R]:
    """
    Return the same factory, but what it makes has a code object of its own.

    What comes out is made by running a `def`: functions put together from parts are slower to call (CPython
    3.13).
    """
    copied = _copied(getattr(factory, "__code__"))  # noqa: B009 (a factory is a function)
    anew: Callable[P, R] = types.FunctionType(copied, globals(), factory.__name__)
    return anew


def _copied(code: types.CodeType) -> types.CodeType:
    consts = (
        _copied(const) if isinstance(const, types.CodeType) else const for const in code.co_consts
    )
    return code.replace(co_consts=tuple(consts))


# -- functions


def ok() -> Fn:
    """Make a function that succeeds."""

    def fn(x: int) -> int:
        return x

    return fn


def aok() -> Fn:
    """Make an async function that succeeds without suspending."""

    async def fn(x: int) -> int:
        return x

    return fn


def asuspends() -> Fn:
    """Make an async function that succeeds after one turn of the event loop."""

    async def fn(x: int) -> int:
        await asyncio.sleep(0)
        return x

    return fn


def bad() -> Fn:
    """Make a function that fails."""

    def fn(_x: int) -> int:
        raise Boom

    return fn


def fails_once() -> Fn:
    """Make a function that fails at every other call, beginning with the first."""
    failing = False

    def fn(x: int) -> int:
        nonlocal failing
        failing = not failing
        if failing:
            raise Boom
        return x

    return fn


def refuses() -> Fn:
    """Make a judge of results, who refuses none that is asked here."""

    def is_refused(result: int) -> bool:
        return result < 0

    return is_refused


def gives_up(fn: Fn) -> Fn:
    """Swallow what comes out at the end: the failure, or a library's error in its place."""

    def call(x: int) -> None:
        try:
            fn(x)
        except Exception:  # noqa: BLE001, S110 (see above)
            pass

    return call


# -- wrappers that add nothing


def passing(fn: Fn) -> Fn:
    """Wrap with the function's own signature."""

    def wrapper(x: int) -> Any:
        return fn(x)

    return wrapper


def apassing(fn: Fn) -> Fn:
    """Wrap an async function with its own signature."""

    async def wrapper(x: int) -> Any:
        return await fn(x)

    return wrapper


def judging(fn: Fn, judge: Fn) -> Fn:
    """Wrap, and have each result judged."""

    def wrapper(x: int) -> Any:
        result = fn(x)
        if not judge(result):
            return result
        return None

    return wrapper


def ajudging(fn: Fn, judge: Fn) -> Fn:
    """Wrap an async function, and have each result judged."""

    async def wrapper(x: int) -> Any:
        result = await fn(x)
        if not judge(result):
            return result
        return None

    return wrapper


def limiting(fn: Fn) -> Fn:
    """Wrap, read the clock, and set and reset a context variable around the call."""

    def wrapper(x: int) -> Any:
        token = DEADLINE.set(time.monotonic() + LIMIT)
        try:
            return fn(x)
        finally:
            DEADLINE.reset(token)

    return wrapper


def alimiting(fn: Fn) -> Fn:
    """Wrap an async function, read the clock, and set and reset a context variable around the call."""

    async def wrapper(x: int) -> Any:
        token = DEADLINE.set(time.monotonic() + LIMIT)
        try:
            return await fn(x)
        finally:
            DEADLINE.reset(token)

    return wrapper


def astandard_limit(fn: Fn) -> Fn:
    """Wrap an async function with the standard library's own time limit."""

    async def wrapper(x: int) -> Any:
        async with asyncio.timeout(LIMIT):
            return await fn(x)

    return wrapper


# -- loops written by hand


def by_hand(attempts: int) -> Callable[[Fn], Fn]:
    """Return a decorator that counts, compares, and tries again at once."""

    def decorate(fn: Fn) -> Fn:
        def wrapper(x: int) -> Any:
            number = 0
            while True:
                number += 1
                try:
                    return fn(x)
                except Boom:
                    if number >= attempts:
                        raise
                    delay = 0.0
                    if delay:
                        time.sleep(delay)

        return wrapper

    return decorate


def aby_hand(attempts: int) -> Callable[[Fn], Fn]:
    """Return the same for async functions."""

    def decorate(fn: Fn) -> Fn:
        async def wrapper(x: int) -> Any:
            number = 0
            while True:
                number += 1
                try:
                    return await fn(x)
                except Boom:
                    if number >= attempts:
                        raise
                    delay = 0.0
                    if delay:
                        await asyncio.sleep(delay)

        return wrapper

    return decorate


def by_hand_with_waits(attempts: int) -> Callable[[Fn], Fn]:
    """Return a decorator that waits, exponentially longer and with full jitter."""

    def decorate(fn: Fn) -> Fn:
        def wrapper(x: int) -> Any:
            number = 0
            while True:
                number += 1
                try:
                    return fn(x)
                except Boom:
                    if number >= attempts:
                        raise
                    delay = min(20.0, 0.1 * 2.0 ** (number - 1)) * random.random()
                    if delay:
                        time.sleep(delay)

        return wrapper

    return decorate
