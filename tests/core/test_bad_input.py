"""Bad arguments are refused where they stand; bad days have an outcome that is tested."""

from __future__ import annotations

import asyncio
import decimal
import email.utils
import fractions
import logging
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    parse_retry_after,
    retry,
)
from forbear.testing import attempts, virtual_time

from drivers import logged_to

NAN, INF = float("nan"), float("inf")


class Oops(Exception):
    """What fails here."""


def policy(**given: Any) -> Any:
    """Make a policy."""
    return retry(**({"on": Oops} | given))


class Unshowable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError


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


# -- bad days: errors that misbehave


class NoText(Oops):
    """Its str raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class NotAText(Oops):
    """Its str is no text."""

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class NoNote(Oops):
    """It takes no note."""

    def add_note(self, note: str) -> None:
        raise RuntimeError("no notes")


class Frozen(Oops):
    """It takes no attribute."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("frozen")


class Slotted(Oops):
    """It has slots; as every exception, it has a dict beside them."""

    __slots__ = ("field",)


class BadNotes(Oops):
    """Its notes are no list."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.__notes__ = "text"


class BadHint(Oops):
    """Reading its hint raises."""

    @property
    def retry_after(self) -> float:
        raise RuntimeError("no hint")


class EvilGetattr(Oops):
    """Every unknown attribute raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class Unequal(Oops):
    """It can't be compared, hashed or tested for truth."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


def cyclic() -> Exception:
    """Make an error whose causes and contexts point at each other."""
    first, second = Oops("first"), Oops("second")
    first.__cause__, second.__cause__ = second, first
    first.__context__, second.__context__ = second, first
    return first


def deep() -> Exception:
    """Make an error with ten thousand causes."""
    error = Oops("bottom")
    for _ in range(10_000):
        outer = Oops("outer")
        outer.__cause__ = error
        error = outer
    return error


def deep_group() -> Exception:
    """Make a group in a group in a group ..."""
    error: Exception = Oops("bottom")
    for _ in range(500):
        error = ExceptionGroup("g", [error])
    return error


MISBEHAVING: list[Callable[[], Exception]] = [
    lambda: NoText("x"),
    lambda: NotAText("x"),
    lambda: NoNote("x"),
    lambda: Frozen("x"),
    lambda: Slotted("x"),
    lambda: BadNotes("x"),
    lambda: BadHint("x"),
    lambda: EvilGetattr("x"),
    lambda: Unequal("x"),
    lambda: Oops(NoText("inside")),
    lambda: Oops(Unshowable()),
    cyclic,
    deep,
    deep_group,
    lambda: ExceptionGroup("wide", [Oops(n) for n in range(5000)]),
]
IDS = [
    "NoText",
    "NotAText",
    "NoNote",
    "Frozen",
    "Slotted",
    "BadNotes",
    "BadHint",
    "EvilGetattr",
    "Unequal",
    "Oops-NoText",
    "Oops-Unshowable",
    "cyclic",
    "deep",
    "deep-group",
    "wide-group",
]


class Lines(logging.Handler):
    """A handler that keeps what is logged, as a formatter would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.mark.parametrize("make", MISBEHAVING, ids=IDS)
@pytest.mark.parametrize("same", [True, False], ids=["same object", "new objects"])
@pytest.mark.parametrize("form", ["call", "acall", "block"])
def test_an_error_that_misbehaves_comes_out(
    form: str, same: bool, make: Callable[[], Exception]
) -> None:
    """The very object, after all attempts, with one line of log each, whatever it does to who looks at it."""
    kept = make()
    raised: list[Exception] = []
    handler = Lines()

    def step() -> None:
        error = kept if same else make()
        raised.append(error)
        raise error

    async def astep() -> None:
        step()

    made = retry(on=Oops, attempts=3, backoff=0.5, nested="allow", name="p")
    with (
        virtual_time() as clock,
        logged_to(handler),
        pytest.raises((Oops, ExceptionGroup)) as caught,
    ):
        if form == "call":
            made.call(step)
        elif form == "acall":
            asyncio.run(made.acall(astep))  # type: ignore[arg-type]
        else:
            for attempt in made:
                with attempt:
                    step()
    assert caught.value is raised[-1]
    assert 3 == len(raised)
    assert [0.5, 0.5] == clock.waits
    assert 3 == len(handler.lines)
    assert all("\n" not in line and len(line) < 1500 for line in handler.lines)


