"""Numbers and durations at the edge: what is taken, what is refused, and in which words."""

from __future__ import annotations

import sys
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forbear import ConfigError
from forbear._duration import count, number, seconds, shown

NAN = float("nan")
INF = float("inf")


class RaisesOnRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no text for you")


class ManyLines:
    def __repr__(self) -> str:
        return "one\ntwo\r\n" * 3


class OddFloat(float):
    """A float of somebody's own, as numpy's is."""

    def __repr__(self) -> str:
        return f"OddFloat({float(self)})"


def refusal(check: Any, *args: Any, **named: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check(*args, **named)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0, 0.0),
        (3, 3.0),
        (0.25, 0.25),
        (OddFloat(1.5), 1.5),
        (Fraction(1, 4), 0.25),
        (Decimal("0.5"), 0.5),
        (timedelta(minutes=2), 120.0),
        (timedelta(microseconds=1), 1e-6),
        (timedelta(0), 0.0),
        (sys.float_info.max, sys.float_info.max),
    ],
)
def test_every_real_number_and_timedelta_becomes_plain_float_seconds(
    given: object, expected: float
) -> None:
    """What comes out of `seconds` is a plain float, whatever kind of number went in."""
    actual = seconds("base", given)
    assert expected == actual
    assert float is type(actual)


@pytest.mark.parametrize(
    "bad",
    [
        -1,
        -1e-300,
        NAN,
        INF,
        -INF,
        True,
        False,
        "5",
        b"5",
        None,
        [1],
        (1,),
        1j,
        10**400,
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        timedelta(seconds=-1),
        float,
        object(),
        RaisesOnRepr(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_duration_is_refused_by_name(bad: object) -> None:
    """
    NaN, infinities, negatives, booleans, texts and other objects are a ConfigError that names the
    parameter and one that works.
    """
    message = refusal(seconds, "base", bad)
    assert message.startswith("base must be a number of seconds, at least 0, not ")
    assert message.endswith("; for example base=0.5")


def test_the_message_names_parameter_value_and_one_that_works() -> None:
    """A refusal can be acted on without looking anything up."""
    expected = "base must be a number of seconds, at least 0, not -1; for example base=0.5"
    assert expected == refusal(seconds, "base", -1)
    expected = "every must be a number of seconds above 0, not 0; for example every=60"
    assert expected == refusal(seconds, "every", 0, zero=False, example="every=60")
    expected = (
        "cap must be a number of seconds, at least 0, or None (no limit), not '5'; "
        "for example cap=0.5"
    )
    assert expected == refusal(seconds, "cap", "5", none=True)


def test_a_config_error_is_a_value_error() -> None:
    """Callers who know nothing of forbear can catch ValueError."""
    with pytest.raises(ValueError, match="base must be"):
        seconds("base", "soon")


def test_none_is_no_limit_only_where_that_makes_sense() -> None:
    """None comes back as None where it is allowed and is refused elsewhere."""
    assert seconds("cap", None, none=True) is None
    assert count("attempts", None, none=True) is None
    assert "not None" in refusal(seconds, "base", None)
    assert "not None" in refusal(count, "n", None)


def test_minus_zero_becomes_zero() -> None:
    """A delay is never -0.0, which prints like a negative wait."""
    assert "0.0" == repr(seconds("base", -0.0))
    assert "0.0" == repr(number("factor", -0.0))


def test_numpy_scalars_are_numbers_and_its_timedelta_is_none() -> None:
    """Numpy's floats and ints count; its timedelta64, which forgets its unit as a float, does not."""
    assert 0.5 == seconds("base", np.float32(0.5))
    assert 3.0 == seconds("base", np.int64(3))
    assert 3 == count("attempts", np.int64(3))
    for bad in (np.timedelta64(5, "ns"), np.bool_(True), np.array([1.0, 2.0])):
        assert "base must be" in refusal(seconds, "base", bad)


@pytest.mark.parametrize(
    ("bounds", "fits"),
    [
        ({}, "a number, at least 0, not nan; for example x=1"),
        ({"low": 2}, "a number, at least 2, not nan; for example x=3"),
        ({"high": 1}, "a number from 0 to 1, not nan; for example x=0.5"),
        ({"high": 1, "above": True}, "a number above 0 and at most 1, not nan; for example x=0.5"),
        ({"above": True, "example": "y"}, "a number above 0, not nan; for example y"),
    ],
)
def test_a_number_is_refused_with_its_range(bounds: dict[str, Any], fits: str) -> None:
    """The message of `number` tells the range, whichever ends it has."""
    assert f"x must be {fits}" == refusal(number, "x", NAN, **bounds)


def test_a_number_may_lie_on_its_bounds_unless_told_otherwise() -> None:
    """Both ends belong to the range; with `above` the lower one doesn't."""
    assert 0.0 == number("x", 0, high=1)
    assert 1.0 == number("x", 1, high=1)
    for bad in (-0.001, 1.001, True, "1", None, timedelta(1)):
        refusal(number, "x", bad, high=1)
    refusal(number, "x", 0, above=True)


def test_a_count_is_a_whole_number() -> None:
    """Ints and their kind count; a float doesn't even where it is whole, and a boolean never."""

    class Five(int):
        pass

    assert 5 == count("attempts", Five(5))
    assert int is type(count("attempts", Five(5)))
    assert 0 == count("n", 0, least=0)
    expected = "attempts must be at least 1 or None, not 0; for example attempts=5"
    assert expected == refusal(count, "attempts", 0, none=True)
    expected = "attempts must be a whole number, at least 1, not 7.0; for example attempts=7"
    assert expected == refusal(count, "attempts", 7.0)
    for bad in (True, 2.5, NAN, INF, "3", Fraction(3), [3], RaisesOnRepr()):
        assert "n must be a whole number, at least 0, not " in refusal(count, "n", bad, least=0)


def test_a_huge_value_stays_a_short_line() -> None:
    """A message shows at most 80 characters of a value, on one line."""
    for huge in ("x" * 10_000, list(range(10_000)), "a\nb" * 1000, 10**5000, ManyLines()):
        message = refusal(seconds, "base", huge)
        assert len(message) < 200
        assert "\n" not in message


def test_a_value_whose_repr_raises_is_told_by_its_type() -> None:
    """A refusal must not fail on the very value that it refuses."""
    assert "an object of type RaisesOnRepr" == shown(RaisesOnRepr())
    assert "the class RaisesOnRepr" == shown(RaisesOnRepr)


@given(st.one_of(st.floats(), st.integers(), st.text(), st.none(), st.binary(), st.booleans()))
def test_seconds_gives_a_finite_float_or_a_config_error(value: object) -> None:
    """There is no third way out, whatever is handed in."""
    try:
        actual = seconds("base", value)
    except ConfigError:
        return
    assert 0.0 <= actual < INF
