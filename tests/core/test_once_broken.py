"""What once was wrong and no promise's own test had seen: the right value of each."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
import trio
import trio.lowlevel

import forbear
from forbear import Constant, RetryAfter, Ticker, retry
from forbear._notes import EPOCH, next_epoch
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


# -- more of them


def test_giving_up_on_a_mock_ends() -> None:
    """A mock has every attribute that it is asked for, and each is another mock."""
    fn = Mock(side_effect=Oops())
    with pytest.raises(Oops):
        retry(on=Oops, attempts=2, backoff=0).call(fn)
    with pytest.raises(Oops):
        retry(on=Oops, attempts=2, backoff=0)(fn)()
    assert 4 == fn.call_count


def test_a_cut_on_trio_that_leaves_a_group_is_judged_and_leaves_nothing_bound() -> None:
    """A nursery's own error is what remains of a group once the cut has taken its part."""
    calls = 0

    async def fail() -> None:
        async with trio.open_nursery() as nursery:

            async def clean_up_badly() -> None:
                try:
                    await trio.sleep_forever()
                finally:
                    raise Oops("cleanup")

            nursery.start_soon(clean_up_badly)
            await trio.sleep_forever()

    async def main() -> None:
        nonlocal calls
        policy = retry(on=Oops, attempts=3, backoff=0, attempt_timeout=0.01, total_timeout=60)
        with pytest.raises(ExceptionGroup) as caught:
            async for attempt in policy:
                with attempt:
                    calls += 1
                    await fail()
        assert "attempts" == forbear.reason(caught.value)
        assert forbear.remaining() is None
        await trio.lowlevel.checkpoint()

    trio.run(main)
    assert 3 == calls


@pytest.mark.parametrize(
    "limit", [{"attempt_timeout": 0.01, "attempts": 2}, {"total_timeout": 0.01}]
)
def test_an_async_block_that_is_cut_off_leaves_no_cycle(limit: dict[str, Any]) -> None:
    """What its frame holds dies with the call."""

    class Thing:
        pass

    things: list[weakref.ref[Thing]] = []

    async def main() -> None:
        thing = Thing()
        things.append(weakref.ref(thing))
        try:
            async for attempt in retry(on=Oops, backoff=0, **limit):
                with attempt:
                    await asyncio.sleep(3600)
        except TimeoutError:
            pass

    loop = asyncio.new_event_loop()
    gc.collect()
    gc.disable()
    try:
        loop.run_until_complete(main())
        assert things[0]() is None
    finally:
        gc.enable()
        loop.close()


@pytest.mark.parametrize(
    "on", [Exception, lambda error: True, lambda error: not isinstance(error, ExceptionGroup)]
)
def test_giveup_wins_in_a_group_whatever_asks(on: Any) -> None:
    """A leaf that is given up ends it, though a predicate says yes to the group."""
    calls = 0

    def fail() -> None:
        nonlocal calls
        calls += 1
        raise ExceptionGroup("g", [KeyError(), OSError()])

    with pytest.raises(ExceptionGroup):
        retry(on=on, giveup=KeyError, attempts=2, backoff=0).call(fail)
    assert 1 == calls


@pytest.mark.parametrize("total_timeout", [None, 100])
def test_a_scope_between_the_loop_and_its_attempt_is_kept_to(total_timeout: float | None) -> None:
    """With a time limit of the block and without."""

    def fail() -> None:
        raise Oops

    for attempt in retry(on=Oops, total_timeout=total_timeout):
        with forbear.scope(timeout=1) as scope, attempt:
            left = forbear.remaining()
            assert left is not None
            assert left <= 1
            scope.cancel("inside")
            with pytest.raises(forbear.Cancelled):
                retry(on=Oops, attempts=2, backoff=0.001).call(fail)
    assert forbear.remaining() is None


def test_a_ticker_that_blocks_an_event_loop_warns() -> None:
    """As a retry does."""

    async def main() -> None:
        for tick in Ticker(0.0001):
            if tick.number == 2:
                break

    with pytest.warns(forbear.BlockingWaitWarning, match="a ticker waits"):
        asyncio.run(main())


def test_a_wide_group_has_a_mark_when_all_its_leaves_have_it() -> None:
    """And a signal in it is seen, wherever it stands."""

    def marked() -> Oops:
        error = Oops()

        def fail() -> None:
            raise error

        with pytest.raises(Oops):
            retry(on=Oops, attempts=1).call(fail)
        return error

    assert "attempts" == forbear.reason(ExceptionGroup("g", [marked() for _ in range(300)]))
    assert forbear.reason(ExceptionGroup("g", [*(marked() for _ in range(300)), Oops()])) is None
    group = ExceptionGroup("g", [*(Oops() for _ in range(300)), forbear.Permanent("p")])

    def fail() -> None:
        raise group

    with pytest.raises(ExceptionGroup):
        retry(on=Exception, attempts=2, backoff=0).call(fail)
    assert "permanent" == forbear.reason(group)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="nothing can be marked before Python 3.12")
