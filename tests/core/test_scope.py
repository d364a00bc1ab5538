"""Time limits and cancellation that travel: what a scope binds, for how long, and how it ends."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import trio

import forbear
from forbear import Cancelled, Event, Ticker, retry
from forbear.testing import virtual_time

from drivers import LIBRARIES, WAYS, Scenario, Way, fails, pause, perform, text_of

FOR_EVER = 3600.0  # a wait that only a cancellation ends; the test hangs if it doesn't


class Oops(Exception):
    """What fails here."""


def fail() -> None:
    raise Oops("e")


async def afail() -> None:
    raise Oops("e")


PATIENT = retry(on=Oops, backoff=FOR_EVER, hint=None)


def soon(action: Callable[[], object]) -> threading.Thread:
    """Do it from another thread as soon as somebody waits."""

    def run() -> None:
        while not forbear._clock.waiting:
            time.sleep(0.001)
        action()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run an async function on asyncio, and on trio."""
    run: Callable[..., Any] = LIBRARIES[request.param]
    return run


# -- how much time is left


def test_remaining_is_none_without_a_limit() -> None:
    """None means no limit; a scope without a timeout has none."""
    assert forbear.remaining() is None
    with forbear.scope():
        assert forbear.remaining() is None
        with forbear.scope(None):
            assert forbear.remaining() is None


def test_nested_scopes_only_shorten() -> None:
    """The limit that ends first counts, wherever it stands."""
    with virtual_time() as clock, forbear.scope(timeout=5.0):
        assert 5.0 == forbear.remaining()
        with forbear.scope(timeout=9.0):
            assert 5.0 == forbear.remaining()
        with forbear.scope(timeout=2.0):
            assert 2.0 == forbear.remaining()
            clock.advance(3.0)
            assert 0.0 == forbear.remaining()
        assert 2.0 == forbear.remaining()
    assert forbear.remaining() is None


def test_a_timedelta_is_seconds() -> None:
    """As everywhere."""
    with virtual_time(), forbear.scope(timedelta(minutes=1)):
        assert 60.0 == forbear.remaining()


def test_remaining_inside_a_policy_with_a_limit() -> None:
    """`total_timeout` is exactly a scope around the call."""
    seen = []

    @retry(on=Oops, total_timeout=10, backoff=1)
    def operation() -> None:
        seen.append(forbear.remaining())
        if len(seen) < 3:
            raise Oops

    with virtual_time():
        operation()
        assert forbear.remaining() is None
    assert [10.0, 9.0, 8.0] == seen


def test_zero_means_zero() -> None:
    """A timeout of 0 allows no wait, but the function runs once."""
    with virtual_time(), forbear.scope(timeout=0), pytest.raises(Oops) as caught:
        retry(on=Oops, backoff=0.001).call(fail)
    assert "timeout" == forbear.reason(caught.value)


def test_a_scope_is_entered_once() -> None:
    """A second entering is a mistake."""
    scope = forbear.scope()
    with scope:
        pass
    with pytest.raises(forbear.ConfigError, match="entered once"), scope:
        pass


# -- cancelling


def test_cancel_from_another_thread_wakes_a_wait() -> None:
    """The wait ends at once, with Cancelled and the last failure as its cause."""
    with forbear.scope() as scope:
        thread = soon(lambda: scope.cancel("bye"))
        with pytest.raises(Cancelled) as caught:
            PATIENT.call(fail)
        thread.join()
    assert "bye" == caught.value.reason
    assert "Oops: e" == text_of(caught.value.__cause__)
    assert "cancelled" == forbear.reason(caught.value)


def test_cancel_wakes_the_waits_of_inner_scopes_only() -> None:
    """What runs inside is ended, what runs beside it isn't."""
    ended: list[str] = []
    ready = threading.Barrier(3)

    def run(name: str, context: contextvars.Context) -> None:
        def body() -> None:
            ready.wait()
            try:
                PATIENT.call(fail)
            except Cancelled as error:
                ended.append(f"{name} {error.reason}")

        context.run(body)

    with forbear.scope() as first:
        with forbear.scope():
            inner_context = contextvars.copy_context()
            one = threading.Thread(target=run, args=("first", inner_context))
            with forbear.scope() as third:
                three_context = contextvars.copy_context()
                two = threading.Thread(target=run, args=("second", three_context))
                one.start()
                two.start()
                ready.wait()
                while len(forbear._clock.waiting) < 2:
                    time.sleep(0.001)
                third.cancel("third")
                two.join()
                assert ["second third"] == ended
                first.cancel("first")
                one.join()
    assert ["second third", "first first"] == ended