def test_what_takes_a_mark_but_no_note_still_has_a_reason() -> None:
    """And the other way round; what takes neither is left alone."""
    outcomes = {}
    for kind in (NoNote, Frozen, Slotted, BadNotes):

        def step(kind: type[Oops] = kind) -> None:
            raise kind("x")

        with pytest.raises(kind) as caught:
            retry(on=Oops, attempts=2, backoff=0).call(step)
        outcomes[kind.__name__] = forbear.reason(caught.value)
    assert {
        "NoNote": "attempts",
        "Frozen": None,
        "Slotted": "attempts",
        "BadNotes": "attempts",
    } == outcomes


TEXTS = [
    "",
    " ",
    "x" * 10**6,
    "%s %d %(x)s %",
    "two\nlines",
    "a\r\nb\x00\x1b[31m",
    "é\u2028ß\ud800",
    "{} {0}",
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text)[:20])
def test_every_text_stays_one_short_line(text: str) -> None:
    """In the log and in the note: printable, on one line, at most 500 characters for a failure."""
    handler = Lines()

    def step() -> None:
        raise Oops(text)

    with logged_to(handler), pytest.raises(Oops) as caught:
        retry(on=Oops, attempts=2, backoff=0, name="p").call(step)
    for line in (*handler.lines, *caught.value.__notes__[0].split("\n")):
        assert line.isprintable()
        assert len(line) < 700
    assert 3 == len(caught.value.__notes__[0].split("\n"))


@given(st.text(), st.text())
def test_describe_is_one_short_printable_line(text: str, name: str) -> None:
    """Whatever the text is."""
    from forbear._notes import describe, one_line  # noqa: PLC0415

    line = describe(Oops(text, name) if name else Oops(text))
    assert line.startswith("Oops")
    assert len(line) <= 500
    assert line.isprintable()
    assert one_line(line) == line


def test_a_describe_of_ones_own() -> None:
    """Its text is what notes and logs show; where it fails, the default does."""
    for describe, expected in (
        (lambda error: "secret kept", "secret kept"),
        (lambda error: 5, "Oops: token=abc"),
        (lambda error: 1 / 0, "Oops: token=abc"),
        (lambda error: "two\nlines", "two lines"),
        (lambda error: "x" * 10_000, "x" * 497 + "..."),
    ):
        handler = Lines()

        def step() -> None:
            raise Oops("token=abc")

        with logged_to(handler), pytest.raises(Oops) as caught:
            retry(on=Oops, attempts=2, backoff=0, describe=describe).call(step)
        assert all(line.endswith(expected) for line in handler.lines)
        assert caught.value.__notes__[0].endswith(f"attempt 2: {expected}")


def test_names_are_one_short_line() -> None:
    """A policy's name with line breaks doesn't break the log."""
    handler = Lines()

    def step() -> None:
        raise Oops("x")

    with logged_to(handler), pytest.raises(Oops):
        retry(on=Oops, attempts=2, backoff=0, name="a\nb%s" + "x" * 5000).call(step)
    assert all("\n" not in line and len(line) < 500 for line in handler.lines)


# -- Retry-After

MOMENT = datetime(2026, 10, 21, 7, 28, 0, tzinfo=UTC)
NOW = MOMENT.timestamp() - 90


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
    assert seconds is None or 0.0 <= seconds < INF


@given(
    st.datetimes(datetime(1970, 1, 1), datetime(9999, 1, 1)).map(
        lambda moment: moment.replace(microsecond=0)
    ),
    st.sampled_from(["imf", "asctime"]),
)
def test_retry_after_reads_every_date(moment: datetime, form: str) -> None:
    """As the standard library's writers write them."""
    moment = moment.replace(tzinfo=UTC)
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
    assert seconds is None or 0.0 <= seconds < INF


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
