"""
Numbers as people write them, made into floats of seconds and checked, at the edge and nowhere else.

Law: every number that a user hands to forbear passes through here once, where it was written. What
comes out is a plain float or int, finite and in its range; what can't be that is refused with its
name, its value and one that works. This file must not know what the numbers are for.
"""

from __future__ import annotations

import sys

from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, overload

__all__ = ["count", "number", "seconds", "shown"]

LONGEST = 80  # characters of a value in a message: a reader wants to recognise it, not to read it

if TYPE_CHECKING:

    @overload
    def seconds(
        name: str,
        value: object,
        *,
        zero: bool = ...,
        none: Literal[False] = ...,
        example: str = ...,
    ) -> float: ...

    @overload
    def seconds(
        name: str, value: object, *, zero: bool = ..., none: bool, example: str = ...
    ) -> float | None: ...


def seconds(
    name: str, value: object, *, zero: bool = True, none: bool = False, example: str = ""
) -> float | None:
    """
    Return a duration as a float of seconds.

    Every real number counts, of numpy and `fractions` too, and a timedelta; a text never does, not
    even "5", and neither does True, which is 1 for Python but a mistake in a configuration.

    >>> from datetime import timedelta
    >>> seconds("cap", 20), seconds("cap", timedelta(minutes=1)), seconds("cap", None, none=True)
    (20.0, 60.0, None)
    >>> seconds("base", -1)
    Traceback (most recent call last):
    ...
    forbear.errors.ConfigError: base must be a number of seconds, at least 0, not -1; for \
example base=0.5

    Args:
        name: The parameter, for the message.
        zero: Whether 0 is allowed.
        none: Whether None is allowed; it means no limit and comes back as None.
        example: What to write instead, for the message.
    """
    if value is None and none:
        return None
    found = _timedelta(value)
    if found is None:
        found = _real(value)
    if found is not None and (found > 0.0 or (zero and found == 0.0)):
        return found + 0.0  # of -0.0, which is what `-0.0 * n` leaves behind, makes 0.0
    least = ", at least 0," if zero else " above 0,"
    or_none = " or None (no limit)," if none else ""
    raise ConfigError(
        f"{name} must be a number of seconds{least}{or_none} not {shown(value)}; "
        f"for example {example or f'{name}=0.5'}"
    )


def number(
    name: str,
    value: object,
    *,
    low: float = 0.0,
    high: float | None = None,
    above: bool = False,
    example: str = "",
) -> float:
    """
    Return a number without a unit as a float.

    >>> number("hint_jitter", 1, low=0, high=1)
    1.0
    >>> number("hint_jitter", 1.5, low=0, high=1)
    Traceback (most recent call last):
    ...
    forbear.errors.ConfigError: hint_jitter must be a number from 0 to 1, not 1.5; for \
example hint_jitter=0.5

    Args:
        name: The parameter, for the message.
        low: The least that is allowed.
        high: The most that is allowed; None: no limit.
        above: Whether `low` itself is refused.
        example: What to write instead, for the message.
    """
    found = _real(value)
    fits_low = found is not None and (found > low or (found == low and not above))
    if found is not None and fits_low and (high is None or found <= high):
        return found + 0.0
    if above:
        fits = f"above {low:g}" + ("" if high is None else f" and at most {high:g}")
    else:
        fits = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
    comma = "," if fits.startswith("at least") else ""
    if not example:
        example = f"{name}={low + 1 if high is None else (low + high) / 2:g}"
    raise ConfigError(
        f"{name} must be a number{comma} {fits}, not {shown(value)}; for example {example}"
    )


if TYPE_CHECKING:

    @overload
    def count(
        name: str,
        value: object,
        *,
        least: int = ...,
        none: Literal[False] = ...,
        example: str = ...,
    ) -> int: ...

    @overload
    def count(
        name: str, value: object, *, least: int = ..., none: bool, example: str = ...
    ) -> int | None: ...


def count(
    name: str, value: object, *, least: int = 1, none: bool = False, example: str = ""
) -> int | None:
    """
    Return a whole number as an int.

    A float is refused even where it is whole: who writes 5.0 has probably taken the parameter for
    seconds.

    >>> count("attempts", 5), count("attempts", None, none=True)
    (5, None)
    >>> count("attempts", 0, none=True)
    Traceback (most recent call last):
    ...
    forbear.errors.ConfigError: attempts must be at least 1 or None, not 0; for example attempts=5

    Args:
        name: The parameter, for the message.
        least: The least that is allowed.
        none: Whether None is allowed; it means no limit and comes back as None.
        example: What to write instead, for the message.
    """
    if value is None and none:
        return None
    found = _whole(value)
    if found is not None and found >= least:
        return found
    kind = "a whole number, " if found is None else ""
    or_none = " or None" if none else ""
    if not example:
        whole = _real(value) if isinstance(value, float) else None
        fits = whole is not None and whole >= least and whole.is_integer()
        example = f"{name}={int(whole) if whole is not None and fits else max(5, least)}"
    raise ConfigError(
        f"{name} must be {kind}at least {least}{or_none}, not {shown(value)}; for example {example}"
    )


def shown(value: object) -> str:
    """
    Return a value's repr on one short line, whatever it is.

    >>> shown("x" * 200)[-30:], len(shown("x" * 200))
    ('xxxxxxxxxxxxxxxxxxxxxxxxxxx...', 80)
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 (a message about a bad value must not fail on the value)
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


# Types of modules that nobody has imported have no objects either: so `sys.modules` is asked, and
# forbear pays for none of these imports.


def _timedelta(value: object) -> float | None:
    if "datetime" not in sys.modules:
        return None
    from datetime import timedelta  # noqa: PLC0415

    return value.total_seconds() if isinstance(value, timedelta) else None


def _real(value: object) -> float | None:
    """Return a finite float, or None if the value is no real number or has no finite float."""
    if not (isinstance(value, int | float) or _registered(value, "Real") or _is_decimal(value)):
        return None
    if isinstance(value, bool):
        return None
    like_a_number: Any = value
    try:
        found = float(like_a_number)
    except Exception:  # noqa: BLE001 (10**400, a signalling NaN, a class of somebody's own)
        return None
    return found if found - found == 0.0 else None  # inf - inf and nan - nan are nan


def _whole(value: object) -> int | None:
    if isinstance(value, int):
        return None if isinstance(value, bool) else int(value)
    if not _registered(value, "Integral"):
        return None
    like_a_number: Any = value
    try:
        return int(like_a_number)
    except Exception:  # noqa: BLE001 (as above)
        return None


def _registered(value: object, kind: str) -> bool:
    if "numbers" not in sys.modules:
        return False
    import numbers  # noqa: PLC0415

    # numpy registers its timedelta64 as a whole number, but its float forgets the unit: 5 ms would
    # be 5 s.
    return isinstance(value, getattr(numbers, kind)) and type(value).__name__ != "timedelta64"


def _is_decimal(value: object) -> bool:
    if "decimal" not in sys.modules:
        return False
    from decimal import Decimal  # noqa: PLC0415

    return isinstance(value, Decimal)
