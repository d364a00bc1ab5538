"""Other people's cancellation passes through every policy, untouched and at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import trio

import forbear
from forbear import Event, retry

from ways import LIBRARIES

FOR_EVER = 3600.0  # a wait that only a cancellation ends; the test hangs if it doesn't


class Oops(Exception):
    """What fails here."""


async def afail() -> None:
    raise Oops("e")


PATIENT = retry(on=Oops, backoff=FOR_EVER, hint=None)


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run an async function on asyncio, and on trio."""
    run: Callable[..., Any] = LIBRARIES[request.param]
    return run


# -- other people's cancellation


@pytest.mark.parametrize("limits", [{}, {"total_timeout": 50.0}, {"attempt_timeout": 50.0}])
@pytest.mark.parametrize("during", ["attempt", "wait", "hook"])
def test_external_cancellation_is_never_swallowed(during: str, limits: dict[str, float]) -> None:
    """`task.cancel()` comes out as CancelledError, whatever `on` says, and the task counts as cancelled."""
    there = asyncio.Event()

    async def operation() -> None:
        if during == "attempt":
            there.set()
            await asyncio.sleep(FOR_EVER)
        raise Oops("e")

    async def hook(event: Event) -> None:
        if during == "hook":
            there.set()
            await asyncio.sleep(FOR_EVER)
        elif during == "wait":
            there.set()

    async def main() -> asyncio.Task[Any]:
        policy = retry(
            on=lambda error: True, backoff=FOR_EVER if not limits else 20.0, on_retry=hook, **limits
        )

        async def run() -> None:
            await policy.acall(operation)

        task = asyncio.create_task(run())
        await there.wait()
        await asyncio.sleep(0)
        task.cancel("from outside")
        await asyncio.wait([task])
        return task

    task = asyncio.run(main())
    assert task.cancelled()


@pytest.mark.parametrize("during", ["attempt", "wait"])
def test_external_cancellation_of_a_block(during: str) -> None:
    """In the block form too, with limits of its own."""

    async def main() -> asyncio.Task[None]:
        there = asyncio.Event()

        async def run() -> None:
            async for attempt in retry(
                on=Exception, backoff=20.0, total_timeout=50, attempt_timeout=50
            ):
                with attempt:
                    there.set()
                    if during == "attempt":
                        await asyncio.sleep(FOR_EVER)
                    raise Oops

        task = asyncio.create_task(run())
        await there.wait()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task

    assert asyncio.run(main()).cancelled()


@pytest.mark.parametrize("limits", [{}, {"total_timeout": 50.0}, {"attempt_timeout": 50.0}])
@pytest.mark.parametrize("during", ["attempt", "wait"])
def test_a_trio_cancel_scope_around(during: str, limits: dict[str, float]) -> None:
    """Trio's own cancellation passes through to the scope that asked for it."""

    async def operation() -> None:
        if during == "attempt":
            await trio.sleep(FOR_EVER)
        raise Oops

    async def main() -> bool:
        with trio.move_on_after(0.01) as cancel_scope:
            await retry(on=lambda error: True, backoff=20.0, **limits).acall(operation)
        return cancel_scope.cancelled_caught

    assert trio.run(main)


def test_asyncio_timeout_around(library: Callable[..., Any]) -> None:
    """A limit of the library's own around a policy works as it does around anything."""
    if library is LIBRARIES["trio"]:

        async def main() -> None:
            with trio.fail_after(0.01):
                await PATIENT.acall(afail)

        with pytest.raises(trio.TooSlowError):
            library(main)
        return

    async def amain() -> None:
        async with asyncio.timeout(0.01):
            await PATIENT.acall(afail)

    with pytest.raises(TimeoutError):
        library(amain)


def test_asyncio_timeout_inside_an_attempt_is_a_failure() -> None:
    """The TimeoutError of a limit inside the function is an error like any other."""
    calls = []

    async def operation() -> str:
        calls.append(1)
        if len(calls) < 3:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(FOR_EVER)
        return "well"

    assert "well" == asyncio.run(retry(on=TimeoutError, backoff=0).acall(operation))  # type: ignore[arg-type]


def test_both_at_once_is_cancelled_from_outside() -> None:
    """If the task was cancelled and the scope too, the outer cancellation is not lost."""

    async def main() -> asyncio.Task[None]:
        there = asyncio.Event()
        scopes = []

        async def run() -> None:
            async with forbear.scope() as scope:
                scopes.append(scope)
                there.set()
                await asyncio.sleep(FOR_EVER)

        task = asyncio.create_task(run())
        await there.wait()
        scopes[0].cancel("scope")
        task.cancel()
        await asyncio.wait([task])
        return task

    assert asyncio.run(main()).cancelled()
