"""Virtual time on threads: waits take no time, are recorded, and only forbear's own are touched."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from datetime import timedelta

import pytest

import forbear
from forbear import Cancelled, ConfigError, Constant, Exponential, Ticker, retry
from forbear.testing import VirtualClock, virtual_time

DOUBLING = Exponential(1.0, cap=None, jitter="none")


class Oops(Exception):
    """What fails here."""


def fail() -> None:
    raise Oops


def give_up(delay: object = DOUBLING, attempts: int = 2, **given: object) -> str | None:
    """Retry to the end, and return why it ended."""
    with pytest.raises((Oops, Cancelled)) as caught:
        retry(on=Oops, attempts=attempts, backoff=delay, **given).call(fail)  # type: ignore[arg-type]
    return forbear.reason(caught.value)


def in_a_thread(call: Callable[[], object]) -> threading.Thread:
    """Start a thread, which inherits no context."""
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def until(condition: Callable[[], object]) -> None:
    """Look again and again until something holds; the test hangs if it never does."""
    while not condition():
        time.sleep(0.0005)


def test_waits_take_no_time_and_are_recorded() -> None:
    """The clock jumps to the end of each wait."""
    with virtual_time() as clock:
        give_up(attempts=20)
        assert [2.0**n for n in range(19)] == clock.waits
        assert 2.0**19 - 1 == clock.now()


def test_it_starts_where_it_is_told() -> None:
    """At zero if nothing is said; a timedelta is seconds."""
    with virtual_time() as clock:
        assert 0.0 == clock.now()
    with virtual_time(1000) as clock:
        give_up(5)
        assert 1005.0 == clock.now()
    with virtual_time(timedelta(hours=1)) as clock:
        assert 3600.0 == clock.now()
        assert "<virtual clock at 3600 s, 0 waits>" == repr(clock)


def test_a_delay_of_zero_is_no_wait() -> None:
    """What isn't slept isn't recorded."""
    with virtual_time() as clock:
        give_up(0, attempts=10)
    assert [] == clock.waits


def test_advance_moves_the_clock() -> None:
    """As if the work itself had taken so long."""
    with virtual_time() as clock, forbear.scope(timeout=10):
        clock.advance(3)
        clock.advance(timedelta(seconds=4))
        clock.advance(0)
        assert 7.0 == clock.now()
        assert 3.0 == forbear.remaining()
        with pytest.raises(ConfigError, match="seconds"):
            clock.advance(-1)


def test_limits_keep_virtual_time() -> None:
    """An hour's limit is over after an hour of waits."""
    with virtual_time() as clock:
        assert "timeout" == give_up(Constant(600), attempts=1000, total_timeout=3600)
        assert [600.0] * 6 == clock.waits


def test_other_sleeps_stay_real() -> None:
    """Only the waits that forbear begins are virtual."""
    with virtual_time() as clock:
        start = time.monotonic()
        time.sleep(0.01)
        assert time.monotonic() - start >= 0.01
        threading.Event().wait(0.001)
        assert 0.0 == clock.now()
    assert [] == clock.waits


def test_it_ends_with_its_block() -> None:
    """Also when the block raises."""
    with pytest.raises(Oops), virtual_time() as clock:
        fail()
    give_up(0.001)
    assert [] == clock.waits


def test_it_is_entered_once() -> None:
    """Make another one for another block."""
    time_of_one_block = virtual_time()
    with time_of_one_block, pytest.raises(ConfigError):
        time_of_one_block.__enter__()


def test_nested_each_block_has_its_own_clock() -> None:
    """Inside the inner one nothing is seen of the outer one, which goes on where it was."""
    with virtual_time() as outer:
        give_up(1)
        with virtual_time(100) as inner:
            give_up(2)
            assert 102.0 == inner.now()
        give_up(4)
    assert [1.0, 4.0] == outer.waits
    assert [2.0] == inner.waits


def test_a_limit_around_keeps_the_clock_it_began_with() -> None:
    """A real limit is not over because a virtual hour has passed inside it, nor may a virtual hour be waited."""
    with forbear.scope(timeout=100), virtual_time() as clock:
        clock.advance(3600)
        left = forbear.remaining()
        assert left is not None
        assert 0 < left <= 100
        assert "timeout" == give_up(3600)


def test_it_is_of_this_context_alone() -> None:
    """Threads don't inherit it; who runs in a copy of the context does."""
    with virtual_time() as clock:
        in_a_thread(lambda: give_up(0.001)).join()
        assert [] == clock.waits
        context = contextvars.copy_context()
        in_a_thread(lambda: context.run(give_up, 3600)).join()
        assert [3600.0] == clock.waits


