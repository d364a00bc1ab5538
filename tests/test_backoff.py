"""The strategies one by one: their first values, their ends, their bounds."""

from __future__ import annotations

import doctest
import importlib
import math
from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from statistics import mean

import pytest

import forbear
from forbear import (
    Constant,
    Decorrelated,
    Delays,
    Exponential,
    Fibonacci,
    Linear,
    Polynomial,
    Stop,
)
from forbear.backoff import spread

MAX = 1.7976931348623157e308
TOP = 1 - 2**-53  # the largest number that `random.random` gives


def no_random() -> float:
    raise AssertionError("a backoff without jitter draws no random number")


def always(u: float) -> Callable[[], float]:
    return lambda: u


def first(n: int, backoff: forbear.Backoff) -> list[float | None]:
    return [backoff.delay(i, 0.0, no_random) for i in range(1, n + 1)]


@pytest.mark.parametrize(
    "name", ["_value", "_duration", "_jitter", "_algebra", "_protocols", "backoff", "presets"]
)
def test_the_examples_in_the_docstrings_are_true(name: str) -> None:
    """Every table of first values in the reference is executed."""
    module = importlib.import_module(f"forbear.{name}")
    assert 0 == doctest.testmod(module).failed


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        (Constant(0), [0, 0, 0]),
        (Constant(1.5), [1.5, 1.5, 1.5]),
        (Stop(), [None, None]),
        (Linear(1, 2), [1, 3, 5, 7]),
        (Linear(0.5, 0), [0.5, 0.5, 0.5]),
        (Linear(1, 2, cap=4), [1, 3, 4, 4]),
        (Linear(9, 2, cap=4), [4, 4, 4]),
        (Fibonacci(0.5, jitter="none"), [0.5, 0.5, 1, 1.5, 2.5, 4, 6.5, 10.5]),
        (Fibonacci(1, cap=4, jitter="none"), [1, 1, 2, 3, 4, 4]),
        (Polynomial(2, 3, jitter="none"), [2, 16, 54, 128]),
        (Polynomial(1, 0.5, jitter="none"), [1, math.sqrt(2), math.sqrt(3), 2]),
        (Polynomial(3, 0, jitter="none"), [3, 3, 3]),
        (Polynomial(1, 2, cap=10, jitter="none"), [1, 4, 9, 10, 10]),
        (Exponential(jitter="none"), [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 20, 20]),
        (Exponential(1, 3, cap=None, jitter="none"), [1, 3, 9, 27, 81]),
        (Exponential(1, 1, jitter="none"), [1, 1, 1]),
        (Exponential(8, 0.5, jitter="none"), [8, 4, 2, 1, 0.5]),
        (Delays(0.1, 1, 10), [0.1, 1, 10, None, None]),
        (Delays(0.1, 1, then="repeat"), [0.1, 1, 1, 1]),
        (Delays(0), [0, None]),
    ],
)
def test_the_first_delays_are_those_of_the_formula(
    backoff: forbear.Backoff, expected: list[float | None]
) -> None:
    """Without jitter a delay is the formula under the cap, and no random number is drawn."""
    assert expected == first(len(expected), backoff)


def test_the_defaults_are_those_of_the_manual() -> None:
    """`Exponential()` is 0.1 s, doubled, at most 20 s, full jitter."""
    assert Exponential(0.1, 2.0, cap=20.0, jitter="full") == Exponential()


@pytest.mark.parametrize(
    ("backoff", "cap", "jitter"),
    [
        (Linear(1, 1), 86400.0, "none"),
        (Fibonacci(1), 86400.0, "full"),
        (Polynomial(1, 2), 86400.0, "full"),
    ],
)
def test_a_sequence_without_a_cap_of_its_own_never_waits_longer_than_a_day(
    backoff: Linear | Fibonacci | Polynomial, cap: float, jitter: str
) -> None:
    """Nobody waits for years because a cap was forgotten; None lifts the cap and is asked for."""
    assert (cap, jitter) == (backoff.cap, backoff.jitter)
    assert 86400.0 >= backoff.delay(10**6, 0.0, always(TOP))


