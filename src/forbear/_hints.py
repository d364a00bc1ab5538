"""
What the failing side may say about trying again: the signals, and hints in seconds.

Law: everything read here comes from outside (an error's attribute, a header, a server), so it is read
strictly, bounded, or taken for nothing; it never raises and never asks for an endless wait. This file must
not know policies: it says what a signal means, not what is done about it.
"""

from __future__ import annotations

import sys
import time

from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["Permanent", "RetryAfter", "as_delay", "as_hint", "parse_retry_after", "signals"]

# How many links of a `__cause__` chain, and how many leaves of a group, are looked at: chains can be cyclic
# and groups nested, and whoever raised them must not be able to hang a retry.
WIDTH = 1024


class Permanent(Exception):
    """
    Raise it to say that no further try can help; policies of all layers stop.

    The error it carries comes out in its place: its argument if that is an error, else its `__cause__`. With
    neither it comes out itself.

    >>> raise Permanent(KeyError("no such user"))
    Traceback (most recent call last):
    ...
    forbear._hints.Permanent: KeyError('no such user')

    Args:
        error: The error that shall come out, or a text.
    """

    def __init__(self, error: Exception | str | None = None) -> None:
        if not (error is None or isinstance(error, Exception | str)):
            raise ConfigError(
                f"error must be an exception object or a text, not {error!r:.80}; "
                "for example Permanent(KeyError('no such user'))"
            )
        super().__init__(*(() if error is None else (error,)))

    def __str__(self) -> str:
        if not self.args:
            return "permanent"
        return self.args[0] if isinstance(self.args[0], str) else repr(self.args[0])

    @property
    def carried(self) -> BaseException | None:
        """The error that comes out in place of this signal, if there is one."""
        if self.args and isinstance(self.args[0], Exception):
            return self.args[0]
        return self.__cause__


class RetryAfter(Exception):
    """
    Raise it to have the call tried again after so many seconds, whatever the policy's `on` says.

    Write `raise RetryAfter(2.0) from error`: when trying ends, that error is what comes out. The seconds are
    a hint: never earlier, later by up to the policy's `hint_jitter`, and given up when above its `max_hint`.

    >>> RetryAfter(2).retry_after
    2.0
    >>> RetryAfter(parse_retry_after("when the cows come home"))  # no hint: the backoff's own delay
    RetryAfter()

    Args:
        seconds: The wait, in seconds or as a timedelta; negative counts as 0. None, NaN and infinities are no
            hint, so that what was read from a server can be handed over as it is.
    """

    retry_after: float | None

    def __init__(self, seconds: object = None) -> None:
        if isinstance(seconds, str | bytes | bool):
            raise ConfigError(
                f"seconds must be a number, not {seconds!r:.80}; for example RetryAfter(2.0)"
            )
        self.retry_after = as_hint(seconds)
        super().__init__(*(() if self.retry_after is None else (self.retry_after,)))

    def __str__(self) -> str:
        after = "retry" if self.retry_after is None else f"retry after {self.retry_after:g} s"
        return after if self.__cause__ is None else f"{self.__cause__} ({after})"


def signals(error: BaseException) -> tuple[Permanent | None, RetryAfter | None]:
    """
    Find the signals in an error: raised, in its `__cause__` chain, or in the leaves of a group.

    Permanent outweighs RetryAfter; of several RetryAfters the longest counts.
    """
    permanent: Permanent | None = None
    again: RetryAfter | None = None
    for part in parts(error):
        if isinstance(part, Permanent):
            permanent = permanent or part
        elif isinstance(part, RetryAfter) and (
            again is None or (part.retry_after or 0.0) > (again.retry_after or 0.0)
        ):
            again = part
    return permanent, again


def asks_again(error: BaseException) -> bool:
    """Tell whether there is a RetryAfter in the error."""
    return any(isinstance(part, RetryAfter) for part in parts(error))


