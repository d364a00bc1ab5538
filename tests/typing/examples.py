"""
Each kind of callable under a policy, and the types that checkers see: read by mypy and pyright, never run.

A decorated function has the type that it had before, to the last parameter; nothing becomes Any.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from datetime import timedelta
from typing import Any, assert_type

import forbear
from forbear import (
    Attempt,
    Backoff,
    Cancelled,
    Constant,
    Decorrelated,
    Delays,
    Event,
    Explanation,
    Exponential,
    Fibonacci,
    HeldOff,
    Linear,
    Permanent,
    Policy,
    Polynomial,
    RetryAfter,
    Scope,
    Stop,
    Tick,
    Ticker,
    max_of,
    policy_of,
    presets,
    retry,
)
from forbear.testing import VirtualClock, attempts, virtual_time

policy = retry(on=ConnectionError)
assert_type(policy, Policy)
assert_type(policy.replace(attempts=3), Policy)
assert_type(policy.explain(), Explanation)

# -- functions


@retry(on=ConnectionError, attempts=5)
def fetch(url: str, *, timeout: float = 1.0) -> bytes:
    return url.encode() * int(timeout)


assert_type(fetch("x"), bytes)
assert_type(fetch("x", timeout=2.0), bytes)
as_before: Callable[[str], bytes] = fetch


@policy
def of_many(
    first: int, /, second: str = "", *rest: float, key: bool = False, **others: str
) -> list[str]:
    return [str(first), second, *map(str, rest), str(key), *others]


assert_type(of_many(1, "x", 2.0, 3.0, key=True, other="y"), list[str])


@policy
async def afetch(url: str) -> bytes:
    return url.encode()


async def awaits() -> None:
    assert_type(await afetch("x"), bytes)
    coroutine: Coroutine[Any, Any, bytes] = afetch("x")
    assert_type(await coroutine, bytes)


# -- generators


@policy
def pages(url: str) -> Iterator[int]:
    yield len(url)


@policy
def sends(url: str) -> Generator[int, str, bool]:
    answer = yield len(url)
    return answer == url


@policy
async def apages(url: str) -> AsyncIterator[int]:
    yield len(url)


def iterates() -> Iterator[int]:
    assert_type(pages("x"), Iterator[int])
    assert_type(sends("x"), Generator[int, str, bool])
    assert_type((yield from sends("x")), bool)


async def aiterates() -> None:
    assert_type(apages("x"), AsyncIterator[int])
    async for page in apages("x"):
        assert_type(page, int)


# -- methods


class Client:
    @policy
    def method(self, url: str) -> bytes:
        return url.encode()

    @policy
    async def amethod(self, url: str) -> bytes:
        return url.encode()

    @policy
    @classmethod
    def above_class(cls, url: str) -> Client:
        return cls()

    @classmethod
    @policy
    def below_class(cls, url: str) -> Client:
        return cls()

    @policy
    @staticmethod
    def above_static(url: str) -> int:
        return len(url)

    @staticmethod
    @policy
    def below_static(url: str) -> int:
        return len(url)

    @property
    @policy
    def value(self) -> int:
        return 5

    def __call__(self, url: str) -> bytes:
        return url.encode()


client = Client()
assert_type(client.method("x"), bytes)
assert_type(Client.method(client, "x"), bytes)
assert_type(Client.above_class("x"), Client)
assert_type(Client.below_class("x"), Client)
assert_type(client.below_class("x"), Client)
assert_type(Client.above_static("x"), int)
assert_type(Client.below_static("x"), int)
assert_type(client.value, int)


async def awaits_methods() -> None:
    assert_type(await client.amethod("x"), bytes)


# -- other callables

assert_type(policy(client)("x"), bytes)
assert_type(policy(functools.partial(fetch, timeout=2.0))("x"), bytes)
assert_type(policy(lambda: str(5))(), str)
assert_type(policy(client.method)("x"), bytes)
assert_type(policy_of(fetch), Policy | None)

# -- once

assert_type(policy.call(fetch, "x", timeout=2.0), bytes)
assert_type(policy.call(lambda: 5), int)
assert_type(policy.call(client.method, "x"), bytes)
assert_type(policy.call(max, 1, 2), int)


async def calls_once() -> None:
    assert_type(await policy.acall(afetch, "x"), bytes)
    assert_type(await policy.acall(client.amethod, "x"), bytes)


# -- blocks


def block() -> bytes:
    for attempt in policy:
        assert_type(attempt.number, int)
        assert_type(attempt.remaining, float | None)
        kept: Attempt = attempt
        with attempt:
            return fetch(str(kept.number))
    raise AssertionError("unreachable")


async def ablock() -> bytes:
    async for attempt in policy:
        assert_type(attempt.number, int)
        with attempt:
            return await afetch("x")
    raise AssertionError("unreachable")


# -- what a policy is given


def is_transient(error: Exception) -> bool:
    return "again" in str(error)


def hint_of(error: Exception) -> float | None:
    return getattr(error, "wait", None)


def hook(event: Event) -> None:
    assert_type(event.attempt, int)
    assert_type(event.delay, float | None)
    assert_type(event.error, BaseException | None)
    assert_type(event.reason, str | None)
    assert_type(event.policy, str)


async def ahook(event: Event) -> None:
    hook(event)


retry(ConnectionError)
retry(on=(ConnectionError, TimeoutError))
retry(on=is_transient, giveup=(KeyError, ValueError))
retry(on=lambda error: isinstance(error, OSError), giveup=lambda error: "quota" in str(error))
retry(on=OSError, on_result=lambda response: response.status == 503)
retry(on=OSError, attempts=None, total_timeout=timedelta(minutes=1), attempt_timeout=2)
retry(on=OSError, backoff=1, hint=hint_of, hint_jitter=0.2, max_hint=None)
retry(on=OSError, backoff=timedelta(seconds=2), hint=None, max_hint=timedelta(hours=1))
retry(
    on=OSError,
    backoff={ConnectionError: Exponential(), TimeoutError: 5.0, KeyError: timedelta(seconds=1)},
)
retry(on=OSError, nested="stop", name="billing", describe=lambda error: type(error).__name__)
retry(on=OSError, on_retry=hook, on_giveup=hook, on_success=ahook)
retry(on=HeldOff)


class Office:
    """A backoff of somebody's own."""

    def delay(self, failures: int, previous: float, random: Callable[[], float], /) -> float | None:
        return 60.0 * random()


