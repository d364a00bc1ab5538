"""
Ten things that go wrong with retries, as people have reported them of other libraries; each test bears its name.

The tenth has a second half, budgets, which are not part of the library yet.
"""

from __future__ import annotations

import asyncio
import functools
import pickle
import signal
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import trio

import forbear
from forbear import Decorrelated, Exponential, RetryAfter, parse_retry_after, presets, retry
from forbear.testing import attempts, virtual_time

from processes import signalled
from ways import WAYS, Way


class Oops(Exception):
    """What fails here."""


def everything(error: object) -> bool:
    """Match whatever it is asked about; it must never be asked about an exit."""
    assert isinstance(error, Exception)
    return True


# -- 1


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_1_retry_eats_cancellation_and_ctrl_c(kind: type[BaseException], way: Way) -> None:
    """They pass at once, whatever `on` says, and a predicate is not even asked."""
    calls = []

    def step() -> None:
        calls.append(1)
        raise kind

    with virtual_time(), pytest.raises(kind):
        way.run(retry(on=everything, attempts=None), step)
    assert 1 == len(calls)


def test_1_a_real_ctrl_c_ends_a_wait() -> None:
    """SIGINT in the middle of an hour's wait comes out as KeyboardInterrupt, at once."""

    def fail() -> None:
        raise Oops

    with pytest.raises(KeyboardInterrupt), signalled(signal.SIGINT):
        retry(on=everything, attempts=None, backoff=3600).call(fail)


def test_1_a_cancelled_task_ends() -> None:
    """`task.cancel()` and trio's cancel scopes end a call that would retry everything for ever."""

    async def fail() -> None:
        raise Oops

    policy = retry(on=everything, attempts=None, backoff=3600)

    async def on_asyncio() -> bool:
        task = asyncio.create_task(policy(fail)())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    async def on_trio() -> bool:
        with trio.move_on_after(0) as scope:
            await policy(fail)()
        return scope.cancelled_caught

    assert asyncio.run(on_asyncio())
    assert trio.run(on_trio)


# -- 2


@pytest.mark.parametrize(("nested", "calls"), [("allow", 27), ("stop", 3)])
def test_2_nested_retries_multiply(nested: Any, calls: int) -> None:
    """Three layers of three attempts: 27 calls where that is meant, else 3."""
    made = []
    layer = retry(on=Exception, attempts=3, backoff=1, nested=nested)

    @layer
    def client() -> None:
        made.append(1)
        raise Oops

    @layer
    def repository() -> None:
        try:
            client()
        except Oops as error:
            raise LookupError from error

    @layer
    def service() -> None:
        repository()

    with virtual_time(), pytest.raises(LookupError):
        service()
    assert calls == len(made)


# -- 3


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_3_total_limits_that_are_not(way: Way) -> None:
    """No wait begins that would end after the limit; attempts count; the clock starts with each call."""
    policy = retry(on=Oops, attempts=None, total_timeout=10, backoff=3, name="p")

    def step() -> None:
        clock.advance(1)
        raise Oops

    with virtual_time() as clock:
        for call in (1, 2):  # the second begins long after the policy was made
            start = clock.now()
            with pytest.raises(Oops) as caught:
                way.run(policy, step)
            # 1 + 3 + 1 + 3 + 1 = 9, and three seconds more would be twelve.
            assert 9.0 == clock.now() - start
            assert call * [3.0, 3.0] == clock.waits
            assert "timeout" == forbear.reason(caught.value)


def test_3_the_limit_of_one_attempt_is_another() -> None:
    """`attempt_timeout` cuts one attempt off and is retried; `total_timeout` ends the call."""
    calls = []

    async def hang() -> None:
        calls.append(1)
        await asyncio.get_running_loop().create_future()

    async def main() -> str | None:
        policy = retry(on=Oops, attempts=None, attempt_timeout=2, total_timeout=7, backoff=1)
        with virtual_time(auto=False) as clock:
            task = asyncio.create_task(policy(hang)())
            while not task.done():
                for _ in range(10):
                    await asyncio.sleep(0)
                clock.advance(0.5)
            assert clock.now() <= 8
            assert isinstance(task.exception(), TimeoutError)
            return forbear.reason(task.exception())  # type: ignore[arg-type]

    assert "timeout" == asyncio.run(main())
    assert 3 == len(calls)


# -- 4


@pytest.mark.parametrize(
    "backoff",
    [
        Exponential(0.1, cap=20.0),
        Exponential(0.1, cap=20.0, jitter="equal"),
        Exponential(0.1, cap=20.0, jitter=0.5),
        Decorrelated(0.1, 20.0),
        presets.CENKALTI,
        presets.AWS_2026,
    ],
)
def test_4_jitter_dies_at_the_cap_and_growth_overflows(backoff: forbear.Backoff) -> None:
    """In a long outage the delays still differ, and a million failures are only a number."""

    def fail() -> None:
        raise Oops

    with virtual_time() as clock, pytest.raises(Oops):
        retry(on=Oops, attempts=1001, backoff=backoff).call(fail)
    late = clock.waits[500:]
    assert len(set(late)) > 0.95 * len(late)
    delay = backoff.delay(10**6, 20.0, lambda: 0.999)
    assert delay is not None
    assert 0.0 <= delay <= 122.0


