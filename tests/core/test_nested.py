"""Retries inside retries: three layers of three attempts are 27 calls if allowed, and 3 if not."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio

import forbear
from forbear import NestedRetryWarning, retry
from forbear.testing import virtual_time

from drivers import LIBRARIES


class Oops(Exception):
    """The error at the bottom."""


class Wrapped(Exception):
    """What a layer between makes of it."""


def layer(nested: str, name: str = "layer") -> Any:
    """Make one layer of three attempts."""
    return retry(on=Exception, attempts=3, backoff=0, nested=nested, name=name)  # type: ignore[arg-type]


Between = Callable[[Callable[[], None]], Callable[[], None]]


def straight(inner: Callable[[], None]) -> Callable[[], None]:
    """Let the error through."""
    return lambda: inner()


def raises_from(inner: Callable[[], None]) -> Callable[[], None]:
    """Raise another from it."""

    def between() -> None:
        try:
            inner()
        except Exception as error:
            raise Wrapped from error

    return between


def raises_while_handling(inner: Callable[[], None]) -> Callable[[], None]:
    """Raise another while handling it."""

    def between() -> None:
        try:
            inner()
        except Exception:
            raise Wrapped  # noqa: B904 (the implicit context is what is tested)

    return between


def in_a_group(inner: Callable[[], None]) -> Callable[[], None]:
    """Put it into a group, with another that was retried to the end."""

    def between() -> None:
        errors = []
        for _ in range(2):
            try:
                inner()
            except Exception as error:
                errors.append(error)
        raise ExceptionGroup("both", errors)

    return between


def in_a_pool(inner: Callable[[], None]) -> Callable[[], None]:
    """Run it in a thread of a pool."""

    def between() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(inner).result()

    return between


def in_an_event_loop(inner: Callable[[], None]) -> Callable[[], None]:
    """Run it in a thread of an event loop's own."""
    return lambda: asyncio.run(asyncio.to_thread(inner))


BETWEEN = [straight, raises_from, raises_while_handling, in_a_pool, in_an_event_loop]


@pytest.mark.parametrize(("nested", "calls"), [("allow", 27), ("stop", 3)])
@pytest.mark.parametrize("between", BETWEEN)
def test_three_layers_of_three(between: Between, nested: str, calls: int) -> None:
    """An error that was retried to the end is marked, and the mark is found whatever the layers between do."""
    made = []

    def bottom() -> None:
        made.append(1)
        raise Oops

    inner = layer(nested)(bottom)
    middle = layer(nested)(between(inner))
    outer = layer(nested)(between(middle))
    with pytest.raises((Oops, Wrapped)) as caught:
        outer()
    assert calls == len(made)
    assert ("attempts" if nested == "allow" else "nested") == forbear.reason(caught.value)


@pytest.mark.parametrize(("nested", "calls"), [("allow", 2 * 3 * 3 * 2 * 3), ("stop", 2 * 2 * 3)])
def test_three_layers_through_groups(nested: str, calls: int) -> None:
    """A group counts as retried to the end if all its members are."""
    made = []

    def bottom() -> None:
        made.append(1)
        raise Oops

    middle = layer(nested)(in_a_group(layer(nested)(bottom)))
    outer = layer(nested)(in_a_group(middle))
    with pytest.raises(ExceptionGroup) as caught:
        outer()
    assert calls == len(made)
    assert ("attempts" if nested == "allow" else "nested") == forbear.reason(caught.value)


def test_a_group_with_a_fresh_error_is_not_nested() -> None:
    """If one member has not been retried, trying again may help."""
    made = []

    def bottom() -> None:
        made.append(1)
        raise Oops

    inner = layer("allow")(bottom)

    def between() -> None:
        try:
            inner()
        except Oops as error:
            raise ExceptionGroup("g", [error, Oops("fresh")]) from None

    with pytest.raises(ExceptionGroup):
        layer("stop")(between)()
    assert 9 == len(made)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("nested", "calls"), [("allow", 27), ("stop", 3)])
def test_three_async_layers(library: str, nested: str, calls: int) -> None:
    """The same in tasks, awaited directly."""
    made = []

    async def bottom() -> None:
        made.append(1)
        raise Oops

    with pytest.raises(Oops) as caught:
        LIBRARIES[library](layer(nested)(layer(nested)(layer(nested)(bottom))))
    assert calls == len(made)
    assert ("attempts" if nested == "allow" else "nested") == forbear.reason(caught.value)


@pytest.mark.parametrize(("nested", "calls"), [("allow", 27), ("stop", 3)])
@pytest.mark.parametrize(
    "how", ["task", "gather", "TaskGroup", "to_thread", "trio nursery", "trio.to_thread"]
)
def test_three_async_layers_through_tasks(how: str, nested: str, calls: int) -> None:
    """The same where each layer runs in a task or thread of its own, and where the error comes in a group."""
    made = []

    async def task(fn: Callable[[], Any]) -> None:
        await asyncio.create_task(fn())

    async def gather(fn: Callable[[], Any]) -> None:
        await asyncio.gather(fn())

    async def task_group(fn: Callable[[], Any]) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fn())

    async def to_thread(fn: Callable[[], Any]) -> None:
        await asyncio.to_thread(lambda: asyncio.run(fn()))

    async def nursery(fn: Callable[[], Any]) -> None:
        async with trio.open_nursery() as group:
            group.start_soon(fn)

    async def trio_to_thread(fn: Callable[[], Any]) -> None:
        await trio.to_thread.run_sync(lambda: trio.run(fn))

    ways = {
        "task": task,
        "gather": gather,
        "TaskGroup": task_group,
        "to_thread": to_thread,
        "trio nursery": nursery,
        "trio.to_thread": trio_to_thread,
    }

    async def bottom() -> None:
        made.append(1)
        raise Oops

    inner: Any = layer(nested)(bottom)
    for _ in range(2):

        async def between(fn: Any = inner) -> None:
            await ways[how](fn)

        inner = layer(nested)(between)
    with pytest.raises((Oops, ExceptionGroup)) as caught:
        (trio.run if how.startswith("trio") else _run_asyncio)(inner)
    assert calls == len(made)
    assert ("attempts" if nested == "allow" else "nested") == forbear.reason(caught.value)


def _run_asyncio(fn: Callable[[], Any]) -> Any:
    return asyncio.run(fn())


@pytest.mark.parametrize(("nested", "calls"), [("allow", 27), ("stop", 3)])
def test_three_layers_as_blocks(nested: str, calls: int) -> None:
    """Blocks inside blocks, and `.call` inside `.call`."""
    made = []

    def bottom() -> None:
        made.append(1)
        raise Oops

    with pytest.raises(Oops):
        for one in layer(nested):
            with one:
                for two in layer(nested):
                    with two:
                        for three in layer(nested):
                            with three:
                                bottom()
    assert calls == len(made)
    made.clear()
    with pytest.raises(Oops):
        layer(nested).call(lambda: layer(nested).call(lambda: layer(nested).call(bottom)))
    assert calls == len(made)


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


# -- the warning


def _nested_call() -> None:
    inner = retry(on=Oops, attempts=2, backoff=0, name="inner")
    retry(on=Oops, attempts=4, backoff=0, name="outer").call(lambda: inner.call(_raise_oops))


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
    outer = retry(on=Oops, attempts=2, backoff=0, name="outer")(lambda: inner())

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
