"""Tickers: the first tick at once, delays that run while the body works, and every way they end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import forbear
from forbear import Cancelled, Constant, Delays, Exponential, Stop, Tick, Ticker
from forbear.testing import virtual_time

from ways import LIBRARIES

DOUBLING = Exponential(1.0, factor=2.0, cap=60.0, jitter="none")

Consumer = Callable[[Ticker, Callable[[Tick], bool]], None]


def plain(ticker: Ticker, body: Callable[[Tick], bool]) -> None:
    """Take ticks until the body has enough."""
    for tick in ticker:
        if body(tick):
            break


def on_library(run: Callable[..., Any]) -> Consumer:
    """The same in a task."""

    def consume(ticker: Ticker, body: Callable[[Tick], bool]) -> None:
        async def main() -> None:
            async for tick in ticker:
                if body(tick):
                    break

        run(main)

    return consume


CONSUMERS = {"plain": plain} | {name: on_library(run) for name, run in LIBRARIES.items()}


@pytest.fixture(params=CONSUMERS)
def consume(request: pytest.FixtureRequest) -> Consumer:
    """Take ticks plain, on asyncio, on trio."""
    return CONSUMERS[request.param]


def ticks_at(consume: Consumer, ticker: Ticker, clock: Any, *busy: float) -> list[float]:
    """Take ticks whose bodies last so long, and return when they came."""
    times: list[float] = []
    left = list(busy)

    def body(tick: Tick) -> bool:
        assert len(times) + 1 == tick.number
        times.append(tick.at)
        if not left:
            return True
        clock.advance(left.pop(0))
        return False

    consume(ticker, body)
    return times


def test_ticks_come_after_the_delays_of_the_backoff(consume: Consumer) -> None:
    """The first at once."""
    with virtual_time(start=100.0) as clock:
        assert [100.0, 101.0, 103.0, 107.0] == ticks_at(consume, Ticker(DOUBLING), clock, 0, 0, 0)


def test_the_delay_runs_while_the_body_works(consume: Consumer) -> None:
    """A body shorter than the delay doesn't add to it; a longer one finds the next tick waiting, once."""
    with virtual_time() as clock:
        assert [0.0, 10.0, 20.0] == ticks_at(consume, Ticker(10), clock, 6, 9)
    with virtual_time() as clock:
        assert [0.0, 35.0, 45.0, 55.0] == ticks_at(consume, Ticker(10), clock, 35, 0, 0)


def test_a_long_body_starts_the_backoff_anew(consume: Consumer) -> None:
    """`reset_after`: a connection that held longer was a success; exactly as long was not."""
    with virtual_time() as clock:
        times = ticks_at(consume, Ticker(DOUBLING, reset_after=60), clock, 0, 0, 0, 61, 0)
    assert [0.0, 1.0, 3.0, 7.0, 68.0, 70.0] == times
    with virtual_time() as clock:
        times = ticks_at(
            consume, Ticker(DOUBLING, reset_after=timedelta(minutes=1)), clock, 0, 0, 0, 60, 0
        )
    assert [0.0, 1.0, 3.0, 7.0, 67.0, 83.0] == times


def test_it_ends_when_the_backoff_stops(consume: Consumer) -> None:
    """And stays ended."""
    for backoff, count in ((Stop(), 1), (Delays(1, 2), 3), (Constant(0).take(4), 5)):
        numbers: list[int] = []
        with virtual_time():
            ticker = Ticker(backoff)
            consume(ticker, lambda tick, numbers=numbers: numbers.append(tick.number))  # type: ignore[misc]
            assert [] == list(ticker)
        assert list(range(1, count + 1)) == numbers


def test_it_ends_when_the_time_of_the_scope_is_over(consume: Consumer) -> None:
    """No wait begins that would end after the limit; equal still waits."""
    for limit, count in ((3.5, 4), (3.0, 4), (2.9, 3)):
        numbers: list[int] = []
        with virtual_time(), forbear.scope(timeout=limit):
            consume(Ticker(1), lambda tick, numbers=numbers: numbers.append(tick.number))  # type: ignore[misc]
        assert count == len(numbers)