# -- 5


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_5_the_real_error_is_hidden(way: Way) -> None:
    """What comes out is the function's own error, its cause and traceback as they were, and a note."""
    raised = []

    def step() -> None:
        try:
            {}["key"]
        except KeyError as error:
            raised.append(ConnectionError("refused"))
            raise raised[-1] from error

    with virtual_time(), pytest.raises(ConnectionError) as caught:
        way.run(retry(on=ConnectionError, attempts=3, name="fetch"), step)
    assert caught.value is raised[-1]
    assert isinstance(caught.value.__cause__, KeyError)
    text = "".join(traceback.format_exception(caught.value))
    assert "raise raised[-1] from error" in text
    assert "forbear: fetch gave up after 3 attempts" in text
    assert "RetryError" not in text


# -- 6


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_6_tests_wait(way: Way) -> None:
    """A day of waiting takes no time in a test, and can be asserted on; or there is no waiting at all."""
    policy = retry(on=Oops, attempts=25, backoff=3600)
    calls = []

    def step() -> None:
        calls.append(1)
        raise Oops

    with virtual_time() as clock, pytest.raises(Oops):
        way.run(policy, step)
    assert [3600.0] * 24 == clock.waits
    assert 86400.0 == clock.now()
    calls.clear()
    with attempts(2), pytest.raises(Oops):
        way.run(policy, step)
    assert 2 == len(calls)


# -- 7


def test_7_generators() -> None:
    """They are retried until their first item; then errors pass, so no item comes twice."""
    calls = []

    @retry(on=Oops, attempts=5, backoff=1)
    def pages(*, broken: bool) -> Iterator[int]:
        calls.append(1)
        if len(calls) < 3:
            raise Oops("connecting")
        yield 1
        if broken:
            raise Oops("in the middle")
        yield 2

    @retry(on=Oops, attempts=5, backoff=1)
    async def apages(*, broken: bool) -> AsyncIterator[int]:
        for page in pages(broken=broken):
            yield page

    async def collect(*, broken: bool) -> list[int]:
        return [page async for page in apages(broken=broken)]

    with virtual_time():
        assert [1, 2] == list(pages(broken=False))
        got = []
        with pytest.raises(Oops, match="in the middle"):
            got.extend(pages(broken=True))
        assert 4 == len(calls)
        assert [1, 2] == asyncio.run(collect(broken=False))
        with pytest.raises(Oops, match="in the middle"):
            asyncio.run(collect(broken=True))


# -- 8


class AsyncClient:
    """Fails twice, then answers; as a callable object and by its method."""

    def __init__(self) -> None:
        self.calls = 0

    async def method(self, value: int) -> int:
        self.calls += 1
        if self.calls % 3:
            raise Oops
        return value

    async def __call__(self, value: int) -> int:
        return await self.method(value)


ASYNC: dict[str, Callable[[AsyncClient], Callable[..., Any]]] = {
    "callable object": lambda client: client,
    "bound method": lambda client: client.method,
    "partial": lambda client: functools.partial(client.method, 5),
    "partial of a partial": lambda client: functools.partial(functools.partial(client.method, 5)),
    "partial of a callable object": lambda client: functools.partial(client, 5),
    "partial method": lambda client: functools.partial(AsyncClient.method, client, 5),
}


@pytest.mark.parametrize("shape", ASYNC)
def test_8_async_guessed_wrong(shape: str) -> None:
    """Whatever hands back a coroutine by its nature is awaited inside the policy, and so is retried."""
    client = AsyncClient()
    fn = ASYNC[shape](client)
    decorated = retry(on=Oops, attempts=3, backoff=1)(fn)
    arguments = () if "partial" in shape else (5,)

    async def main() -> object:
        return await decorated(*arguments)

    with virtual_time():
        assert 5 == asyncio.run(main())
        assert 5 == trio.run(main)
    assert 6 == client.calls


# -- 9


def test_9_state_shared_by_threads_tasks_and_processes() -> None:
    """One policy, one backoff, one decorated function serve all at once; each call counts for itself."""
    policy = retry(on=Oops, attempts=4, backoff=Exponential(1.0, jitter="none"))
    barrier = threading.Barrier(4)
    stories: dict[int, list[float]] = {}

    @policy
    def operation(number: int) -> None:
        barrier.wait()
        raise Oops

    def thread(number: int) -> None:
        with virtual_time() as clock, pytest.raises(Oops):
            operation(number)
        stories[number] = clock.waits

    threads = [threading.Thread(target=thread, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert {number: [1.0, 2.0, 4.0] for number in range(4)} == stories

    @policy
    async def aoperation(calls: list[int]) -> None:
        calls.append(1)
        await asyncio.sleep(0)
        raise Oops

    async def main() -> list[int]:
        calls: list[list[int]] = [[] for _ in range(4)]
        with virtual_time():
            await asyncio.gather(*map(aoperation, calls), return_exceptions=True)
        return [len(one) for one in calls]

    assert [4] * 4 == asyncio.run(main())
    assert policy == pickle.loads(pickle.dumps(policy))


# -- 10


def test_10_retry_after() -> None:
    """What a server asks for is a floor: never earlier, later by a random share, and never absurdly late."""
    headers = iter(["2", "30", None, "soon", "86400"])

    def fetch() -> None:
        raise RetryAfter(parse_retry_after(next(headers))) from Oops("503")

    with virtual_time() as clock, pytest.raises(Oops) as caught:
        retry(on=Oops, attempts=10, backoff=7).call(fetch)
    assert "hint" == forbear.reason(caught.value)
    first, second, third, fourth = clock.waits
    assert 2.0 <= first <= 3.0
    assert 30.0 <= second <= 45.0
    assert [7.0, 7.0] == [third, fourth]