def test_zero_means_zero() -> None:
    """A cap of 0, a base of 0 and a factor of 0 mean what the formula says."""
    assert [0, 0, 0] == first(3, Exponential(0.1, cap=0, jitter="none"))
    assert [0, 0, 0] == first(3, Exponential(0, jitter="none"))
    assert [0.1, 0, 0] == first(3, Exponential(0.1, 0, jitter="none"))
    assert [0, 0, 0] == first(3, Fibonacci(0, jitter="none"))
    assert [0, 0, 0] == first(3, Polynomial(0, 3, jitter="none"))
    assert 0.0 == Decorrelated(0, 5).delay(1, 0.0, always(TOP))
    assert 0.0 == Decorrelated(1, 0).delay(1, 0.0, always(TOP))


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        (Exponential(0, 10, cap=None, jitter="none"), 0.0),
        (Exponential(1, 0.5, cap=None, jitter="none"), 0.0),
        (Exponential(1, 0, cap=None, jitter="none"), 0.0),
        (Exponential(2, 1, cap=None, jitter="none"), 2.0),
        (Exponential(1, 2, cap=None, jitter="none"), MAX),
        (Exponential(1e-300, 1e300, cap=None, jitter="none"), MAX),
        (Exponential(1, 2, cap=None, jitter="full"), MAX * TOP),
        (Exponential(1, 2, cap=None, jitter=1), MAX),
        (Exponential(1, 2, cap=MAX, jitter=0.1), MAX),
        (Exponential(1, 2, cap=7, jitter="none"), 7.0),
        (Linear(1, MAX, cap=None), MAX),
        (Linear(1, MAX, cap=None, jitter=0.5), MAX),
        (Fibonacci(1, cap=None, jitter="none"), MAX),
        (Fibonacci(1, cap=None, jitter=1), MAX),
        (Fibonacci(0, cap=None, jitter="none"), 0.0),
        (Fibonacci(1, cap=3, jitter="none"), 3.0),
        (Polynomial(1, 100, cap=None, jitter="none"), MAX),
        (Polynomial(0, 100, cap=None, jitter="none"), 0.0),
        (Polynomial(1, 100, cap=3, jitter="none"), 3.0),
        (Polynomial(1e-300, 100, cap=3, jitter="none"), 3.0),
    ],
)
def test_a_million_failures_overflow_nothing(backoff: forbear.Backoff, expected: float) -> None:
    """Where the formula leaves the floats, a delay is held at the cap, or at the largest float."""
    assert expected == backoff.delay(10**6, 0.0, always(TOP))


def test_fibonacci_is_exact_up_to_the_end_of_the_floats() -> None:
    """The delays are the Fibonacci numbers, correctly rounded, up to the last that is a float."""

    def numbers() -> Iterator[int]:
        a, b = 1, 1
        while True:
            yield a
            a, b = b, a + b

    backoff = Fibonacci(1, cap=None, jitter="none")
    expected = [float(f) for f in islice(numbers(), 1476)]
    assert expected == first(1476, backoff)
    assert MAX == backoff.delay(1477, 0.0, no_random)


@pytest.mark.parametrize(
    ("jitter", "low", "high"),
    [("none", 8, 8), ("full", 0, 8), ("equal", 4, 8), (0.25, 6, 10), (1, 0, 16), (1e-9, 8, 8)],
)
def test_a_jitter_reaches_both_ends_of_its_range_and_its_middle(
    jitter: float, low: float, high: float
) -> None:
    """none, full U(0, d), equal d/2 + U(0, d/2), a number r for d * U(1 - r, 1 + r)."""
    backoff = Exponential(8, jitter=jitter)
    assert low == pytest.approx(backoff.delay(1, 0.0, always(0.0)), rel=1e-8)
    assert high == pytest.approx(backoff.delay(1, 0.0, always(TOP)), rel=1e-8)
    assert (low + high) / 2 == pytest.approx(backoff.delay(1, 0.0, always(0.5)), rel=1e-8)


@pytest.mark.parametrize("make", [Exponential, Fibonacci])
@pytest.mark.parametrize("jitter", ["full", "equal", 0.3])
def test_a_jitter_is_spread_evenly(
    make: Callable[..., Exponential | Fibonacci], jitter: float
) -> None:
    """Over many draws each tenth of the range gets its tenth of the delays."""
    backoff = make(1.0, jitter=jitter)
    low, high = backoff.delay(1, 0.0, always(0.0)), backoff.delay(1, 0.0, always(TOP))
    chance = Random("evenly").random
    tenths = [0] * 10
    for _ in range(10_000):
        share = (backoff.delay(1, 0.0, chance) - low) / (high - low)
        tenths[min(9, int(share * 10))] += 1
    assert min(tenths) > 850
    assert max(tenths) < 1150


