"""`Retry-After` headers are read strictly, and nothing in them can hang or stop a call."""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forbear
from forbear import (
    RetryAfter,
    parse_retry_after,
    retry,
)
from forbear.testing import virtual_time


class Oops(Exception):
    """What fails here."""


MOMENT = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)
NOW = MOMENT.timestamp() - 90


# -- Retry-After


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("  7\t", 7.0),
        ("007", 7.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 90.0),
        ("Wednesday, 21-Oct-26 07:28:00 GMT", 90.0),
        ("Wed Oct 21 07:28:00 2026", 90.0),
        ("Sun Nov  6 08:49:37 1994", 0.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 0.0),
        ("Tue, 29 Feb 2028 00:00:00 GMT", 42827610.0),
        ("Sun, 29 Feb 2026 00:00:00 GMT", None),
        ("Wed, 31 Nov 2026 00:00:00 GMT", None),
        ("Wed, 21 Oct 2026 25:00:00 GMT", None),
        ("Wed, 21 Oct 2026 07:28:00 UTC", None),
        ("Wed, 21 Oct 2026 07:28:00 +0200", None),
        ("Wed, 21 Oct 2026 07:28:00", None),
        ("21 Oct 2026 07:28:00 GMT", None),
        ("2026-10-21T07:28:00Z", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1e3", None),
        ("1_000", None),
        ("0x10", None),
        ("١٢", None),
        ("", None),
        (" ", None),
        ("soon", None),
        ("inf", None),
        ("nan", None),
        ("12 seconds", None),
        (None, None),
        (120, None),
        (b"120", None),
        (["120"], None),
    ],
)
def test_retry_after_is_read_strictly(header: object, seconds: float | None) -> None:
    """Digits, or one of the three HTTP dates; nothing is guessed."""
    assert seconds == parse_retry_after(header, now=NOW)


def test_two_digit_years_are_near() -> None:
    """Never more than 50 years ahead (RFC 9110, 5.6.7)."""
    for header, year in (
        ("Sunday, 06-Nov-94 08:49:37 GMT", 1994),
        ("Friday, 06-Nov-76 08:49:37 GMT", 2076),
        ("Saturday, 06-Nov-77 08:49:37 GMT", 1977),
    ):
        expected = datetime(year, 11, 6, 8, 49, 37, tzinfo=UTC).timestamp() - NOW
        assert max(0.0, expected) == parse_retry_after(header, now=NOW)


@given(
    st.one_of(
        st.text(), st.integers().map(str), st.floats().map(str), st.binary(), st.none(), st.floats()
    )
)
def test_retry_after_never_raises(header: object) -> None:
    """And is never negative, infinite, or no number."""
    seconds = parse_retry_after(header)
    assert seconds is None or 0.0 <= seconds < float("inf")


@given(
    st.integers(0, 250_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    st.sampled_from(["imf", "asctime"]),
)
def test_retry_after_reads_every_date(moment: datetime, form: str) -> None:
    """As the standard library's writers write them."""
    days, months = (
        ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    )
    if form == "imf":
        header = email.utils.format_datetime(moment, usegmt=True)
    else:
        header = (
            f"{days[moment.weekday()]} {months[moment.month - 1]} {moment.day:2} "
            f"{moment:%H:%M:%S} {moment.year:04}"
        )
    assert max(0.0, moment.timestamp() - NOW) == parse_retry_after(header, now=NOW)


@given(
    st.from_regex(
        r"(Mon|Tue|Wednesday|Sun)(,? )[0-9 ]{1,2}[ -](Feb|Nov|Foo)[ -][0-9]{2,4} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT)?",
        fullmatch=True,
    ),
    st.floats(),
)
def test_nearly_dates_never_raise(header: str, now: float) -> None:
    """Whatever the clock says."""
    seconds = parse_retry_after(header, now=now)
    assert seconds is None or 0.0 <= seconds < float("inf")


@pytest.mark.parametrize("digits", [15, 16, 400, 10**6])
def test_absurd_numbers_are_bounded_by_max_hint(digits: int) -> None:
    """A million digits are no attack, and no endless wait."""
    seconds = parse_retry_after("9" * digits)
    assert seconds is not None

    def step() -> None:
        raise RetryAfter(seconds) from Oops("busy")

    with virtual_time() as clock, pytest.raises(Oops) as caught:
        retry(on=Oops).call(step)
    assert "hint" == forbear.reason(caught.value)
    assert [] == clock.waits