def test_a_callable_object_marked_as_a_coroutine_function_is_async() -> None:
    """As `inspect.iscoroutinefunction` says."""

    class Marked:
        calls = 0

        def __call__(self) -> Any:
            return self.fail()

        async def fail(self) -> None:
            self.calls += 1
            raise Oops

    marked: Any = Marked()
    inspect.markcoroutinefunction(marked)  # type: ignore[attr-defined,unused-ignore]
    with pytest.raises(Oops):
        asyncio.run(retry(on=Oops, attempts=3, backoff=0)(marked)())
    assert 3 == marked.calls


def test_backoffs_of_a_group_need_not_be_hashable() -> None:
    """A dataclass with a `delay` is a backoff, and has no hash."""

    @dataclass
    class Own:
        seconds: float

        def delay(self, failures: int, previous: float, random: object) -> float:
            return self.seconds

    def fail() -> None:
        raise ExceptionGroup("g", [Oops(), KeyError(), Oops()])

    backoff: Any = {Oops: Own(2), KeyError: Own(3)}
    with virtual_time() as clock, pytest.raises(ExceptionGroup):
        retry(on=(Oops, KeyError), attempts=2, backoff=backoff).call(fail)
    assert [3.0] == clock.waits


def test_ends_of_trying_are_counted_one_by_one() -> None:
    """From many threads at once, and none is lost: or calls begun after `cancel_all` were cancelled by it."""
    before = EPOCH.count

    def count() -> None:
        for _ in range(2000):
            next_epoch()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert before + 8000 == EPOCH.count


def test_an_end_of_trying_in_a_signal_handler_waits_for_nobody() -> None:
    """It may have interrupted another one."""
    with forbear._notes._counting:
        forbear.cancel_all("in a handler")
    before = EPOCH.count
    next_epoch()
    assert before + 1 == EPOCH.count


def test_a_signal_in_the_instant_before_a_wait_is_late_by_a_piece_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It wakes nobody, and its handler runs when the thread does: so the main thread waits in short pieces."""
    monkeypatch.setattr(forbear._clock, "PIECE_OF_MAIN", 0.01)
    pieces: list[float] = []
    real = forbear._clock.ThreadWaiter.wait

    def wait(self: Any, seconds: float | None) -> bool:
        pieces.append(0.0)
        if len(pieces) == 3:  # as the handler of a signal that came before the first
            forbear.cancel_all("late")
        return real(self, seconds)

    monkeypatch.setattr(forbear._clock.ThreadWaiter, "wait", wait)

    def fail() -> None:
        raise Oops

    with pytest.raises(forbear.Cancelled):
        retry(on=Oops, attempts=2, backoff=3600).call(fail)
    assert 3 == len(pieces)
    assert 0.01 == forbear._clock.PIECE_OF_MAIN < forbear._clock.PIECE


@pytest.mark.parametrize("name", ["on_result", "hint", "describe"])
def test_what_must_answer_at_once_can_not_be_async(name: str) -> None:
    """A coroutine is always true: every good result would be refused."""

    async def ask(thing: object) -> bool:
        return False

    with pytest.raises(forbear.ConfigError, match=f"{name} must be a plain function, not async"):
        retry(on=Oops, **{name: ask})  # type: ignore[arg-type]


@pytest.mark.parametrize("fails", [False, True])
def test_a_block_whose_last_hook_raises_has_ended(fails: bool) -> None:
    """Its time limit binds nobody any more."""

    def hook(event: forbear.Event) -> None:
        raise RuntimeError("hook")

    limits = []
    policy = retry(on=Oops, backoff=0, total_timeout=100, on_success=hook)
    with pytest.raises(RuntimeError):
        for attempt in policy:
            with attempt:
                limits.append(attempt._limit)
                if fails and attempt.number == 1:
                    raise Oops

    async def main() -> None:
        async for attempt in policy:
            with attempt:
                limits.append(attempt._limit)
                if fails and attempt.number == 1:
                    raise Oops

    with pytest.raises(RuntimeError):
        asyncio.run(main())
    assert [False] * len(limits) == [limit.open for limit in limits if limit is not None]
