"""What once was wrong and no promise's own test had seen: the right value of each."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

import forbear
from forbear import Constant, RetryAfter, Ticker, retry
from forbear.testing import virtual_time


class Oops(Exception):
    """What fails here."""


async def at_once() -> str:
    return "at once"


async def stuck() -> str:
    await asyncio.sleep(3600)
    return "not cut off"


# -- an event loop that has moved to another thread, or was left behind in the parent process


@pytest.mark.parametrize("limit", ["total_timeout", "attempt_timeout"])
def test_a_limit_is_armed_on_the_loop_that_runs_here(limit: str) -> None:
    """Not on one that ran on this thread before and runs on another now."""
    policy = retry(on=Oops, attempts=1, **{limit: 0.02})  # type: ignore[arg-type]
    moved = asyncio.new_event_loop()
    moved.run_until_complete(policy.acall(at_once))
    outcomes: list[str] = []
    ended = threading.Event()

    async def stranger() -> None:
        try:
            while not ended.is_set():
                time.sleep(0.001)  # noqa: ASYNC251 (it is nearly always the current task)
                await asyncio.sleep(0)
            outcomes.append("undisturbed")
        except asyncio.CancelledError:
            outcomes.append("cancelled by a stranger")

    thread = threading.Thread(target=lambda: moved.run_until_complete(stranger()))
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            asyncio.run(policy.acall(stuck))
    finally:
        ended.set()
        thread.join()
        moved.close()
    assert ["undisturbed"] == outcomes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_child_forked_from_a_running_task_has_its_own_loop() -> None:
    """Its limits are armed there, and not on the loop that stayed behind."""
    policy = retry(on=Oops, attempts=1, total_timeout=0.02)

    def child() -> int:
        try:
            asyncio.run(policy.acall(stuck))
        except TimeoutError:
            return 7
        return 1

    async def parent() -> int:
        await policy.acall(at_once)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads that may be there
            pid = os.fork()
        if pid == 0:
            try:
                os._exit(child())
            finally:
                os._exit(2)
        _, status = os.waitpid(pid, 0)  # noqa: ASYNC222 (the child waits for nobody)
        return os.waitstatus_to_exitcode(status)

    assert 7 == asyncio.run(parent())


def test_many_loops_under_one_virtual_clock() -> None:
    """A loop may have the address of one that was closed before."""
    policy = retry(on=Oops, attempts=3, backoff=1)

    async def fail() -> None:
        raise Oops

    async def main() -> None:
        with pytest.raises(Oops):
            await policy.acall(fail)

    with virtual_time() as clock:
        for _ in range(5):
            asyncio.run(main())
            gc.collect()
    assert [1.0] * 10 == clock.waits


# -- names of the user's module


def test_generators_in_a_module_with_names_of_its_own() -> None:
    """Whoever has a `next` or a `StopIteration` of their own means it for themselves."""
    mine = dict.fromkeys(
        ("next", "anext", "StopIteration", "StopAsyncIteration", "GeneratorExit", "BaseException")
    )
    space: dict[str, Any] = dict(mine)
    exec(
        "def items():\n    got = yield 1\n    yield got\n"
        "async def aitems():\n    got = yield 1\n    yield got\n"
        "def none():\n    return 5\n    yield\n",
        space,
    )
    policy = retry(on=Oops)
    numbers: Iterator[int] = policy(space["items"])()
    assert [1, None] == list(numbers)

    async def collect() -> list[object]:
        stream: AsyncIterator[object] = policy(space["aitems"])()
        return [item async for item in stream]

    assert [1, None] == asyncio.run(collect())
    with pytest.raises(StopIteration) as ended:
        next(policy(space["none"])())
    assert 5 == ended.value.value


# -- blocks


def test_a_block_judges_the_error_that_it_is_given() -> None:
    """In an ExitStack that is not always the one being handled."""
    calls = 0

    def fail() -> None:
        raise Oops("callback")

    with pytest.raises(Oops) as caught:
        for attempt in retry(on=Oops, attempts=3, backoff=0):
            calls += 1
            with ExitStack() as stack:
                stack.enter_context(attempt)
                stack.callback(fail)
                if calls > 1:
                    raise KeyError("body")
    assert 3 == calls
    assert "attempts" == forbear.reason(caught.value)


@pytest.mark.parametrize("block", [True, False])
def test_what_a_time_limit_cuts_off_has_the_last_failure_as_its_cause(block: bool) -> None:
    """And the number of the attempt, in a block as in a call."""
    policy = retry(on=Oops, attempts=5, backoff=0, total_timeout=0.05)
    failures = [Oops(1), Oops(2)]
    calls = 0

    async def step() -> None:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise failures[calls - 1]
        await asyncio.sleep(3600)

    async def main() -> None:
        if not block:
            await policy.acall(step)
        async for attempt in policy:
            with attempt:
                await step()

    events: list[forbear.Event] = []
    remove = forbear.on_event(events.append)
    try:
        with pytest.raises(TimeoutError) as caught:
            asyncio.run(main())
    finally:
        remove()
    assert failures[1] is caught.value.__cause__
    assert "attempt 3" in caught.value.__notes__[0]
    assert 3 == events[-1].attempt


# -- errors that misbehave, and groups


def test_a_hint_that_can_not_be_read_is_none() -> None:
    """Also of the failures after the first, which are looked at less closely."""

    class Bad(Exception):
        @property
        def retry_after(self) -> float:
            raise RuntimeError("property")

    calls = 0

    def fail() -> None:
        nonlocal calls
        calls += 1
        raise Bad("x")

    with pytest.raises(Bad):
        retry(on=Bad, attempts=4, backoff=0).call(fail)
    assert 4 == calls


@pytest.mark.parametrize(
    ("group", "given", "calls"),
    [
        (
            lambda: ExceptionGroup("g", [RetryAfter(0), KeyError()]),
            {"on": Oops, "giveup": KeyError},
            1,
        ),
        (lambda: ExceptionGroup("g", [RetryAfter(0), KeyError()]), {"on": Oops}, 1),
        (lambda: ExceptionGroup("g", [RetryAfter(0), Oops()]), {"on": Oops}, 3),
        (lambda: ExceptionGroup("g", [RetryAfter(0), RetryAfter(0)]), {"on": Oops}, 3),
        (
            lambda: ExceptionGroup("g", [ExceptionGroup("h", [RetryAfter(0)]), Oops()]),
            {"on": Oops},
            3,
        ),
    ],
)
def test_a_retry_after_in_a_group_speaks_for_its_own_leaf(
    group: Any, given: Any, calls: int
) -> None:
    """All others must be matched, and none be given up."""
    made = 0

    def fail() -> None:
        nonlocal made
        made += 1
        raise group()

    with pytest.raises(ExceptionGroup):
        retry(**given, attempts=3, backoff=0, hint_jitter=0).call(fail)
    assert calls == made


@pytest.mark.parametrize(("giveup", "calls"), [(None, 3), (KeyError, 1)])
def test_a_retry_after_that_caused_a_group_speaks_for_all(giveup: Any, calls: int) -> None:
    """Giveup still wins."""
    made = 0

    def fail() -> None:
        nonlocal made
        made += 1
        raise ExceptionGroup("g", [KeyError(), ValueError()]) from RetryAfter(0)

    with pytest.raises(ExceptionGroup):
        retry(on=Oops, giveup=giveup, attempts=3, backoff=0, hint_jitter=0).call(fail)
    assert calls == made


# -- what is told


def test_a_wait_on_an_event_loop_warns_once_a_place() -> None:
    """However long each wait is."""

    @retry(on=Oops, attempts=6, backoff=forbear.Exponential(0.0001))
    def fail() -> None:
        raise Oops

    async def main() -> None:
        for _ in range(3):
            with pytest.raises(Oops):
                fail()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        asyncio.run(main())
    assert [forbear.BlockingWaitWarning] == [warning.category for warning in seen]


def test_the_reason_of_a_cancellation_is_one_short_line() -> None:
    """In the note and the log; the error itself has it as it was given."""
    text = "two\nlines " * 1000

    def fail() -> None:
        raise Oops

    with virtual_time(), forbear.scope() as scope, pytest.raises(forbear.Cancelled) as caught:
        retry(on=Oops, on_retry=lambda event: scope.cancel(text)).call(fail)
    assert text == caught.value.reason
    head, *failures = caught.value.__notes__[0].splitlines()
    assert len(head) < 350
    assert 1 == len(failures)


@pytest.mark.parametrize(("answer", "waits"), [(timedelta(seconds=2), [2.0, 2.0]), (3, [3.0, 3.0])])
def test_a_ticker_reads_what_a_backoff_answers(answer: Any, waits: list[float]) -> None:
    """As a policy does."""

    class Own:
        def delay(self, failures: int, previous: float, random: object) -> Any:
            return answer

    with virtual_time() as clock:
        for tick in Ticker(Own()):  # type: ignore[arg-type]
            if tick.number == 3:
                break
    assert waits == clock.waits


def test_a_ticker_refuses_what_is_no_delay() -> None:
    """Rather than never to wait."""

    class Own:
        def delay(self, failures: int, previous: float, random: object) -> Any:
            return float("nan")

    with pytest.raises(forbear.ConfigError, match="backoff must answer"):
        list(Ticker(Own()))


def test_what_a_hook_raises_in_an_async_block_has_the_failure_as_its_context() -> None:
    """As everywhere."""
    failure = Oops("told of")

    async def main() -> None:
        async def hook(event: forbear.Event) -> None:
            raise RuntimeError("hook")

        async for attempt in retry(on=Oops, backoff=Constant(0), on_retry=hook):
            with attempt:
                raise failure

    with pytest.raises(RuntimeError) as caught:
        asyncio.run(main())
    assert failure is caught.value.__context__