@pytest.fixture
def usr1() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Have something done by a signal handler, as soon as somebody waits."""
    before = signal.getsignal(signal.SIGUSR1)
    threads = []

    def arrange(action: Callable[[], object]) -> None:
        signal.signal(signal.SIGUSR1, lambda number, frame: action())
        threads.append(soon(lambda: os.kill(os.getpid(), signal.SIGUSR1)))

    yield arrange
    for thread in threads:
        thread.join()
    signal.signal(signal.SIGUSR1, before)


def test_cancel_from_a_signal_handler(usr1: Callable[..., None]) -> None:
    """The handler runs in the very thread that waits, and wakes it."""
    with forbear.scope() as scope:
        usr1(lambda: scope.cancel("signal"))
        with pytest.raises(Cancelled, match="signal"):
            PATIENT.call(fail)


def test_cancel_all_from_a_signal_handler(usr1: Callable[..., None]) -> None:
    """For shutdown handlers; no scope is needed."""
    usr1(lambda: forbear.cancel_all("shutting down"))
    with pytest.raises(Cancelled, match="shutting down"):
        PATIENT.call(fail)


def test_stop_a_ticker_from_a_signal_handler(usr1: Callable[..., None]) -> None:
    """A ticker's wait is woken in the same way."""
    ticker = Ticker(FOR_EVER)
    usr1(ticker.stop)
    assert 1 == len(list(ticker))


