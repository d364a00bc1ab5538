"""Bad arguments are refused where they stand, with the parameter, the value and one that works."""

from __future__ import annotations

import asyncio
import decimal
import fractions
import math
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

import forbear
from forbear import (
    Cancelled,
    ConfigError,
    Constant,
    Event,
    LeaseLost,
    Permanent,
    RetryAfter,
    Ticker,
    on_event,
    retry,
)
from forbear.testing import attempts, virtual_time


class Oops(Exception):
    """What fails here."""


def policy(**given: Any) -> Any:
    """Make a policy."""
    return retry(**({"on": Oops} | given))


class Unshowable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError


NAN, INF = float("nan"), float("inf")

BAD_SECONDS: tuple[Any, ...] = (
    NAN,
    INF,
    -INF,
    -1,
    -0.001,
    "5",
    b"5",
    True,
    False,
    [],
    (),
    {},
    object(),
    10**400,
    1j,
)
BAD_MATCH: tuple[Any, ...] = (
    (),
    [],
    [Oops],
    "ConnectionError",
    5,
    math,
    None,
    True,
    int,
    object,
    (Oops, int),
    (Oops, "x"),
    ((Oops,),),
    BaseException,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
    (Oops, KeyboardInterrupt),
    BaseExceptionGroup,
    Cancelled,
    LeaseLost,
    ConfigError,
    Oops("an object"),
)
BAD_FUNCTION: tuple[Any, ...] = (5, "x", True, [], Oops, SimpleNamespace())

BAD: dict[str, tuple[Any, ...]] = {
    "on": BAD_MATCH,
    "giveup": tuple(value for value in BAD_MATCH if value is not None),
    "on_result": BAD_FUNCTION,
    "attempts": (0, -1, 2.5, 5.0, NAN, INF, True, False, "5", [], 1j),
    "total_timeout": BAD_SECONDS,
    "attempt_timeout": (*BAD_SECONDS, 0, 0.0, timedelta(0)),
    "backoff": (
        NAN,
        INF,
        -1,
        "5",
        True,
        None,
        [],
        {},
        {Oops: "x"},
        {"x": 1},
        {KeyboardInterrupt: 1},
        object(),
        Constant,
    ),
    "hint": BAD_FUNCTION,
    "hint_jitter": (NAN, INF, -0.1, 1.1, "x", True, None, timedelta(1), []),
    "max_hint": BAD_SECONDS,
    "nested": ("", "WARN", "raise", None, True, 1, [], b"warn"),
    "name": ("", 5, b"x", True, [], object()),
    "describe": (*BAD_FUNCTION, None),
    "on_retry": BAD_FUNCTION,
    "on_giveup": BAD_FUNCTION,
    "on_success": BAD_FUNCTION,
}
PAIRS = [(name, value) for name, values in BAD.items() for value in values]


def test_every_parameter_is_tried_with_bad_values() -> None:
    """A parameter that comes later must come into the table too."""
    from forbear._rules import FIELDS  # noqa: PLC0415

    assert set(FIELDS) - {"budget"} == set(BAD)


@pytest.mark.parametrize(("name", "value"), PAIRS)
def test_a_bad_argument_is_refused_at_construction(name: str, value: Any) -> None:
    """The message names the parameter, the value, and one that works; it is a ValueError too."""
    with pytest.raises(ConfigError) as caught:
        policy(**{name: value})
    text = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert name in text
    shown = value[-1] if isinstance(value, tuple) and value else value
    shown = (
        next(iter(shown.values() if "x" in shown.values() else shown), shown)
        if isinstance(shown, dict)
        else shown
    )
    label = getattr(shown, "__name__", None) if isinstance(shown, type) else repr(shown)[:30]
    assert label is not None
    assert label in text
    assert "for example" in text
    assert "\n" not in text


@pytest.mark.parametrize("name", BAD)
def test_a_value_whose_repr_raises_is_refused_all_the_same(name: str) -> None:
    """The message comes out whatever the value does."""
    with pytest.raises(ConfigError, match=name):
        policy(**{name: Unshowable()})


@pytest.mark.parametrize("name", BAD)
def test_a_huge_value_makes_no_huge_message(name: str) -> None:
    """What is shown of a value is cut."""
    with pytest.raises(ConfigError) as caught:
        policy(**{name: ["x" * 100_000]})
    assert len(str(caught.value)) < 600


def test_replace_checks_too() -> None:
    """Another policy is another construction."""
    with pytest.raises(ConfigError, match="attempts"):
        policy().replace(attempts=0)
    with pytest.raises(TypeError):
        policy().replace(unknown=1)


def test_on_has_no_default() -> None:
    """On purpose."""
    with pytest.raises(TypeError, match="on"):
        retry()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "good",
    [
        {"attempts": None},
        {"attempts": 10**9},
        {"total_timeout": None},
        {"total_timeout": 0},
        {"total_timeout": timedelta(minutes=1)},
        {"total_timeout": fractions.Fraction(1, 3)},
        {"total_timeout": decimal.Decimal("0.5")},
        {"attempt_timeout": 0.001},
        {"max_hint": None},
        {"max_hint": 0},
        {"hint": None},
        {"hint_jitter": 0},
        {"hint_jitter": 1},
        {"backoff": 0},
        {"backoff": timedelta(seconds=2)},
        {"backoff": {Oops: 1, OSError: Constant(2), TimeoutError: timedelta(seconds=3)}},
        {"on": (Oops, OSError)},
        {"on": ExceptionGroup},
        {"on": lambda error: True},
        {"on": asyncio.TimeoutError},
        {"giveup": None},
        {"giveup": FileNotFoundError},
        {"name": "x"},
    ],
)
def test_good_arguments(good: dict[str, Any]) -> None:
    """None is no limit, zero is zero, every real number and every timedelta counts."""
    made = policy(**good)
    assert made == made.replace()


@pytest.mark.parametrize("value", BAD_SECONDS)
def test_scopes_tickers_and_clocks_check_their_seconds(value: Any) -> None:
    """Wherever seconds are accepted."""
    with pytest.raises(ConfigError, match="timeout"):
        forbear.scope(timeout=value)
    with pytest.raises(ConfigError, match="reset_after"):
        Ticker(1, reset_after=value)
    with pytest.raises(ConfigError, match="backoff"):
        Ticker(value)
    with pytest.raises(ConfigError, match="start"):
        virtual_time(value)
    with virtual_time() as clock, pytest.raises(ConfigError, match="seconds"):
        clock.advance(value)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True, None])
def test_testing_attempts_checks_its_limit(value: Any) -> None:
    """At least one attempt."""
    with pytest.raises(ConfigError, match="limit"):
        attempts(value)


def test_listeners_are_checked() -> None:
    """A plain function of one event."""

    async def listener(event: Event) -> None: ...

    for bad in (5, "x", None, Oops, listener):
        with pytest.raises(ConfigError, match="listener"):
            on_event(bad)  # type: ignore[arg-type]


def test_signals_check_their_arguments() -> None:
    """A text is no number of seconds, and a number no error."""
    for seconds in ("5", b"5", True):
        with pytest.raises(ConfigError, match="seconds"):
            RetryAfter(seconds)
    for error in (5, KeyboardInterrupt(), Oops):
        with pytest.raises(ConfigError, match="error"):
            Permanent(error)  # type: ignore[arg-type]
