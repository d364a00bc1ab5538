"""
What the libraries are measured beside: bare functions, wrappers that add nothing, and loops written by hand.

Law: each yardstick is the least that could be written for its job, by somebody who knows the function. Nothing
here knows a library. A yardstick is made anew for each use, so that no two share what the interpreter has
adapted.
"""

from __future__ import annotations

import asyncio
import random
import time
import types
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

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
    "gives_up",
    "is_refused",
    "judging",
    "limiting",
    "ok",
    "own",
    "passing",
]

LIMIT = 30.0
DEADLINE: ContextVar[float] = ContextVar("deadline")


class Boom(ValueError):
    """The failure that everybody is told to retry."""


def ok(x: int) -> int:
    """Succeed."""
    return x


async def aok(x: int) -> int:
    """Succeed without suspending."""
    return x


async def asuspends(x: int) -> int:
    """Succeed after one turn of the event loop."""
    await asyncio.sleep(0)
    return x


def bad(x: int) -> int:
    """Fail."""
    raise Boom


def fails_once() -> Fn:
    """Return a function that fails at every other call, beginning with the first."""
    failing = False

    def fn(x: int) -> int:
        nonlocal failing
        failing = not failing
        if failing:
            raise Boom
        return x

    return fn


def is_refused(result: int) -> bool:
    """Judge a result; none is refused."""
    return result < 0


def own(fn: Fn) -> Fn:
    """Return the function with a code object of its own."""
    closure = fn.__closure__
    return types.FunctionType(fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, closure)


def gives_up(fn: Fn) -> Fn:
    """Return a call that swallows the failure which comes out at the end."""

    def call(x: int) -> None:
        try:
            fn(x)
        except Boom:
            pass

    return own(call)


# -- wrappers that add nothing


def passing(fn: Fn) -> Fn:
    """Wrap with the function's own signature."""

    def wrapper(x: int) -> Any:
        return fn(x)

    return own(wrapper)


def apassing(fn: Fn) -> Fn:
    """Wrap an async function with its own signature."""

    async def wrapper(x: int) -> Any:
        return await fn(x)

    return own(wrapper)


def judging(fn: Fn, judge: Fn) -> Fn:
    """Wrap, and have each result judged."""

    def wrapper(x: int) -> Any:
        result = fn(x)
        if not judge(result):
            return result
        return None

    return own(wrapper)


def ajudging(fn: Fn, judge: Fn) -> Fn:
    """Wrap an async function, and have each result judged."""

    async def wrapper(x: int) -> Any:
        result = await fn(x)
        if not judge(result):
            return result
        return None

    return own(wrapper)


def limiting(fn: Fn) -> Fn:
    """Wrap, read the clock, and set and reset a context variable around the call."""

    def wrapper(x: int) -> Any:
        token = DEADLINE.set(time.monotonic() + LIMIT)
        try:
            return fn(x)
        finally:
            DEADLINE.reset(token)

    return own(wrapper)


def alimiting(fn: Fn) -> Fn:
    """Wrap an async function, read the clock, and set and reset a context variable around the call."""

    async def wrapper(x: int) -> Any:
        token = DEADLINE.set(time.monotonic() + LIMIT)
        try:
            return await fn(x)
        finally:
            DEADLINE.reset(token)

    return own(wrapper)


def astandard_limit(fn: Fn) -> Fn:
    """Wrap an async function with the standard library's own time limit."""

    async def wrapper(x: int) -> Any:
        async with asyncio.timeout(LIMIT):
            return await fn(x)

    return own(wrapper)


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

        return own(wrapper)

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

        return own(wrapper)

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
                    delay = min(20.0, 0.1 * 2.0 ** (number - 1)) * random.random()  # noqa: S311
                    if delay:
                        time.sleep(delay)

        return own(wrapper)

    return decorate