def parts(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, its causes and the members of groups among them, each once and at most 1024."""
    todo: list[BaseException] = [error]
    seen: set[int] = set()
    while todo and len(seen) < WIDTH:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, BaseExceptionGroup):
            todo.extend(reversed(part.exceptions[:WIDTH]))
        if part.__cause__ is not None:
            todo.append(part.__cause__)


def as_hint(value: object) -> float | None:
    """
    Read a hint in seconds: a finite number or a timedelta, negative as 0; anything else is no hint.

    >>> [as_hint(value) for value in (2, -1, float("nan"), True, "2", None)]
    [2.0, 0.0, None, None, None, None]
    """
    if value is None or isinstance(value, str | bytes | bool):
        return None
    total = getattr(value, "total_seconds", None)
    try:
        said: Any = total() if callable(total) else value
        seconds = float(said)
    except OverflowError:
        # An integer beyond all floats: absurd, but a number; `max_hint` deals with it.
        return sys.float_info.max
    except Exception:  # noqa: BLE001 (an object from outside whose conversion may raise anything)
        return None
    if not -sys.float_info.max <= seconds <= sys.float_info.max:
        return None
    return max(0.0, seconds)


def parse_retry_after(header: object, now: float | None = None) -> float | None:
    """
    Return the seconds that a `Retry-After` header asks for, or None if it can't be read.

    Read strictly as RFC 9110 writes it: digits, or one of the three HTTP dates; a date that has passed gives
    0. Nothing is guessed: fractions, signs, other time zones and bytes give None.

    >>> parse_retry_after("120")
    120.0
    >>> parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now=784111770)
    7.0
    >>> parse_retry_after("Sunday, 06-Nov-94 08:49:37 GMT", now=784111770)
    7.0
    >>> parse_retry_after("Sun Nov  6 08:49:37 1994", now=784111770)
    7.0
    >>> parse_retry_after("soon") is None
    True

    Args:
        header: The header's text.
        now: Seconds since the epoch; the system's clock if left out.
    """
    if not isinstance(header, str):
        return None
    text = header.strip(" \t")
    if text.isascii() and text.isdigit():
        # More digits than this are no time but an attack on int(); the bound is 30 million years.
        return float(int(text)) if len(text) < 16 else 1e15
    moment = time.time() if now is None else now
    when = _http_date(text, moment) if 24 <= len(text) <= 40 else None
    return None if when is None else as_hint(when - moment)


_MONTHS = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_LONG_DAY = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = (
    rf"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",
    rf"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
    rf"{_DAY} {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})",
)


def _http_date(text: str, now: float) -> float | None:
    """Return the seconds since the epoch of an HTTP date in one of its three forms."""
    import re  # noqa: PLC0415 (a header with a date is rare, and re is not free)

    found = next(filter(None, (re.fullmatch(form, text) for form in _FORMS)), None)
    if found is None:
        return None
    year, month = int(found["year"]), _MONTHS.index(found["month"]) + 1
    day, hour, minute, second = (int(found[part]) for part in ("day", "hour", "minute", "second"))
    if len(found["year"]) == 2:
        year = _full_year(year, now)
    if not (1 <= day <= _days_in(year, month) and hour < 24 and minute < 60 and second <= 60):
        return None
    return ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60.0 + second


def _full_year(two_digits: int, now: float) -> int:
    """Give a two-digit year its century: never more than 50 years ahead (RFC 9110, 5.6.7)."""
    this_year = 1970 + int(max(0.0, min(now, 2.5e11)) / (365.2425 * 86400))
    year = this_year - this_year % 100 + two_digits
    return year - 100 if year > this_year + 50 else year


def _days_in(year: int, month: int) -> int:
    """Return the number of days of a month."""
    return _days(year + month // 12, month % 12 + 1, 1) - _days(year, month, 1)


def _days(year: int, month: int, day: int) -> int:
    """Return the days since the epoch of a date in the Gregorian calendar."""
    year -= month <= 2
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719468


def as_delay(delay: object) -> float:
    """Read the answer of somebody else's backoff; what is no number of seconds is refused."""
    if type(delay) is float and 0.0 <= delay <= sys.float_info.max:
        return delay
    seconds = as_hint(delay)
    if seconds is None:
        raise ConfigError(
            f"backoff must answer with seconds or None, not {delay!r:.80}; for example with what Exponential() answers"
        )
    return seconds