def test_it_raises_in_a_cancelled_scope(consume: Consumer) -> None:
    """Before the first tick, and between two."""
    with virtual_time(), forbear.scope() as scope:
        scope.cancel("bye")
        with pytest.raises(Cancelled, match="bye"):
            consume(Ticker(1), lambda tick: False)
    with virtual_time(), forbear.scope() as scope:
        with pytest.raises(Cancelled, match="bye"):
            consume(Ticker(1), lambda tick: scope.cancel("bye"))  # type: ignore[func-returns-value, arg-type, return-value]


def _when_waiting(action: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        while not forbear._clock.waiting:
            time.sleep(0.001)
        action()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_cancel_wakes_its_wait(consume: Consumer) -> None:
    """From another thread, while it waits."""
    with forbear.scope() as scope:
        thread = _when_waiting(lambda: scope.cancel("bye"))
        with pytest.raises(Cancelled, match="bye"):
            consume(Ticker(3600), lambda tick: False)
        thread.join()


def test_stop_ends_it_at_once(consume: Consumer) -> None:
    """From any thread, while it waits; twice is fine."""
    ticker = Ticker(3600)
    thread = _when_waiting(lambda: (ticker.stop(), ticker.stop()))
    numbers: list[int] = []
    consume(ticker, lambda tick: numbers.append(tick.number))  # type: ignore[func-returns-value, arg-type, return-value]
    thread.join()
    assert [1] == numbers
    assert set() == forbear._clock.waiting


def test_stop_from_the_body(consume: Consumer) -> None:
    """And before the first tick."""
    ticker = Ticker(0)
    numbers: list[int] = []
    consume(
        ticker, lambda tick: numbers.append(tick.number) or (tick.number == 3 and ticker.stop())
    )  # type: ignore[func-returns-value]
    assert [1, 2, 3] == numbers
    never = Ticker(0)
    never.stop()
    consume(never, lambda tick: pytest.fail("a tick after stop"))


def test_it_keeps_the_clock_of_where_it_was_made() -> None:
    """A ticker made in virtual time is virtual everywhere."""
    with virtual_time() as clock:
        ticker = Ticker(3600)
    assert [1, 2, 3] == [tick.number for tick, _ in zip(ticker, range(3), strict=False)]
    assert 3600.0 <= clock.now()


def test_zero_delays_do_not_sleep(consume: Consumer) -> None:
    """Nothing is recorded for them."""
    with virtual_time() as clock:
        ticks_at(consume, Ticker(0), clock, 0, 0, 0)
    assert [] == clock.waits


def test_an_abandoned_ticker_leaves_nothing() -> None:
    """No thread runs for it, so there is nothing to leak."""
    before = threading.active_count()
    for _ in range(100):
        for tick in Ticker(3600):
            assert 1 == tick.number
            break
    assert before == threading.active_count()
    assert set() == forbear._clock.waiting


def test_in_an_async_scope_the_loop_ends_before_it_is_cut_off() -> None:
    """A tick that would come too late is not waited for; a body that takes too long is cut off."""

    async def loop() -> list[float]:
        async with forbear.scope(timeout=5):
            return [tick.at async for tick in Ticker(2)]

    async def body() -> None:
        async with forbear.scope(timeout=0.01):
            async for _ in Ticker(2):
                await asyncio.get_running_loop().create_future()

    with virtual_time():
        assert [0.0, 2.0, 4.0] == asyncio.run(loop())
    with pytest.raises(TimeoutError):
        asyncio.run(body())


def test_it_takes_seconds_or_a_backoff() -> None:
    """As `backoff` does everywhere."""
    with virtual_time() as clock:
        for backoff in (2, 2.0, timedelta(seconds=2), Constant(2)):
            ticks_at(plain, Ticker(backoff), clock, 0)
    assert [2.0] * 4 == clock.waits


def test_tickers_and_ticks_show_what_they_are() -> None:
    """For whoever prints one."""
    with virtual_time(5) as clock:
        ticker = Ticker(Constant(2).take(1))
        assert "<ticker of Constant(seconds=2.0).take(1), tick 0>" == repr(ticker)
        assert ["Tick(1, at=5)", "Tick(2, at=7)"] == [repr(tick) for tick in ticker]
        assert "<ticker of Constant(seconds=2.0).take(1), stopped>" == repr(ticker)
    assert [2.0] == clock.waits
