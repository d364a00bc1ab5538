"""What counts as retried inside this call, and what is history; the warning that says so."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import warnings

import pytest

import forbear
from forbear import NestedRetryWarning, retry
from forbear.testing import virtual_time

from layers import Wrapped, layer


class Oops(Exception):
    """The error at the bottom."""


# -- what counts as inside


def test_a_mark_of_an_earlier_call_does_not_count() -> None:
    """An error object that is kept and raised again was not retried by this call."""
    kept = Oops("kept")
    calls = []

    def operation() -> None:
        calls.append(1)
        raise kept

    policy = layer("stop")
    for expected in (3, 6, 9):
        with pytest.raises(Oops) as caught:
            policy.call(operation)
        assert expected == len(calls)
        assert "attempts" == forbear.reason(caught.value)
        assert 1 == len(kept.__notes__)


def test_a_mark_of_an_earlier_call_does_not_count_decorated() -> None:
    """Also where one call after another stands at the same place, with frames at the same addresses."""
    kept = Oops("kept")
    calls = []

    @layer("stop")
    def operation() -> None:
        calls.append(1)
        raise kept

    for expected in (3, 6, 9):
        with pytest.raises(Oops) as caught:
            operation()
        assert expected == len(calls)
        assert "attempts" == forbear.reason(caught.value)


@pytest.mark.parametrize("form", ["decorator", "call", "block", "async"])
def test_a_mark_from_before_the_call_does_not_count(form: str) -> None:
    """Also where it was another policy that gave up before, and in whatever way this one is used."""
    kept = Oops("kept")
    calls = []

    def operation() -> None:
        calls.append(1)
        raise kept

    with pytest.raises(Oops):
        retry(on=Oops, attempts=1, name="earlier").call(operation)
    calls.clear()
    policy = layer("stop")
    with pytest.raises(Oops):
        if form == "decorator":
            policy(operation)()
        elif form == "call":
            policy.call(operation)
        elif form == "block":
            for attempt in policy:
                with attempt:
                    operation()
        else:

            async def aoperation() -> None:
                operation()

            asyncio.run(policy.acall(aoperation))  # type: ignore[arg-type]
    assert 3 == len(calls)


def test_a_cause_that_was_kept_does_not_count() -> None:
    """An old failure as the cause of a new error is history."""
    with pytest.raises(Oops) as old:
        retry(on=Oops, attempts=1).call(_raise_oops)
    calls = []

    def operation() -> None:
        calls.append(1)
        raise Wrapped from old.value

    with pytest.raises(Wrapped):
        layer("stop").call(operation)
    assert 3 == len(calls)


def _raise_oops() -> None:
    raise Oops


def test_an_error_handled_inside_does_not_count() -> None:
    """An inner call that gave up, was handled, and has nothing to do with the error that comes later."""
    calls = []

    def operation() -> None:
        calls.append(1)
        try:
            layer("stop").call(_raise_oops)
        except Oops:
            pass
        raise Wrapped

    with pytest.raises(Wrapped) as caught:
        layer("stop").call(operation)
    assert 3 == len(calls)
    assert "attempts" == forbear.reason(caught.value)


def test_a_suppressed_context_does_not_count() -> None:
    """`raise ... from None` says that the two have nothing to do with each other."""
    calls = []

    def operation() -> None:
        calls.append(1)
        try:
            layer("stop").call(_raise_oops)
        except Oops:
            raise Wrapped from None

    with pytest.raises(Wrapped):
        layer("stop").call(operation)
    assert 3 == len(calls)


def test_the_middle_of_three_may_stop_alone() -> None:
    """Each policy decides for itself what to do with an error that was retried to the end."""
    calls = []

    def bottom() -> None:
        calls.append(1)
        raise Oops

    layer("allow")(layer("stop")(layer("allow")(bottom)))  # builds
    with pytest.raises(Oops):
        layer("allow")(layer("stop")(layer("allow")(bottom)))()
    assert 9 == len(calls)


def _nested_call() -> None:
    inner = retry(on=Oops, attempts=2, backoff=0, name="inner")
    retry(on=Oops, attempts=4, backoff=0, name="outer").call(lambda: inner.call(_raise_oops))


# -- the warning


def test_warn_warns_once_a_call_and_goes_on() -> None:
    """One warning however often it happens, naming both policies and what to write."""
    with pytest.warns(NestedRetryWarning) as caught, pytest.raises(Oops):
        warnings.simplefilter("always")
        _nested_call()
    assert 1 == len(caught)
    text = str(caught[0].message)
    assert "outer" in text
    assert "inner" in text
    assert 'nested="stop"' in text
    assert 'nested="allow"' in text


def test_the_warning_shows_the_line_outside_forbear() -> None:
    """The place is the caller's line, not forbear's."""
    with pytest.warns(NestedRetryWarning) as caught, pytest.raises(Oops):
        warnings.simplefilter("always")
        _nested_call()
    lines, start = inspect.getsourcelines(_nested_call)
    assert __file__ == caught[0].filename
    assert start + len(lines) - 1 == caught[0].lineno


def test_the_warning_shows_the_line_of_a_decorated_call() -> None:
    """Through wrappers too, although they stand in the globals of the function's own module."""
    inner = retry(on=Oops, attempts=2, backoff=0, name="inner")(_raise_oops)

    @retry(on=Oops, attempts=2, backoff=0, name="outer")
    def outer() -> None:
        inner()

    def caller() -> None:
        outer()

    with pytest.warns(NestedRetryWarning) as caught, pytest.raises(Oops):
        warnings.simplefilter("always")
        caller()
    assert (__file__, caller.__code__.co_firstlineno + 1) == (caught[0].filename, caught[0].lineno)


def test_a_warning_made_an_error_comes_out() -> None:
    """Under `-W error` the warning ends the call, as every warning does."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NestedRetryWarning):
            _nested_call()


@pytest.mark.parametrize("nested", ["stop", "allow"])
def test_the_other_words_do_not_warn(nested: str) -> None:
    """`"stop"` and `"allow"` are decisions."""
    inner = layer(nested, "inner")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Oops):
            layer(nested, "outer").call(lambda: inner.call(_raise_oops))


def test_no_warning_without_nesting() -> None:
    """A policy alone, an inner one that succeeds in the end, and one that gives up by not matching: no warning."""
    outcomes: list[Exception | None] = [Oops(), Oops(), None]

    def operation() -> None:
        outcome = outcomes.pop(0) if outcomes else None
        if outcome is not None:
            raise outcome

    with warnings.catch_warnings(), virtual_time():
        warnings.simplefilter("error")
        layer("warn").call(lambda: layer("warn").call(operation))
        with pytest.raises(KeyError):
            retry(on=Oops).call(lambda: retry(on=Oops).call(_raise_key_error))
        with pytest.raises(Oops):
            layer("warn").call(_raise_oops)


def _raise_key_error() -> None:
    raise KeyError


def test_the_mark_survives_another_context() -> None:
    """The mark is on the error, not in a context variable."""
    calls = []

    def bottom() -> None:
        calls.append(1)
        raise Oops

    inner = layer("stop")(bottom)
    with pytest.raises(Oops):
        layer("stop").call(lambda: contextvars.Context().run(inner))
    assert 3 == len(calls)