retry(on=OSError, backoff=Office())

# -- backoffs

every: list[Backoff] = [
    Constant(1),
    Stop(),
    Linear(1, 2, cap=10),
    Fibonacci(1, cap=None, jitter="equal"),
    Polynomial(1, 2, cap=timedelta(minutes=1), jitter=0.5),
    Exponential(base=0.1, factor=2.0, cap=20.0, jitter="full"),
    Decorrelated(0.1, 20),
    Delays(0.1, 1, 10, then="repeat"),
    Exponential().take(3).then(Constant(60)),
    max_of(Constant(1), Linear(1, 1, cap=5)),
    presets.CENKALTI,
]
assert_type(Exponential().delay(1, 0.0, lambda: 0.5), float)
assert_type(every[0].delay(1, 0.0, lambda: 0.5), float | None)
assert_type(list(Exponential().take(3).delays()), list[float])

# -- scopes


def scopes() -> None:
    with forbear.scope(timeout=2.0) as scope:
        assert_type(scope, Scope)
        assert_type(scope.cancelled, str | None)
        scope.cancel("shutting down")
        scope.check()
    with forbear.scope(timedelta(seconds=1)), forbear.scope():
        assert_type(forbear.remaining(), float | None)
    forbear.cancel_all("shutting down")


async def ascopes() -> None:
    async with forbear.scope(timeout=2.0) as scope:
        assert_type(scope, Scope)


# -- ticks


def ticks() -> None:
    ticker = Ticker(Exponential(), reset_after=60)
    for tick in ticker:
        assert_type(tick, Tick)
        assert_type(tick.number, int)
        assert_type(tick.at, float)
        ticker.stop()


async def aticks() -> None:
    async for tick in Ticker(5):
        assert_type(tick.number, int)


# -- errors, signals and the rest


def errors(error: Exception) -> None:
    assert_type(forbear.reason(error), str | None)
    assert_type(Cancelled("bye").reason, str)
    assert_type(forbear.parse_retry_after("120"), float | None)
    assert_type(RetryAfter(timedelta(seconds=2)).retry_after, float | None)
    raise Permanent(KeyError("no such user"))


remove = forbear.on_event(hook)
assert_type(remove, Callable[[], None])

with virtual_time(start=10, auto=False, everywhere=True) as clock:
    assert_type(clock, VirtualClock)
    assert_type(clock.now(), float)
    assert_type(clock.waits, list[float])
    clock.advance(timedelta(seconds=1))

with attempts(2):
    fetch("x")

awaitable: Awaitable[bytes] = afetch("x")
