"""Whom a scope binds: tasks and threads of event loops, and nobody once it is left."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import trio

import forbear
from forbear import Cancelled, retry
from forbear.testing import virtual_time

from patience import PATIENT, Oops, afail, fail, soon

# -- whom a scope binds


def test_tasks_inherit_a_scope() -> None:
    """A task made inside keeps to it."""

    async def main() -> list[str]:
        async def child() -> str:
            try:
                await PATIENT.acall(afail)
            except Cancelled as error:
                return error.reason
            return "?"

        with forbear.scope() as scope:
            tasks = [asyncio.create_task(child()) for _ in range(3)]
            threading.Timer(0.01, scope.cancel, ["bye"]).start()
            return list(await asyncio.gather(*tasks))

    assert ["bye"] * 3 == asyncio.run(main())


def test_to_thread_inherits_a_scope() -> None:
    """`asyncio.to_thread` and `trio.to_thread` take the context with them, and so the limit."""

    async def on_asyncio() -> float | None:
        with forbear.scope(timeout=100):
            return await asyncio.to_thread(forbear.remaining)

    async def on_trio() -> float | None:
        with forbear.scope(timeout=100):
            return await trio.to_thread.run_sync(forbear.remaining)

    for left in (asyncio.run(on_asyncio()), trio.run(on_trio)):
        assert left is not None
        assert 0 < left <= 100


def test_a_wait_in_to_thread_is_woken() -> None:
    """Cancelling ends the sync wait of a thread that belongs to the scope."""

    async def main() -> str:
        with forbear.scope() as scope:
            thread = soon(lambda: scope.cancel("bye"))
            try:
                await asyncio.to_thread(PATIENT.call, fail)
            except Cancelled as error:
                thread.join()
                return error.reason
        return "?"

    assert "bye" == asyncio.run(main())


def test_executors_and_threads_do_not_inherit() -> None:
    """They have a context of their own."""
    seen: list[float | None] = []
    with forbear.scope(timeout=5), ThreadPoolExecutor(1) as pool:
        seen.append(pool.submit(forbear.remaining).result())
        thread = threading.Thread(
            target=lambda: contextvars.Context().run(lambda: seen.append(forbear.remaining()))
        )
        thread.start()
        thread.join()
    assert [None, None] == seen


def test_a_task_that_outlives_the_block_is_free() -> None:
    """Once the block is left it binds nobody: the task falls back to the next scope outwards."""

    async def main() -> list[float | None]:
        seen: list[float | None] = []
        inside, outside = asyncio.Event(), asyncio.Event()

        async def child() -> None:
            seen.append(forbear.remaining())
            inside.set()
            await outside.wait()
            seen.append(forbear.remaining())
            scope.cancel("too late")
            with virtual_time():
                with pytest.raises(Oops):
                    await retry(on=Oops, attempts=2).acall(afail)

        with virtual_time():
            with forbear.scope(timeout=50):
                with forbear.scope(timeout=5) as scope:
                    task = asyncio.create_task(child())
                    await inside.wait()
                outside.set()
                await task
        return seen

    assert [5.0, 50.0] == asyncio.run(main())


def test_a_scope_left_in_another_context_binds_nobody() -> None:
    """As an async fixture does: entered in one context, left in another."""
    scope = forbear.scope(timeout=5)
    contextvars.copy_context().run(scope.__enter__)
    scope.__exit__(None, None, None)
    assert forbear.remaining() is None