def test_a_timer_signal_cancels(library: Callable[..., Any]) -> None:
    """`setitimer` in a program with an event loop: the handler cancels the scope of a task."""
    before = signal.getsignal(signal.SIGALRM)

    async def main() -> None:
        async with forbear.scope() as scope:
            signal.signal(signal.SIGALRM, lambda number, frame: scope.cancel("alarm"))
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            await PATIENT.acall(afail)

    try:
        with pytest.raises(Cancelled, match="alarm"):
            library(main)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_signal_handler_that_raises_ends_the_wait() -> None:
    """Ctrl-C in a wait: KeyboardInterrupt comes out, at once and untouched."""
    thread = soon(lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as caught:
        PATIENT.call(fail)
    thread.join()
    assert not hasattr(caught.value, "__notes__")
    assert set() == forbear._clock.waiting


def test_cancelling_twice_keeps_the_first_reason() -> None:
    """Twice is fine."""
    with forbear.scope() as scope:
        assert scope.cancelled is None
        scope.check()
        scope.cancel("first")
        scope.cancel("second")
        assert "first" == scope.cancelled
        with pytest.raises(Cancelled, match="first"):
            scope.check()


def test_an_inner_scope_is_cancelled_with_the_outer_one() -> None:
    """But not the other way round."""
    with forbear.scope() as outer, forbear.scope() as inner:
        inner.cancel("inner")
        assert outer.cancelled is None
        outer.cancel("outer")
        assert "inner" == inner.cancelled
    with forbear.scope() as outer, forbear.scope() as inner:
        outer.cancel("outer")
        assert "outer" == inner.cancelled
        with pytest.raises(Cancelled, match="outer"):
            inner.check()


def test_cancel_all_ends_every_wait_of_the_process() -> None:
    """In every thread and task; what begins later is free."""
    ended: list[str] = []

    def plain() -> None:
        try:
            PATIENT.call(fail)
        except Cancelled as error:
            ended.append(error.reason)

    async def in_task() -> None:
        try:
            await PATIENT.acall(afail)
        except Cancelled as error:
            ended.append(error.reason)

    def tick() -> None:
        try:
            for _ in Ticker(FOR_EVER):
                pass
        except Cancelled as error:
            ended.append(error.reason)

    jobs: list[Callable[[], object]] = [
        plain,
        tick,
        lambda: asyncio.run(in_task()),
        lambda: trio.run(in_task),
    ]
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    while len(forbear._clock.waiting) < len(jobs):
        time.sleep(0.001)
    forbear.cancel_all("everybody out")
    for thread in threads:
        thread.join()
    assert ["everybody out"] * len(jobs) == ended
    with virtual_time() as clock, pytest.raises(Oops):
        retry(on=Oops, attempts=2, backoff=1).call(fail)
    assert [1.0] == clock.waits


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_cancel_all_between_attempts(way: Way) -> None:
    """A call that had begun doesn't wait any more."""

    def hook(event: Event) -> None:
        forbear.cancel_all("all")

    seen = perform(
        way,
        Scenario("all", fails("e1"), {"on": ConnectionError, "on_retry": hook, "backoff": 1}, []),
    )
    assert "Cancelled: all" == text_of(seen.error)
    assert [] == seen.waits


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_cancelled_in_a_hook(way: Way) -> None:
    """A hook that cancels: no wait begins."""
    scopes: list[forbear.Scope] = []

    def hook(event: Event) -> None:
        scopes[0].cancel("in the hook")

    def step(stage: Any) -> object:
        scopes.append(stage.scope)
        raise ConnectionError("e1")

    seen = perform(
        way, Scenario("hook", (step,), {"on": ConnectionError, "on_retry": hook, "backoff": 1}, [])
    )
    assert "Cancelled: in the hook" == text_of(seen.error)
    assert [] == seen.waits


# -- async: what runs inside is cut off


def test_an_async_scope_cuts_off_when_its_time_is_over(library: Callable[..., Any]) -> None:
    """TimeoutError, as `asyncio.timeout` and `trio.fail_after` raise it."""

    async def main() -> None:
        async with forbear.scope(timeout=0.01):
            await pause(FOR_EVER)

    with pytest.raises(TimeoutError, match=r"0\.01"):
        library(main)


def test_an_async_scope_cuts_off_when_it_is_cancelled(library: Callable[..., Any]) -> None:
    """`Cancelled`, also from another thread, while something foreign is awaited."""

    async def main() -> None:
        async with forbear.scope() as scope:
            threading.Timer(0.01, scope.cancel, ["bye"]).start()
            await pause(FOR_EVER)

    with pytest.raises(Cancelled) as caught:
        library(main)
    assert "bye" == caught.value.reason


def test_the_error_of_a_cut_names_the_last_failure(library: Callable[..., Any]) -> None:
    """When it cuts into an attempt after a failed one, that failure is the cause."""
    for cancel in (True, False):
        calls = []

        async def operation(calls: list[int] = calls) -> None:
            calls.append(1)
            if len(calls) > 1:
                await pause(FOR_EVER)
            raise Oops("first")

        async def main(cancel: bool = cancel, operation: Any = operation) -> None:
            async with forbear.scope(None if cancel else 0.02) as scope:
                if cancel:
                    threading.Timer(0.02, scope.cancel, ["bye"]).start()
                await retry(on=Oops, backoff=0).acall(operation)

        with pytest.raises(Cancelled if cancel else TimeoutError) as caught:
            library(main)
        assert "Oops: first" == text_of(caught.value.__cause__)


def test_an_async_wait_is_ended_by_the_scope(library: Callable[..., Any]) -> None:
    """A scope cancelled while a policy inside waits ends in Cancelled with the failure as its cause."""

    async def main() -> None:
        async with forbear.scope() as scope:
            threading.Timer(0.01, scope.cancel, ["bye"]).start()
            await PATIENT.acall(afail)

    with pytest.raises(Cancelled) as caught:
        library(main)
    assert ("bye", "Oops: e") == (caught.value.reason, text_of(caught.value.__cause__))


def test_a_plain_with_in_async_code_only_bounds_the_waits(library: Callable[..., Any]) -> None:
    """The attempt is not cut off; a wait inside is ended by `cancel`."""

    async def main() -> None:
        with forbear.scope(timeout=0.001) as scope:
            await pause(0.01)
            scope.cancel("bye")
            await pause(0.001)
            with pytest.raises(Cancelled):
                await PATIENT.acall(afail)

    library(main)


def test_an_error_of_the_body_stands(library: Callable[..., Any]) -> None:
    """What the body raises comes out of the scope untouched."""

    async def main() -> None:
        async with forbear.scope(timeout=FOR_EVER):
            raise Oops("own")

    with pytest.raises(Oops, match="own"):
        library(main)


def test_a_result_that_was_ready_in_time_stands(library: Callable[..., Any]) -> None:
    """A cancellation that comes after the body has ended changes nothing."""

    async def main() -> str:
        async with forbear.scope() as scope:
            result = "ready"
            scope.cancel("late")
        await pause(0.005)
        return result

    assert "ready" == library(main)


def test_scopes_inside_each_other_cut_the_right_one(library: Callable[..., Any]) -> None:
    """The inner limit ends the inner block only, the outer one both."""

    async def main() -> list[str]:
        story = []
        async with forbear.scope(timeout=FOR_EVER):
            try:
                async with forbear.scope(timeout=0.005):
                    await pause(FOR_EVER)
            except TimeoutError:
                story.append("inner")
            await pause(0)
            story.append("outer goes on")
        try:
            async with forbear.scope(timeout=0.005):
                async with forbear.scope(timeout=FOR_EVER):
                    await pause(FOR_EVER)
        except TimeoutError:
            story.append("outer")
        return story

    assert ["inner", "outer goes on", "outer"] == library(main)


def test_virtual_time_cuts_off_too(library: Callable[..., Any]) -> None:
    """With virtual time a limit fires when the clock has passed it: no real time goes by."""

    async def main() -> float:
        with virtual_time() as clock:
            with pytest.raises(TimeoutError):
                async with forbear.scope(timeout=1000.0):
                    await pause(0)
                    clock.advance(2000.0)
                    await pause(FOR_EVER)
            return clock.now()

    assert 2000.0 == library(main)


# -- whom a scope binds


def test_tasks_inherit_a_scope() -> None:
    """A task made inside keeps to it."""

    async def main() -> list[str]:
        async def child() -> str:
            try:
                await PATIENT.acall(afail)
            except Cancelled as error:
                return error.reason
            return "?"

        with forbear.scope() as scope:
            tasks = [asyncio.create_task(child()) for _ in range(3)]
            threading.Timer(0.01, scope.cancel, ["bye"]).start()
            return list(await asyncio.gather(*tasks))

    assert ["bye"] * 3 == asyncio.run(main())


def test_to_thread_inherits_a_scope() -> None:
    """`asyncio.to_thread` and `trio.to_thread` take the context with them, and so the limit."""

    async def on_asyncio() -> float | None:
        with forbear.scope(timeout=100):
            return await asyncio.to_thread(forbear.remaining)

    async def on_trio() -> float | None:
        with forbear.scope(timeout=100):
            return await trio.to_thread.run_sync(forbear.remaining)

    for left in (asyncio.run(on_asyncio()), trio.run(on_trio)):
        assert left is not None
        assert 0 < left <= 100


def test_a_wait_in_to_thread_is_woken() -> None:
    """Cancelling ends the sync wait of a thread that belongs to the scope."""

    async def main() -> str:
        with forbear.scope() as scope:
            thread = soon(lambda: scope.cancel("bye"))
            try:
                await asyncio.to_thread(PATIENT.call, fail)
            except Cancelled as error:
                thread.join()
                return error.reason
        return "?"

    assert "bye" == asyncio.run(main())


def test_executors_and_threads_do_not_inherit() -> None:
    """They have a context of their own."""
    seen: list[float | None] = []
    with forbear.scope(timeout=5), ThreadPoolExecutor(1) as pool:
        seen.append(pool.submit(forbear.remaining).result())
        thread = threading.Thread(
            target=lambda: contextvars.Context().run(lambda: seen.append(forbear.remaining()))
        )
        thread.start()
        thread.join()
    assert [None, None] == seen


def test_a_task_that_outlives_the_block_is_free() -> None:
    """Once the block is left it binds nobody: the task falls back to the next scope outwards."""

    async def main() -> list[float | None]:
        seen: list[float | None] = []
        inside, outside = asyncio.Event(), asyncio.Event()

        async def child() -> None:
            seen.append(forbear.remaining())
            inside.set()
            await outside.wait()
            seen.append(forbear.remaining())
            scope.cancel("too late")
            with virtual_time():
                with pytest.raises(Oops):
                    await retry(on=Oops, attempts=2).acall(afail)

        with virtual_time():
            with forbear.scope(timeout=50):
                with forbear.scope(timeout=5) as scope:
                    task = asyncio.create_task(child())
                    await inside.wait()
                outside.set()
                await task
        return seen

    assert [5.0, 50.0] == asyncio.run(main())


def test_a_scope_left_in_another_context_binds_nobody() -> None:
    """As an async fixture does: entered in one context, left in another."""
    scope = forbear.scope(timeout=5)
    contextvars.copy_context().run(scope.__enter__)
    scope.__exit__(None, None, None)
    assert forbear.remaining() is None


# -- other people's cancellation


@pytest.mark.parametrize("limits", [{}, {"total_timeout": 50.0}, {"attempt_timeout": 50.0}])
@pytest.mark.parametrize("during", ["attempt", "wait", "hook"])
def test_external_cancellation_is_never_swallowed(during: str, limits: dict[str, float]) -> None:
    """`task.cancel()` comes out as CancelledError, whatever `on` says, and the task counts as cancelled."""
    there = asyncio.Event()

    async def operation() -> None:
        if during == "attempt":
            there.set()
            await asyncio.sleep(FOR_EVER)
        raise Oops("e")

    async def hook(event: Event) -> None:
        if during == "hook":
            there.set()
            await asyncio.sleep(FOR_EVER)
        elif during == "wait":
            there.set()

    async def main() -> asyncio.Task[Any]:
        policy = retry(
            on=lambda error: True, backoff=FOR_EVER if not limits else 20.0, on_retry=hook, **limits
        )

        async def run() -> None:
            await policy.acall(operation)

        task = asyncio.create_task(run())
        await there.wait()
        await asyncio.sleep(0)
        task.cancel("from outside")
        await asyncio.wait([task])
        return task

    task = asyncio.run(main())
    assert task.cancelled()


@pytest.mark.parametrize("during", ["attempt", "wait"])
def test_external_cancellation_of_a_block(during: str) -> None:
    """In the block form too, with limits of its own."""

    async def main() -> asyncio.Task[None]:
        there = asyncio.Event()

        async def run() -> None:
            async for attempt in retry(
                on=Exception, backoff=20.0, total_timeout=50, attempt_timeout=50
            ):
                with attempt:
                    there.set()
                    if during == "attempt":
                        await asyncio.sleep(FOR_EVER)
                    raise Oops

        task = asyncio.create_task(run())
        await there.wait()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task

    assert asyncio.run(main()).cancelled()


@pytest.mark.parametrize("limits", [{}, {"total_timeout": 50.0}, {"attempt_timeout": 50.0}])
@pytest.mark.parametrize("during", ["attempt", "wait"])
def test_a_trio_cancel_scope_around(during: str, limits: dict[str, float]) -> None:
    """Trio's own cancellation passes through to the scope that asked for it."""

    async def operation() -> None:
        if during == "attempt":
            await trio.sleep(FOR_EVER)
        raise Oops

    async def main() -> bool:
        with trio.move_on_after(0.01) as cancel_scope:
            await retry(on=lambda error: True, backoff=20.0, **limits).acall(operation)
        return cancel_scope.cancelled_caught

    assert trio.run(main)


def test_asyncio_timeout_around(library: Callable[..., Any]) -> None:
    """A limit of the library's own around a policy works as it does around anything."""
    if library is LIBRARIES["trio"]:

        async def main() -> None:
            with trio.fail_after(0.01):
                await PATIENT.acall(afail)

        with pytest.raises(trio.TooSlowError):
            library(main)
        return

    async def amain() -> None:
        async with asyncio.timeout(0.01):
            await PATIENT.acall(afail)

    with pytest.raises(TimeoutError):
        library(amain)


def test_asyncio_timeout_inside_an_attempt_is_a_failure() -> None:
    """The TimeoutError of a limit inside the function is an error like any other."""
    calls = []

    async def operation() -> str:
        calls.append(1)
        if len(calls) < 3:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(FOR_EVER)
        return "well"

    assert "well" == asyncio.run(retry(on=TimeoutError, backoff=0).acall(operation))  # type: ignore[arg-type]


def test_both_at_once_is_cancelled_from_outside() -> None:
    """If the task was cancelled and the scope too, the outer cancellation is not lost."""

    async def main() -> asyncio.Task[None]:
        there = asyncio.Event()
        scopes = []

        async def run() -> None:
            async with forbear.scope() as scope:
                scopes.append(scope)
                there.set()
                await asyncio.sleep(FOR_EVER)

        task = asyncio.create_task(run())
        await there.wait()
        scopes[0].cancel("scope")
        task.cancel()
        await asyncio.wait([task])
        return task

    assert asyncio.run(main()).cancelled()


# -- limits of a policy on async calls


@pytest.mark.parametrize("form", ["acall", "decorator", "block"])
def test_total_timeout_cuts_an_attempt_off(library: Callable[..., Any], form: str) -> None:
    """TimeoutError with the reason "timeout", one note, and the hook is told."""
    told: list[Event] = []
    policy = retry(on=Oops, total_timeout=0.01, on_giveup=told.append, name="p")

    async def main() -> None:
        if form == "block":
            async for attempt in policy:
                with attempt:
                    await pause(FOR_EVER)
        elif form == "acall":
            await policy.acall(pause, FOR_EVER)
        else:
            await policy(pause)(FOR_EVER)

    with pytest.raises(TimeoutError) as caught:
        library(main)
    assert "timeout" == forbear.reason(caught.value)
    assert 1 == len(caught.value.__notes__)
    assert [("giveup", "timeout", 1)] == [
        (event.kind, event.reason, event.attempt) for event in told
    ]


@pytest.mark.parametrize("form", ["acall", "decorator", "block", "generator"])
def test_attempt_timeout_is_retried_whatever_on_says(
    library: Callable[..., Any], form: str
) -> None:
    """One attempt is cut off, fails with TimeoutError, and the next one begins."""
    policy = retry(on=Oops, attempt_timeout=0.005, attempts=3, backoff=0)
    calls = []

    async def operation() -> None:
        calls.append(1)
        await pause(FOR_EVER)

    async def items() -> Any:
        await operation()
        yield 1

    async def main() -> None:
        if form == "block":
            async for attempt in policy:
                with attempt:
                    await operation()
        elif form == "acall":
            await policy.acall(operation)
        elif form == "generator":
            async for _ in policy(items)():
                pass
        else:
            await policy(operation)()

    with pytest.raises(TimeoutError, match="attempt_timeout") as caught:
        library(main)
    assert 3 == len(calls)
    assert "attempts" == forbear.reason(caught.value)


def test_giveup_wins_over_attempt_timeout(library: Callable[..., Any]) -> None:
    """`giveup=TimeoutError` ends it after the first."""
    calls = []

    async def operation() -> None:
        calls.append(1)
        await pause(FOR_EVER)

    with pytest.raises(TimeoutError) as caught:
        library(retry(on=Oops, giveup=TimeoutError, attempt_timeout=0.005).acall, operation)
    assert 1 == len(calls)
    assert forbear.reason(caught.value) is None


def test_the_time_limit_binds_each_call_on_its_own() -> None:
    """Many calls of one policy at once, each with its own limit."""

    @retry(on=Oops, total_timeout=100, backoff=10, attempts=3)
    async def operation(n: int) -> float | None:
        if n not in seen:
            seen.add(n)
            raise Oops
        return forbear.remaining()

    seen: set[int] = set()

    async def main() -> list[float | None]:
        with virtual_time():
            return list(await asyncio.gather(*(operation(n) for n in range(20))))

    assert [90.0] * 20 == asyncio.run(main())
