"""Async calls: what a scope or a policy's own limit cuts off, and with what error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import forbear
from forbear import Cancelled, Event, retry
from forbear.testing import virtual_time

from drivers import text_of
from processes import output_of
from ways import LIBRARIES, pause

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


# -- async: what runs inside is cut off


def test_an_async_scope_cuts_off_when_its_time_is_over(library: Callable[..., Any]) -> None:
    """TimeoutError, as `asyncio.timeout` and `trio.fail_after` raise it."""

    async def main() -> None:
        async with forbear.scope(timeout=0.01):
            await pause(FOR_EVER)

    with pytest.raises(TimeoutError, match=r"0\.01"):
        library(main)


def test_an_async_scope_cuts_off_when_it_is_cancelled(library: Callable[..., Any]) -> None:
    """`Cancelled`, also from another thread, while something foreign is awaited."""

    async def main() -> None:
        async with forbear.scope() as scope:
            threading.Timer(0.01, scope.cancel, ["bye"]).start()
            await pause(FOR_EVER)

    with pytest.raises(Cancelled) as caught:
        library(main)
    assert "bye" == caught.value.reason


def test_the_error_of_a_cut_names_the_last_failure(library: Callable[..., Any]) -> None:
    """When it cuts into an attempt after a failed one, that failure is the cause."""
    for cancel in (True, False):
        calls = []

        async def operation(calls: list[int] = calls) -> None:
            calls.append(1)
            if len(calls) > 1:
                await pause(FOR_EVER)
            raise Oops("first")

        async def main(cancel: bool = cancel, operation: Any = operation) -> None:
            async with forbear.scope(None if cancel else 0.02) as scope:
                if cancel:
                    threading.Timer(0.02, scope.cancel, ["bye"]).start()
                await retry(on=Oops, backoff=0).acall(operation)

        with pytest.raises(Cancelled if cancel else TimeoutError) as caught:
            library(main)
        assert "Oops: first" == text_of(caught.value.__cause__)


def test_an_async_wait_is_ended_by_the_scope(library: Callable[..., Any]) -> None:
    """A scope cancelled while a policy inside waits ends in Cancelled with the failure as its cause."""

    async def main() -> None:
        async with forbear.scope() as scope:
            threading.Timer(0.01, scope.cancel, ["bye"]).start()
            await PATIENT.acall(afail)

    with pytest.raises(Cancelled) as caught:
        library(main)
    assert ("bye", "Oops: e") == (caught.value.reason, text_of(caught.value.__cause__))


def test_a_plain_with_in_async_code_only_bounds_the_waits(library: Callable[..., Any]) -> None:
    """The attempt is not cut off; a wait inside is ended by `cancel`."""

    async def main() -> None:
        with forbear.scope(timeout=0.001) as scope:
            await pause(0.01)
            scope.cancel("bye")
            await pause(0.001)
            with pytest.raises(Cancelled):
                await PATIENT.acall(afail)

    library(main)


def test_an_error_of_the_body_stands(library: Callable[..., Any]) -> None:
    """What the body raises comes out of the scope untouched."""

    async def main() -> None:
        async with forbear.scope(timeout=FOR_EVER):
            raise Oops("own")

    with pytest.raises(Oops, match="own"):
        library(main)


def test_a_result_that_was_ready_in_time_stands(library: Callable[..., Any]) -> None:
    """A cancellation that comes after the body has ended changes nothing."""

    async def main() -> str:
        async with forbear.scope() as scope:
            result = "ready"
            scope.cancel("late")
        await pause(0.005)
        return result

    assert "ready" == library(main)


def test_scopes_inside_each_other_cut_the_right_one(library: Callable[..., Any]) -> None:
    """The inner limit ends the inner block only, the outer one both."""

    async def main() -> list[str]:
        story = []
        async with forbear.scope(timeout=FOR_EVER):
            try:
                async with forbear.scope(timeout=0.005):
                    await pause(FOR_EVER)
            except TimeoutError:
                story.append("inner")
            await pause(0)
            story.append("outer goes on")
        try:
            async with forbear.scope(timeout=0.005):
                async with forbear.scope(timeout=FOR_EVER):
                    await pause(FOR_EVER)
        except TimeoutError:
            story.append("outer")
        return story

    assert ["inner", "outer goes on", "outer"] == library(main)


def test_virtual_time_cuts_off_too(library: Callable[..., Any]) -> None:
    """With virtual time a limit fires when the clock has passed it: no real time goes by."""

    async def main() -> float:
        with virtual_time() as clock:
            with pytest.raises(TimeoutError):
                async with forbear.scope(timeout=1000.0):
                    await pause(0)
                    clock.advance(2000.0)
                    await pause(FOR_EVER)
            return clock.now()

    assert 2000.0 == library(main)


# -- limits of a policy on async calls


@pytest.mark.parametrize("form", ["acall", "decorator", "block"])
def test_total_timeout_cuts_an_attempt_off(library: Callable[..., Any], form: str) -> None:
    """TimeoutError with the reason "timeout", one note, and the hook is told."""
    told: list[Event] = []
    policy = retry(on=Oops, total_timeout=0.01, on_giveup=told.append, name="p")

    async def main() -> None:
        if form == "block":
            async for attempt in policy:
                with attempt:
                    await pause(FOR_EVER)
        elif form == "acall":
            await policy.acall(pause, FOR_EVER)
        else:
            await policy(pause)(FOR_EVER)

    with pytest.raises(TimeoutError) as caught:
        library(main)
    assert "timeout" == forbear.reason(caught.value)
    assert 1 == len(caught.value.__notes__)
    assert [("giveup", "timeout", 1)] == [
        (event.kind, event.reason, event.attempt) for event in told
    ]


@pytest.mark.parametrize("form", ["acall", "decorator", "block", "generator"])
def test_attempt_timeout_is_retried_whatever_on_says(
    library: Callable[..., Any], form: str
) -> None:
    """One attempt is cut off, fails with TimeoutError, and the next one begins."""
    policy = retry(on=Oops, attempt_timeout=0.005, attempts=3, backoff=0)
    calls = []

    async def operation() -> None:
        calls.append(1)
        await pause(FOR_EVER)

    async def items() -> Any:
        await operation()
        yield 1

    async def main() -> None:
        if form == "block":
            async for attempt in policy:
                with attempt:
                    await operation()
        elif form == "acall":
            await policy.acall(operation)
        elif form == "generator":
            async for _ in policy(items)():
                pass
        else:
            await policy(operation)()

    with pytest.raises(TimeoutError, match="attempt_timeout") as caught:
        library(main)
    assert 3 == len(calls)
    assert "attempts" == forbear.reason(caught.value)


def test_giveup_wins_over_attempt_timeout(library: Callable[..., Any]) -> None:
    """`giveup=TimeoutError` ends it after the first."""
    calls = []

    async def operation() -> None:
        calls.append(1)
        await pause(FOR_EVER)

    with pytest.raises(TimeoutError) as caught:
        library(retry(on=Oops, giveup=TimeoutError, attempt_timeout=0.005).acall, operation)
    assert 1 == len(calls)
    assert forbear.reason(caught.value) is None


def test_the_time_limit_binds_each_call_on_its_own() -> None:
    """Many calls of one policy at once, each with its own limit."""

    @retry(on=Oops, total_timeout=100, backoff=10, attempts=3)
    async def operation(n: int) -> float | None:
        if n not in seen:
            seen.add(n)
            raise Oops
        return forbear.remaining()

    seen: set[int] = set()

    async def main() -> list[float | None]:
        with virtual_time():
            return list(await asyncio.gather(*(operation(n) for n in range(20))))

    assert [90.0] * 20 == asyncio.run(main())


# -- odd ends


def test_a_scope_cancelled_before_it_is_entered_cuts_off_at_once(
    library: Callable[..., Any],
) -> None:
    """A shutdown may come first."""

    async def main() -> None:
        scope = forbear.scope()
        scope.cancel("before")
        async with scope:
            await pause(3600)

    with pytest.raises(Cancelled, match="before"):
        library(main)


@pytest.mark.parametrize("limits", ["", "total_timeout=7200", "attempt_timeout=7200"])
def test_what_waits_in_a_loop_that_was_closed_disturbs_nobody(limits: str) -> None:
    """Its tasks never end; cancelling them is no error, and they go as silently as without forbear."""
    program = f"""
        import asyncio, gc, logging
        import forbear

        logging.disable()  # asyncio complains of tasks that never end, and rightly so
        policy = forbear.retry(on=OSError, backoff=3600, {limits})

        async def fail():
            raise OSError

        async def wait(scope):
            async with scope:
                await policy.acall(fail)

        async def main(scope):
            task = asyncio.ensure_future(wait(scope))
            for _ in range(10):
                await asyncio.sleep(0)
            assert len(forbear._clock.waiting) == 1
            return task

        scope = forbear.scope(timeout=7200)
        loop = asyncio.new_event_loop()
        task = loop.run_until_complete(main(scope))
        loop.close()
        scope.cancel("nobody hears it")
        forbear.cancel_all("nor this")
        print(task.done())
        del task, scope
        gc.collect()
        print(len(forbear._clock.waiting))
    """
    assert ["False", "0"] == output_of(program)


def test_a_time_limit_outside_of_a_task_is_refused() -> None:
    """Nothing could cut off a coroutine that a callback drives by hand."""
    told: list[BaseException] = []

    def drive() -> None:
        coroutine = retry(on=Oops, total_timeout=1).acall(afail)
        try:
            coroutine.send(None)
        except RuntimeError as error:
            told.append(error)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(drive)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert "a time limit can cut off only what runs in a task" == str(told[0])
