"""Bad arguments of the strategies: each is a ConfigError that names it, its value and one that works."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from forbear import (
    ConfigError,
    Constant,
    Decorrelated,
    Delays,
    Exponential,
    Fibonacci,
    Linear,
    Polynomial,
)

# Everything that is never a number, whatever the parameter.
NO_NUMBERS: list[Any] = [
    float("nan"),
    float("inf"),
    -float("inf"),
    -1,
    -0.001,
    True,
    False,
    "1",
    b"1",
    [1],
    (),
    1j,
    10**400,
    timedelta(seconds=-1),
    ...,
    float,
]

SECONDS: list[tuple[str, Callable[[Any], Any]]] = [
    ("seconds", Constant),
    ("start", lambda bad: Linear(bad, 1)),
    ("step", lambda bad: Linear(1, bad)),
    ("base", Fibonacci),
    ("base", lambda bad: Polynomial(bad, 2)),
    ("base", Exponential),
    ("base", lambda bad: Decorrelated(bad, 1)),
    ("seconds[0]", Delays),
    ("seconds[1]", lambda bad: Delays(1, bad, then="repeat")),
]
CAPS: list[tuple[str, Callable[[Any], Any]]] = [
    ("cap", lambda bad: Linear(1, 1, cap=bad)),
    ("cap", lambda bad: Fibonacci(1, cap=bad)),
    ("cap", lambda bad: Polynomial(1, 2, cap=bad)),
    ("cap", lambda bad: Exponential(cap=bad)),
    ("cap", lambda bad: Decorrelated(1, bad)),
]
NUMBERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("factor", lambda bad: Exponential(1, bad)),
    ("power", lambda bad: Polynomial(1, bad)),
]
JITTERS: list[tuple[str, Callable[[Any], Any]]] = [
    ("jitter", lambda bad: Linear(1, 1, jitter=bad)),
    ("jitter", lambda bad: Fibonacci(1, jitter=bad)),
    ("jitter", lambda bad: Polynomial(1, 2, jitter=bad)),
    ("jitter", lambda bad: Exponential(jitter=bad)),
]


def refusal(name: str, make: Callable[[Any], Any], bad: object) -> str:
    with pytest.raises(ConfigError) as caught:
        make(bad)
    message = str(caught.value)
    assert message.startswith(f"{name} must be ")
    assert re.search(r", not .+; for example ", message, re.DOTALL)
    return message


@pytest.mark.parametrize("bad", NO_NUMBERS)
@pytest.mark.parametrize(("name", "make"), [*SECONDS, *CAPS, *NUMBERS, *JITTERS])
def test_what_is_no_number_is_refused(name: str, make: Callable[[Any], Any], bad: object) -> None:
    """NaN, infinities, negatives, booleans, texts and containers are refused everywhere."""
    refusal(name, make, bad)


@pytest.mark.parametrize(("name", "make"), [*SECONDS, *NUMBERS, *JITTERS])
def test_none_is_refused_where_no_limit_makes_no_sense(
    name: str, make: Callable[[Any], Any]
) -> None:
    """None means no limit; a duration, a factor and a jitter are no limits."""
    assert "not None" in refusal(name, make, None)


@pytest.mark.parametrize(("name", "make"), CAPS)
def test_none_lifts_a_cap(name: str, make: Callable[[Any], Any]) -> None:
    """Every cap takes None for no limit, keeps it, and says so where it refuses something."""
    assert getattr(make(None), name) is None
    assert " or None (no limit), not -1;" in refusal(name, make, -1)


@pytest.mark.parametrize("make", [make for _, make in [*SECONDS, *CAPS]])
def test_a_timedelta_is_taken_wherever_seconds_are(make: Callable[[Any], Any]) -> None:
    """90 s and timedelta(seconds=90) make the same backoff."""
    assert make(90) == make(timedelta(seconds=90))


@pytest.mark.parametrize("bad", [0, 0.0, 1.5, 2, "FULL", "", "half", timedelta(1), None])
def test_a_jitter_is_a_word_or_a_share(bad: object) -> None:
    """A share lies above 0 and at most at 1; no other word is known."""
    message = refusal("jitter", lambda jitter: Exponential(jitter=jitter), bad)
    assert 'must be "none", "full", "equal" or a number above 0 and at most 1, not ' in message


def test_a_jitter_of_zero_is_told_its_word() -> None:
    """Who writes 0 for no jitter is shown how it is said."""
    expected = (
        'jitter must be "none", "full", "equal" or a number above 0 and at most 1, not 0; '
        'for example jitter="none"'
    )
    assert expected == refusal("jitter", lambda jitter: Exponential(jitter=jitter), 0)


@pytest.mark.parametrize("bad", ["", "Stop", "end", None, True, 1, ["stop"]])
def test_delays_end_in_one_of_two_ways(bad: Any) -> None:
    """`then` is "stop" or "repeat"."""
    message = refusal("then", lambda then: Delays(1, then=then), bad)
    assert 'must be "stop" or "repeat", not ' in message


def test_delays_want_at_least_one() -> None:
    """No delays at all is `Stop()`, which says it better."""
    with pytest.raises(ConfigError, match=r"at least one .* not none; for example Delays\(0\.1, "):
        Delays()


def test_a_list_of_delays_is_told_how_to_write_them() -> None:
    """The commonest slip with `Delays` gets the right call as its example."""
    expected = (
        "seconds[0] must be a number of seconds, at least 0, not [0.1, 1]; "
        "for example Delays(0.1, 1, 10)"
    )
    assert expected == refusal("seconds[0]", Delays, [0.1, 1])


def test_settings_beyond_the_obvious_are_keyword_only() -> None:
    """Caps and jitters are named where they stand, so that a call reads aloud."""
    with pytest.raises(TypeError):
        Exponential(0.1, 2.0, 20.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Fibonacci(0.1, 20.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Linear(0.1, 1.0, 20.0)  # type: ignore[call-arg]


def test_values_of_arrays_are_refused_without_being_asked_for_their_truth() -> None:
    """An array compares element by element; a refusal must not trip over that."""
    array = np.array([1.0, 2.0])
    for name, make in [*SECONDS, *CAPS, *NUMBERS, *JITTERS]:
        refusal(name, make, array)
    refusal("then", lambda then: Delays(1, then=then), array)
