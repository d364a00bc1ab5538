"""Generators are retried until their first item; the rest of their protocol is untouched."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import forbear
from forbear import retry


class Oops(Exception):
    """What fails here."""


POLICY = retry(on=Oops, attempts=3, backoff=0)


# -- generators: until the first item


def test_a_generator_is_retried_until_its_first_item() -> None:
    """Then errors pass, because what was handed out can't be taken back."""
    calls = []

    @POLICY
    def items(*, late: bool) -> Iterator[int]:
        calls.append(1)
        if len(calls) < 3:
            raise Oops("early")
        yield 1
        if late:
            raise Oops("late")
        yield 2

    assert [1, 2] == list(items(late=False))
    assert 3 == len(calls)
    found = []
    with pytest.raises(Oops, match="late") as caught:
        found.extend(items(late=True))
    assert [1] == found
    assert 4 == len(calls)
    assert forbear.reason(caught.value) is None


def test_generators_keep_send_throw_close_and_return() -> None:
    """The whole protocol reaches the function's own generator."""
    story: list[str] = []

    @POLICY
    def items() -> Any:
        try:
            got = yield "first"
            story.append(f"got {got}")
            try:
                yield "second"
            except KeyError:
                story.append("thrown")
                got = yield "third"
                story.append(f"got {got}")
            return "returned"
        finally:
            story.append("closed")

    run = items()
    assert "first" == next(run)
    assert "second" == run.send("x")
    assert "third" == run.throw(KeyError())
    with pytest.raises(StopIteration) as stop:
        run.send("y")
    assert "returned" == stop.value.value
    assert ["got x", "thrown", "got y", "closed"] == story

    story.clear()
    run = items()
    next(run)
    run.close()
    assert ["closed"] == story

    story.clear()
    run = items()
    next(run)
    run.send("x")
    run.close()
    assert ["got x", "closed"] == story

    def outer() -> Any:
        story.append((yield from items()))

    assert ["first", "second"] == list(outer())
    assert "returned" == story[-1]


def test_a_thrown_error_at_the_first_item_passes() -> None:
    """Thrown into the generator after its first item, it is no failed attempt."""
    calls = []

    @POLICY
    def items() -> Any:
        calls.append(1)
        yield 1

    run = items()
    next(run)
    with pytest.raises(Oops):
        run.throw(Oops("thrown"))
    assert 1 == len(calls)


def test_an_empty_generator_returns_its_value() -> None:
    """Without an item there is a success, and the value of `return`."""

    @POLICY
    def items() -> Any:
        return "value"
        yield

    def outer() -> Any:
        return (yield from items())

    with pytest.raises(StopIteration) as stop:
        next(outer())
    assert "value" == stop.value.value


def test_async_generators_keep_asend_athrow_and_aclose() -> None:
    """The same for async generators."""
    story: list[str] = []
    calls = []

    @POLICY
    async def items() -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise Oops
        try:
            got = yield "first"
            story.append(f"got {got}")
            try:
                yield "second"
            except KeyError:
                story.append("thrown")
                yield "third"
        finally:
            story.append("closed")

    async def main() -> None:
        run = items()
        assert "first" == await anext(run)
        assert "second" == await run.asend("x")
        assert "third" == await run.athrow(KeyError())
        assert [] == [item async for item in run]
        run = items()
        await anext(run)
        await run.aclose()

    asyncio.run(main())
    assert ["got x", "thrown", "closed", "closed"] == story


def test_nothing_runs_before_the_first_item_is_asked_for() -> None:
    """A generator function that is called has not begun."""
    calls = []

    @POLICY
    def items() -> Iterator[int]:
        calls.append(1)
        yield 1

    run = items()
    assert [] == calls
    next(run)
    assert [1] == calls