# -- everywhere


def test_everywhere_is_every_thread() -> None:
    """For code under test that starts its own."""
    with virtual_time(everywhere=True) as clock:
        in_a_thread(lambda: give_up(3600)).join()
        give_up(60)
    assert [3600.0, 60.0] == clock.waits
    in_a_thread(lambda: give_up(0.001)).join()
    assert 2 == len(clock.waits)


def test_everywhere_nested_goes_back_to_the_outer_one() -> None:
    """The innermost counts, and the end of its block gives the place back."""
    with virtual_time(everywhere=True) as outer:
        with virtual_time(everywhere=True) as inner:
            in_a_thread(lambda: give_up(1)).join()
        in_a_thread(lambda: give_up(2)).join()
    assert [2.0] == outer.waits
    assert [1.0] == inner.waits


def test_a_local_clock_inside_everywhere_counts_in_its_context() -> None:
    """What is nearer wins."""
    with virtual_time(everywhere=True) as outer, virtual_time() as inner:
        give_up(1)
        in_a_thread(lambda: give_up(2)).join()
    assert ([2.0], [1.0]) == (outer.waits, inner.waits)


# -- auto=False: time moves by hand


def waiting(clock: VirtualClock, number: int) -> Callable[[], bool]:
    return lambda: len(clock.waits) == number and len(forbear._clock.waiting) == number


def test_by_hand_a_wait_blocks_until_the_clock_has_passed_it() -> None:
    """Half of it isn't enough."""
    ended = threading.Event()
    with virtual_time(auto=False, everywhere=True) as clock:

        def work() -> None:
            give_up(10)
            ended.set()

        thread = in_a_thread(work)
        until(waiting(clock, 1))
        clock.advance(9.999)
        assert not ended.wait(0.005)
        clock.advance(0.001)
        assert ended.wait(10)
        thread.join()
        assert 10.0 == clock.now()


def test_by_hand_waits_end_in_their_order() -> None:
    """One big step ends each at its own time, in the order of the ends and not of the beginnings."""
    ends: list[float] = []
    with virtual_time(auto=False, everywhere=True) as clock:

        def work(delay: float) -> None:
            with pytest.raises(Oops):
                retry(on=Oops, attempts=2, backoff=delay).call(fail)
            ends.append(delay)

        threads = []
        for number, delay in enumerate((30, 10, 20), 1):
            threads.append(in_a_thread(lambda delay=delay: work(delay)))  # type: ignore[misc]
            until(waiting(clock, number))
        for step in (10, 10, 10):
            before = len(ends)
            clock.advance(step)
            until(lambda before=before: len(ends) > before)  # type: ignore[misc]
        for thread in threads:
            thread.join()
    assert [10, 20, 30] == ends
    assert [30.0, 10.0, 20.0] == clock.waits


def test_by_hand_a_cancelled_wait_ends() -> None:
    """Whoever cancels needs no clock."""
    told: list[str | None] = []
    with virtual_time(auto=False, everywhere=True) as clock:
        thread = in_a_thread(lambda: told.append(give_up(10)))
        until(waiting(clock, 1))
        forbear.cancel_all("bye")
        thread.join()
    assert ["cancelled"] == told
    assert 0.0 == clock.now()


def test_by_hand_time_may_pass_before_a_wait_begins() -> None:
    """A wait begins when it begins, not when the test does."""
    with virtual_time(auto=False, everywhere=True) as clock:
        clock.advance(100)
        thread = in_a_thread(lambda: give_up(10))
        until(waiting(clock, 1))
        clock.advance(10)
        thread.join()
    assert 110.0 == clock.now()


# -- what is made where


def test_a_ticker_keeps_the_clock_of_where_it_was_made() -> None:
    """Made inside and run outside, made outside and run inside: the place of its making counts."""
    real = Ticker(Constant(0.001).take(1))
    with virtual_time() as clock:
        virtual = Ticker(Constant(3600).take(2))
        assert 2 == len(list(real))
        assert [] == clock.waits
    assert [0.0, 3600.0, 7200.0] == [tick.at for tick in virtual]
    assert [3600.0, 3600.0] == clock.waits


def test_a_scope_made_outside_and_entered_inside_keeps_virtual_time() -> None:
    """A limit begins when it is entered."""
    scope = forbear.scope(timeout=10)
    with virtual_time() as clock, scope:
        clock.advance(4)
        assert 6.0 == forbear.remaining()
