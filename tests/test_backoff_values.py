"""Backoffs as values, and what holds for all of them: properties over arbitrary ones."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    max_of,
)
from forbear._value import Value

MAX = 1.7976931348623157e308
TOP = 1 - 2**-53

SECONDS = st.one_of(st.floats(0, 1e4), st.floats(0, MAX), st.integers(0, 1000))
CAPS = st.one_of(st.none(), SECONDS)
SHARES = st.floats(0, 1, exclude_min=True)
JITTERS = st.one_of(st.sampled_from(["none", "full", "equal"]), SHARES)
FACTORS = st.one_of(st.floats(0, 4), st.floats(0, MAX))
DRAWS = st.one_of(st.floats(0, TOP), st.sampled_from([0.0, 0.5, TOP]))
COUNTS = st.one_of(st.integers(1, 50), st.integers(1, 10**6), st.just(10**6))

SIMPLE: st.SearchStrategy[Any] = st.one_of(
    st.builds(Constant, SECONDS),
    st.builds(Stop),
    st.builds(Linear, SECONDS, SECONDS, cap=CAPS, jitter=JITTERS),
    st.builds(Fibonacci, SECONDS, cap=CAPS, jitter=JITTERS),
    st.builds(Polynomial, SECONDS, st.floats(0, 500), cap=CAPS, jitter=JITTERS),
    st.builds(Exponential, SECONDS, FACTORS, cap=CAPS, jitter=JITTERS),
    st.builds(Decorrelated, SECONDS, CAPS),
    st.builds(
        lambda delays, then: Delays(*delays, then=then),
        st.lists(SECONDS, min_size=1, max_size=4),
        st.sampled_from(["stop", "repeat"]),
    ),
)
BACKOFFS: st.SearchStrategy[Any] = st.recursive(
    SIMPLE,
    lambda parts: st.one_of(
        st.builds(lambda a, n: a.take(n), parts, st.integers(0, 5)),
        st.builds(lambda a, n, b: a.take(n).then(b), parts, st.integers(0, 5), parts),
        st.builds(lambda a: max_of(*a), st.lists(parts, min_size=1, max_size=3)),
    ),
    max_leaves=4,
)

EXAMPLES: list[Any] = [
    Constant(1.5),
    Stop(),
    Linear(1, 2, cap=9),
    Fibonacci(0.5),
    Polynomial(1, 4, jitter=0.5),
    Exponential(0.5, 2.0, cap=122.0, jitter="equal"),
    Decorrelated(0.1, None),
    Delays(0.1, 1, then="repeat"),
    Exponential().take(3),
    Delays(1, 2).then(Exponential()),
    max_of(Constant(1), Exponential()),
]


def no_random() -> float:
    raise AssertionError("a backoff without jitter draws no random number")


@given(BACKOFFS, COUNTS, SECONDS, DRAWS)
@settings(max_examples=500)
def test_a_delay_is_finite_and_never_negative(
    backoff: forbear.Backoff, n: int, previous: float, u: float
) -> None:
    """For every backoff, count up to a million, delay before and chance: None, or 0 <= delay < inf."""
    delay = backoff.delay(n, float(previous), lambda: u)
    assert delay is None or 0.0 <= delay <= MAX


@given(
    st.one_of(
        st.builds(Linear, SECONDS, SECONDS, cap=SECONDS, jitter=JITTERS),
        st.builds(Fibonacci, SECONDS, cap=SECONDS, jitter=JITTERS),
        st.builds(Polynomial, SECONDS, st.floats(0, 500), cap=SECONDS, jitter=JITTERS),
        st.builds(Exponential, SECONDS, FACTORS, cap=SECONDS, jitter=JITTERS),
        st.builds(Decorrelated, SECONDS, SECONDS),
    ),
    COUNTS,
    SECONDS,
    DRAWS,
)
@settings(max_examples=300)
def test_no_delay_passes_the_cap_but_by_a_share_of_jitter(
    backoff: Any, n: int, previous: float, u: float
) -> None:
    """The cap is a promise; only a jitter of r may pass it, by that share of it."""
    jitter = getattr(backoff, "jitter", "none")
    most = backoff.cap * (1 + jitter) if isinstance(jitter, float) else backoff.cap
    assert backoff.delay(n, float(previous), lambda: u) <= most


@given(
    st.one_of(
        st.builds(Linear, SECONDS, SECONDS, cap=CAPS),
        st.builds(Fibonacci, SECONDS, cap=CAPS, jitter=st.just("none")),
        st.builds(Polynomial, SECONDS, st.floats(0, 500), cap=CAPS, jitter=st.just("none")),
        st.builds(Exponential, SECONDS, st.floats(1, MAX), cap=CAPS, jitter=st.just("none")),
    ),
    COUNTS,
    COUNTS,
)
def test_before_jitter_a_later_delay_is_never_shorter(backoff: Any, n: int, m: int) -> None:
    """Every growing sequence is monotone, through the cap and the end of the floats."""
    early, late = sorted((n, m))
    assert backoff.delay(early, 0.0, no_random) <= backoff.delay(late, 0.0, no_random)


@given(SECONDS, FACTORS, CAPS, SHARES, COUNTS, DRAWS)
def test_a_jitter_stays_within_its_range_of_the_plain_delay(
    base: float, factor: float, cap: float | None, r: float, n: int, u: float
) -> None:
    """Full is U(0, d), equal d/2 + U(0, d/2), r is d * U(1 - r, 1 + r), of the capped delay d."""

    def delay(jitter: Any) -> float:
        return Exponential(base, factor, cap=cap, jitter=jitter).delay(n, 0.0, lambda: u)

    plain = delay("none")
    assert 0.0 <= delay("full") <= plain
    assert 0.5 * plain <= delay("equal") <= plain
    assert plain * (1 - r) <= delay(r) <= min(MAX, plain * (1 + r))


@given(BACKOFFS, st.lists(DRAWS, min_size=200, max_size=200))
@settings(max_examples=50)
def test_the_same_chance_gives_the_same_delays(backoff: Any, draws: list[float]) -> None:
    """A backoff is a pure function: a run can be replayed from its random numbers."""

    def replay(b: Any) -> list[float]:
        chance = iter(draws * 10).__next__
        return list(b.take(20).delays(random=chance))

    assert replay(backoff) == replay(backoff) == replay(pickle.loads(pickle.dumps(backoff)))


@given(BACKOFFS)
def test_a_backoff_survives_pickle_copy_and_repr(backoff: Any) -> None:
    """Every round trip gives an equal backoff with the same hash and repr."""
    names = {name: getattr(forbear, name) for name in forbear.__all__}
    twins = [pickle.loads(pickle.dumps(backoff, protocol)) for protocol in range(6)]
    twins += [copy.copy(backoff), copy.deepcopy(backoff), eval(repr(backoff), names)]
    for twin in twins:
        assert backoff == twin
        assert hash(backoff) == hash(twin)
        assert repr(backoff) == repr(twin)


@given(BACKOFFS, BACKOFFS)
def test_equal_backoffs_have_equal_reprs_and_hashes(a: Any, b: Any) -> None:
    """By value means: what shows the same is the same."""
    assert (a == b) == (repr(a) == repr(b))
    if a == b:
        assert hash(a) == hash(b)


def test_backoffs_compare_by_value_within_their_type() -> None:
    """Equal numbers make equal backoffs, however they are written; another formula is another."""
    assert Exponential(1, cap=60) == Exponential(1.0, 2, cap=timedelta(minutes=1), jitter="full")
    assert Exponential(1) != Exponential(2)
    assert Exponential(1, jitter="full") != Exponential(1, jitter="equal")
    assert Exponential(jitter=1) == Exponential(jitter=1.0)
    assert Constant(1) != Delays(1, then="repeat")
    assert Delays(1) != Delays(1, then="repeat")
    assert Constant(1).take(1) != Constant(1).take(2)
    assert Constant(1) != 1
    assert 1 == len({Exponential(), Exponential(0.1), Exponential(factor=2)})
    for i, one in enumerate(EXAMPLES):
        for j, other in enumerate(EXAMPLES):
            assert (i == j) == (one == other)


@pytest.mark.parametrize(
    ("backoff", "expected"),
    [
        (Constant(1), "Constant(seconds=1.0)"),
        (Stop(), "Stop()"),
        (Linear(1, 2), "Linear(start=1.0, step=2.0, cap=86400.0, jitter='none')"),
        (Fibonacci(1), "Fibonacci(base=1.0, cap=86400.0, jitter='full')"),
        (
            Polynomial(1, 4, cap=None),
            "Polynomial(base=1.0, power=4.0, cap=None, jitter='full')",
        ),
        (Exponential(), "Exponential(base=0.1, factor=2.0, cap=20.0, jitter='full')"),
        (Exponential(jitter=0.5), "Exponential(base=0.1, factor=2.0, cap=20.0, jitter=0.5)"),
        (Decorrelated(1, 9), "Decorrelated(base=1.0, cap=9.0)"),
        (Delays(0.1, 1), "Delays(0.1, 1.0, then='stop')"),
        (
            max_of(1, Delays(2).then(Constant(3))).take(2),
            (
                "max_of(Constant(seconds=1.0), "
                "Delays(2.0, then='stop').then(Constant(seconds=3.0))).take(2)"
            ),
        ),
    ],
)
def test_a_repr_is_the_call_that_makes_it(backoff: forbear.Backoff, expected: str) -> None:
    """All fields are shown, in the order of the constructor, combinators as they are written."""
    assert expected == repr(backoff)


@pytest.mark.parametrize("backoff", EXAMPLES, ids=lambda b: type(b).__name__)
def test_a_backoff_is_frozen(backoff: Any) -> None:
    """No attribute can be set, added or deleted, and the message says why."""
    for name in (*backoff.__match_args__, "brand_new"):
        with pytest.raises(AttributeError, match=f"is frozen, so {name} can't be set"):
            setattr(backoff, name, 1)
    for name in backoff.__match_args__:
        with pytest.raises(AttributeError, match=f"is frozen, so {name} can't be deleted"):
            delattr(backoff, name)
    assert not hasattr(backoff, "__dict__")


def test_a_copy_is_the_same_object() -> None:
    """A value has nothing that one holder could change under another, so copies share it."""
    for backoff in EXAMPLES:
        assert backoff is copy.copy(backoff)
        assert backoff is copy.deepcopy([backoff])[0]


def test_a_backoff_can_be_matched() -> None:
    """Fields are matched by position, in the order of the constructor."""
    match Exponential(0.5, 3, cap=None, jitter=0.25):
        case Exponential(base, factor, cap, jitter):
            assert (0.5, 3.0, None, 0.25) == (base, factor, cap, jitter)
        case _:
            pytest.fail("not matched")


class Gentle(Exponential):
    """A user's own preset by inheritance: a constructor of another shape."""

    def __init__(self) -> None:
        super().__init__(1.0, 1.5, cap=30.0, jitter="equal")


def test_a_subclass_with_a_constructor_of_its_own_survives_pickling() -> None:
    """Only the fields travel, and the inherited constructor takes them."""
    twin = pickle.loads(pickle.dumps(Gentle()))
    assert Gentle() == twin
    assert Gentle is type(twin)
    assert Exponential(1.0, 1.5, cap=30.0, jitter="equal") != twin


class Point(Value):
    __slots__ = ("x",)
    __match_args__ = ("x",)
    x: float

    def __init__(self, x: float) -> None:
        self._set(x=x)


def test_a_value_is_unequal_to_what_it_does_not_know() -> None:
    """Comparing with a stranger leaves the answer to the stranger."""

    class Everything:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__: Callable[..., int] = object.__hash__

    assert Point(1) != (1,)
    assert Point(1) == Everything()