@pytest.mark.parametrize("r", [i / 100 for i in range(1, 101)])
def test_no_rounding_carries_a_share_out_of_its_range(r: float) -> None:
    """A delay of jitter r lies within d * (1 - r) and d * (1 + r) to the last bit."""
    chance = Random(f"share:{r}").random
    backoff = Exponential(0.1, 1.0, jitter=r)
    draws = [always(0.0), always(TOP), *[always(chance()) for _ in range(50)]]
    delays = [backoff.delay(1, 0.0, draw) for draw in draws]
    assert 0.1 * (1 - r) <= min(delays)
    assert max(delays) <= 0.1 * (1 + r)


def test_the_cap_comes_before_the_jitter() -> None:
    """In a long outage fewer than 1 % of the delays are exactly the cap, and they stay spread."""
    chance = Random("a long outage").random
    delays = list(Exponential(0.1, cap=20.0).take(5000).delays(random=chance))
    assert sum(delay == 20.0 for delay in delays) < 50
    assert 0.5 * 20 == pytest.approx(mean(delays), rel=0.05)


def test_a_share_of_jitter_may_pass_the_cap_by_that_share() -> None:
    """The cap bounds the delay before jitter: 60 s and ±50 % make 90 s at most."""
    assert 90.0 == pytest.approx(Exponential(1, cap=60, jitter=0.5).delay(99, 0.0, always(TOP)))


def test_decorrelated_is_drawn_between_the_base_and_three_times_the_delay_before() -> None:
    """uniform(base, min(cap, 3 * max(previous, base))), whatever the count."""
    backoff = Decorrelated(1, 20)
    for failures in (1, 7, 10**6):
        for previous, high in [(0.0, 3), (0.5, 3), (1.0, 3), (2.0, 6), (10.0, 20), (1e308, 20)]:
            assert 1.0 == backoff.delay(failures, previous, always(0.0))
            assert high == pytest.approx(backoff.delay(failures, previous, always(TOP)))


def test_decorrelated_is_redrawn_inside_the_cap_and_not_clipped() -> None:
    """In a long outage fewer than 1 % of the delays are exactly the cap; clipping makes a third."""
    chance = Random("decorrelated").random
    delays = list(Decorrelated(0.1, 5).take(5000).delays(random=chance))
    assert sum(delay == 5.0 for delay in delays) < 50
    assert max(delays) <= 5.0
    assert min(delays) >= 0.1


def test_decorrelated_with_a_base_above_the_cap_is_the_cap() -> None:
    """As everywhere, the cap wins over the base at once."""
    assert [2.0] * 4 == list(Decorrelated(5, 2).take(4).delays(random=always(0.7)))


def test_decorrelated_without_a_cap_is_finite_for_ever() -> None:
    """Three times the largest float is no float; the delay is held at the largest."""
    delays = list(Decorrelated(1, None).take(2000).delays(random=always(TOP)))
    assert MAX >= delays[-1] >= MAX * 0.99


def test_delays_carries_the_delay_before() -> None:
    """A run of `delays` hands each delay to the next question."""
    actual = list(Decorrelated(1, 100).take(4).delays(random=always(0.5)))
    assert [2.0, 3.5, 5.75, 9.125] == actual


def test_two_runs_at_a_time_do_not_disturb_each_other() -> None:
    """A backoff holds no state, so runs of the same object are independent."""
    backoff = Decorrelated(1, 100)
    one, two = backoff.delays(random=always(0.5)), backoff.delays(random=always(0.5))
    assert [2.0, 3.5] == [next(one), next(one)]
    assert 2.0 == next(two)
    assert 5.75 == next(one)


def test_delays_draws_from_the_process_if_nothing_else_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an argument `delays` asks `random.random`, looked up when it draws."""
    monkeypatch.setattr("random.random", always(0.25))
    assert [0.25, 0.5, 1.0] == list(Exponential(1).take(3).delays())


def test_spread_gives_the_bounds_and_the_middle_of_each_delay() -> None:
    """Each column is a run of its own with chance at 0, a half, and just below 1."""
    rows = spread(Decorrelated(1, 20), 3)
    expected = [(1, 2, 3), (1, 3.5, 9), (1, 5.75, 20)]
    assert expected == [pytest.approx(row) for row in rows]
    assert [(1, 1, 1), (2, 2, 2)] == spread(Delays(1, 2), 10)
    assert [] == spread(Stop(), 10)
    assert [] == spread(Exponential(), 0)


def test_spread_asks_any_object_with_a_delay() -> None:
    """It works for backoffs of a user's own; rows end where any of the runs stops."""

    class Impatient:
        def delay(
            self, failures: int, previous: float, random: Callable[[], float]
        ) -> float | None:
            delay = failures + random()
            return None if delay > 2.9 else delay

    assert [pytest.approx((1, 1.5, 2))] == spread(Impatient(), 5)
