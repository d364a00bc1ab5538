"""Bad days: errors that misbehave, texts that are no line; each has an outcome that is tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forbear
from forbear import (
    retry,
)
from forbear.testing import virtual_time

from drivers import Lines, logged_to, only_heard_by
from misbehaving import IDS, MISBEHAVING, BadNotes, Frozen, NoNote, Oops, Slotted
from ways import WAYS, Way

# -- bad days: errors that misbehave


def what_comes_out(way: Way, policy: Any, step: Callable[[], None], raised: list[Exception]) -> str:
    """Run it, and tell of the error without letting it out: pytest would look at it, and fall over."""
    try:
        way.run(policy, step)
    except BaseException as error:
        same = error is raised[-1]
        return "the last one" if same else f"a {type(error).__name__}"
    return "nothing"


@pytest.mark.parametrize("make", MISBEHAVING, ids=IDS)
@pytest.mark.parametrize(
    ("way", "same"),
    [(way, same) for way in WAYS for same in (True, False) if not (same and way.is_async)],
    ids=lambda one: {True: "same object", False: "new objects"}.get(one) or one.id,
)
def test_an_error_that_misbehaves_comes_out(
    way: Way, same: bool, make: Callable[[], Exception]
) -> None:
    """The very object, after all attempts, with one line of log each, whatever it does to who looks at it."""
    kept = make()
    raised: list[Exception] = []
    handler = Lines()

    def step() -> None:
        error = kept if same else make()
        raised.append(error)
        raise error

    policy = retry(on=Oops, attempts=3, backoff=0.5, nested="allow", name="p")
    with virtual_time() as clock, logged_to(handler):
        assert what_comes_out(way, policy, step, raised) == "the last one"
    assert 3 == len(raised)
    assert [0.5, 0.5] == clock.waits
    assert 3 == len(handler.lines)
    assert all("\n" not in line and len(line) < 1500 for line in handler.lines)


@pytest.mark.parametrize("make", MISBEHAVING, ids=IDS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_it_comes_out_of_a_call_that_retries_at_once_too(
    way: Way, make: Callable[[], Exception]
) -> None:
    """Where nothing is waited for and nobody listens, failures are dealt with in a shorter way."""
    raised: list[Exception] = []

    def step() -> None:
        raised.append(make())
        raise raised[-1]

    policy = retry(on=(Oops, ExceptionGroup), attempts=5, backoff=0, nested="allow", name="p")
    with only_heard_by([]):
        assert what_comes_out(way, policy, step, raised) == "the last one"
    assert 5 == len(raised)


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 494, "Oops: " + "x" * 494),
        ("x" * 495, "Oops: " + "x" * 491 + "..."),
        ("a" + " " * 10_000 + "b", "Oops: a..."),
        ("a" + " " * 100 + "b", "Oops: a b"),
    ],
    ids=["as long as may be", "one more", "blanks", "few blanks"],
)
def test_a_text_that_was_cut_ends_in_dots(text: str, shown: str) -> None:
    """Whoever reads it knows that there was more."""

    def step() -> None:
        raise Oops(text)

    with pytest.raises(Oops) as caught:
        retry(on=Oops, attempts=1).call(step)
    assert f"  attempt 1: {shown}" == caught.value.__notes__[0].split("\n")[1]


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
