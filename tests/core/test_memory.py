"""Nothing is left behind: no reference cycle, no growing list, no task, no thread."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import trio

import forbear
from forbear import Permanent, Policy, RetryAfter, Ticker, retry
from forbear.testing import virtual_time

from drivers import only_heard_by
from ways import LIBRARIES, WAYS, Way


class Oops(Exception):
    """What fails here."""


class Thing:
    """Something that a frame holds, and whose end can be watched."""


@pytest.fixture
def without_gc() -> Iterator[None]:
    """Only reference counts free what is freed."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _permanent() -> BaseException:
    return Permanent(Oops("p"))


def _retry_after() -> BaseException:
    error = RetryAfter(1)
    error.__cause__ = Oops("busy")
    return error


def _raising_hook(event: forbear.Event) -> None:
    raise RuntimeError("hook")


def _cancelling_hook(event: forbear.Event) -> None:
    forbear.cancel_all("all")


ENDINGS: dict[str, tuple[dict[str, Any], list[Callable[[], BaseException] | None]]] = {
    "success at once": ({}, [None]),
    "success after failures": ({}, [Oops, Oops, None]),
    "attempts": ({}, [Oops]),
    "not matched": ({}, [KeyError]),
    "not matched after failures": ({}, [Oops, KeyError]),
    "exit": ({}, [KeyboardInterrupt]),
    "exit after failures": ({}, [Oops, KeyboardInterrupt]),
    "permanent": ({}, [_permanent]),
    "retry-after": ({}, [_retry_after]),
    "backoff": ({"backoff": forbear.Stop()}, [Oops]),
    "timeout": ({"total_timeout": 0.5}, [Oops]),
    "hint": ({"hint": lambda error: 1000}, [Oops]),
    "hook raises": ({"on_retry": _raising_hook}, [Oops]),
    "last hook raises": ({"on_giveup": _raising_hook}, [Oops]),
    "cancelled": ({"on_retry": _cancelling_hook}, [Oops]),
    "two kinds": ({"on": Exception}, [Oops, ValueError, Oops]),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_no_reference_cycle_is_left(way: Way, ending: str, without_gc: None) -> None:
    """What the frames of the attempts hold dies with the call, without the garbage collector."""
    given, steps = ENDINGS[ending]
    left = list(steps)
    things: list[weakref.ref[Thing]] = []

    def step() -> object:
        thing = Thing()
        things.append(weakref.ref(thing))
        make = left.pop(0) if len(left) > 1 else left[0]
        if make is not None:
            raise make()
        return "well"

    policy = Policy(**({"on": Oops, "attempts": 3, "backoff": 1, "nested": "allow"} | given))
    with virtual_time():
        alive = _play(way, policy, step, things)
    assert alive
    assert [None] * len(things) == alive


def _play(
    way: Way, policy: Policy, step: Callable[[], object], things: list[weakref.ref[Thing]]
) -> list[Thing | None]:
    """Play it, and return what is alive then; in the event loop, because loops leave cycles of their own."""
    if way.library is None:
        with contextlib.suppress(BaseException):
            way.body(policy, step)
        return [thing() for thing in things]

    async def main() -> list[Thing | None]:
        with contextlib.suppress(BaseException):
            await way.body(policy, step)
        return [thing() for thing in things]

    alive: list[Thing | None] = LIBRARIES[way.library](main)
    return alive


@pytest.mark.parametrize(
    "way", [way for way in WAYS if way.form != "block"], ids=lambda way: way.id
)
def test_a_kept_error_holds_no_run(way: Way, without_gc: None) -> None:
    """The error that comes out may live on; the results and errors of earlier attempts don't."""
    earlier: list[weakref.ref[BaseException]] = []

    def step() -> object:
        error = Oops()
        earlier.append(weakref.ref(error))
        try:
            raise error
        finally:
            del error  # its traceback holds this frame

    kept: BaseException | None = None
    with virtual_time():
        try:
            way.run(retry(on=Oops, attempts=4, backoff=1), step)
        except Oops as error:
            kept = error
    assert kept is not None
    assert [None, None, None, kept] == [one() for one in earlier]


def test_results_are_let_go(without_gc: None) -> None:
    """A refused result lives until the next attempt and no longer."""
    things: list[weakref.ref[Thing]] = []

    def step() -> Thing:
        thing = Thing()
        things.append(weakref.ref(thing))
        return thing

    with virtual_time():
        last = retry(on=Oops, on_result=lambda result: True, attempts=4, backoff=1).call(step)
    assert [None, None, None, last] == [thing() for thing in things]


@pytest.mark.parametrize(
    ("limit", "heard"),
    [(None, False), (1e9, False), (None, True)],
    ids=["unlimited", "limited", "heard"],
)
@pytest.mark.parametrize("form", ["plain", "asyncio"])
def test_100_000_failures_keep_memory_flat(form: str, limit: float | None, heard: bool) -> None:
    """One call may fail as often as it likes: it remembers the last few texts, and nothing else."""
    count = 0
    sizes: list[int] = []

    def step() -> None:
        nonlocal count
        count += 1
        if count in (20_000, 100_000):
            sizes.append(sys.getallocatedblocks())
        if count < 100_000:
            raise Oops("x" * 100)

    async def astep() -> None:
        step()

    policy = retry(on=Oops, attempts=None, backoff=0, total_timeout=limit)
    with only_heard_by([logging.NullHandler()] if heard else []):
        if form == "plain":
            policy.call(step)
        else:
            asyncio.run(policy.acall(astep))  # type: ignore[arg-type]
    assert 100_000 == count
    assert sizes[1] - sizes[0] < 500


def test_the_note_stays_short() -> None:
    """However many failures there were, and however long their texts."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        raise Oops(f"{count} " + "x" * 100_000)

    with pytest.raises(Oops) as caught:
        retry(on=Oops, attempts=1000, backoff=0).call(step)
    note = caught.value.__notes__[0]
    assert "attempt 1000" in note
    assert "attempt 998" in note
    assert "attempt 997" not in note
    assert len(note) < 3000


def test_an_error_raised_for_ever_has_one_note() -> None:
    """One object, given up again and again: its note and mark are replaced, not added."""
    kept = Oops("kept")

    def step() -> None:
        raise kept

    for attempts in range(1, 50):
        with pytest.raises(Oops):
            retry(on=Oops, attempts=attempts, backoff=0, nested="allow").call(step)
        kept.__traceback__ = None
    assert 1 == len(kept.__notes__)
    assert "49 attempts" in kept.__notes__[0]


def test_no_task_is_left() -> None:
    """After calls that were cut off, cancelled or timed out, only the caller's own task is there."""

    async def fail() -> None:
        raise Oops

    async def hang() -> None:
        await asyncio.sleep(3600)

    async def main() -> int:
        with contextlib.suppress(Oops):
            await retry(on=Oops, backoff=0.001, total_timeout=3600, attempt_timeout=3600).acall(
                fail
            )
        with contextlib.suppress(TimeoutError):
            await retry(on=Oops, attempt_timeout=0.001, attempts=2, backoff=0).acall(hang)
        with contextlib.suppress(TimeoutError):
            await retry(on=Oops, total_timeout=0.001).acall(hang)
        task = asyncio.create_task(retry(on=Oops, backoff=3600).acall(fail))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        async for _ in Ticker(forbear.Constant(0).take(2)):
            pass
        return len(asyncio.all_tasks())

    assert 1 == asyncio.run(main())
    assert set() == forbear._clock.waiting


def test_no_thread_is_left() -> None:
    """Waits need none."""
    before = threading.active_count()

    def fail() -> None:
        raise Oops

    async def afail() -> None:
        raise Oops

    for limit in (None, 3600):
        policy = retry(on=Oops, attempts=2, backoff=0.001, total_timeout=limit)
        with contextlib.suppress(Oops):
            policy.call(fail)
        with contextlib.suppress(Oops):
            asyncio.run(policy.acall(afail))  # type: ignore[arg-type]
        with contextlib.suppress(Oops):
            trio.run(policy.acall, afail)
    assert before == threading.active_count()
    assert set() == forbear._clock.waiting


def test_a_scope_holds_no_failure_after_it_is_left(without_gc: None) -> None:
    """An async scope that was cut off names the last failure, and then lets go of it."""
    seen: list[weakref.ref[BaseException]] = []

    async def step() -> None:
        if not seen:
            error = Oops()
            seen.append(weakref.ref(error))
            try:
                raise error
            finally:
                del error  # its traceback holds this frame
        await asyncio.sleep(3600)

    async def main(scope: forbear.Scope) -> None:
        with contextlib.suppress(TimeoutError):
            async with scope:
                await retry(on=Oops, backoff=0).acall(step)

    scope = forbear.scope(timeout=0.01)
    asyncio.run(main(scope))
    assert seen[0]() is None


def test_many_policies_share_their_shapes() -> None:
    """Decorating ten thousand functions keeps a few hundred bytes for each, not a compiled text for each."""

    def make() -> Callable[[int], int]:
        return lambda x: x

    functions = [make() for _ in range(2000)]
    policy = retry(on=Oops)
    policy(functions[0])
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        decorated = [policy(function) for function in functions]
        size = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 2000 == len(decorated)
    assert size / len(functions) < 2000
