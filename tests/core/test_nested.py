"""Retries inside retries: three layers of three attempts are 27 calls if allowed, and 3 if not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio

import forbear

from layers import Wrapped, layer
from ways import LIBRARIES


class Oops(Exception):
    """The error at the bottom."""


Between = Callable[[Callable[[], None]], Callable[[], None]]


def straight(inner: Callable[[], None]) -> Callable[[], None]:
    """Let the error through."""

    def between() -> None:
        inner()

    return between


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
