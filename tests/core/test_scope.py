"""Time limits and cancellation that travel: how much time is left, and what ends a wait."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
import trio

import forbear
from forbear import Cancelled, Event, Ticker, retry
from forbear.testing import virtual_time

from drivers import Scenario, fails, perform, text_of
from patience import FOR_EVER, PATIENT, Oops, afail, fail, soon
from processes import signalled
from ways import LIBRARIES, WAYS, Way


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


@contextlib.contextmanager
def on_signal(action: Callable[[], object]) -> Iterator[None]:
    """Have something done by a signal handler, as soon as somebody waits in the block."""
    before = signal.signal(signal.SIGUSR1, lambda number, frame: action())
    try:
        with signalled(signal.SIGUSR1):
            yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_cancel_from_a_signal_handler() -> None:
    """The handler runs in the very thread that waits, and wakes it."""
    with forbear.scope() as scope, pytest.raises(Cancelled, match="signal"):
        with on_signal(lambda: scope.cancel("signal")):
            PATIENT.call(fail)


def test_cancel_all_from_a_signal_handler() -> None:
    """For shutdown handlers; no scope is needed."""
    with pytest.raises(Cancelled, match="shutting down"):
        with on_signal(lambda: forbear.cancel_all("shutting down")):
            PATIENT.call(fail)


def test_stop_a_ticker_from_a_signal_handler() -> None:
    """A ticker's wait is woken in the same way."""
    ticker = Ticker(FOR_EVER)
    with on_signal(ticker.stop):
        assert 1 == len(list(ticker))


def test_a_timer_signal_cancels(library: Callable[..., Any]) -> None:
    """`setitimer` in a program with an event loop: the handler cancels the scope of a task."""
    before = signal.getsignal(signal.SIGALRM)

    async def main() -> None:
        async with forbear.scope() as scope:
            signal.signal(signal.SIGALRM, lambda number, frame: scope.cancel("alarm"))
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.5)
            await PATIENT.acall(afail)

    try:
        with pytest.raises(Cancelled, match="alarm"):
            library(main)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_signal_handler_that_raises_ends_the_wait() -> None:
    """Ctrl-C in a wait: KeyboardInterrupt comes out, at once and untouched."""
    with pytest.raises(KeyboardInterrupt) as caught, signalled(signal.SIGINT):
        PATIENT.call(fail)
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
