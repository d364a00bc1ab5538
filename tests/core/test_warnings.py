"""A sync wait on a thread that runs an event loop stops all that is in it, and warns."""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import trio

import forbear
from forbear import BlockingWaitWarning, retry
from forbear.testing import virtual_time

from ways import LIBRARIES


class Oops(Exception):
    """What fails here."""


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Each library of event loops."""
    run: Callable[..., Any] = LIBRARIES[request.param]
    return run


def give_up(delay: float = 0.0001) -> None:
    """Retry to the end, waiting once."""

    def fail() -> None:
        raise Oops

    with pytest.raises(Oops):
        retry(on=Oops, attempts=2, backoff=delay, name="fetch").call(fail)


def warned(run: Callable[[], object]) -> list[warnings.WarningMessage]:
    """Run it, and return all warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return seen


def test_it_warns_in_a_task(library: Callable[..., Any]) -> None:
    """On asyncio and trio; it names the policy and what to do, and shows the caller's line."""

    async def main() -> None:
        give_up()

    (seen,) = warned(lambda: library(main))
    assert seen.category is BlockingWaitWarning
    assert "fetch waits on a thread that runs an event loop" in str(seen.message)
    assert "asyncio.to_thread" in str(seen.message)
    lines, first = inspect.getsourcelines(give_up)
    assert (__file__, first + len(lines) - 1) == (seen.filename, seen.lineno)


def test_it_warns_in_a_callback_of_the_loop() -> None:
    """No task runs there, and everything stands still all the same."""

    async def main() -> None:
        asyncio.get_running_loop().call_soon(give_up)
        await asyncio.sleep(0.01)

    assert [BlockingWaitWarning] == [one.category for one in warned(lambda: asyncio.run(main()))]


def test_the_warning_may_be_an_error() -> None:
    """Then it comes out of the call, and nothing is left waiting."""

    async def main() -> None:
        retry(on=ZeroDivisionError, backoff=3600).call(divmod, 1, 0)

    with pytest.raises(BlockingWaitWarning):
        asyncio.run(main())
    assert set() == forbear._clock.waiting


def test_it_does_not_warn_where_nothing_stands_still(library: Callable[..., Any]) -> None:
    """Without an event loop, in a thread of the loop's, in virtual time, without a wait."""

    async def in_a_thread() -> None:
        run_in_thread = asyncio.to_thread if _on_asyncio() else trio.to_thread.run_sync
        await run_in_thread(give_up)

    async def in_virtual_time() -> None:
        with virtual_time():
            give_up(3600)

    async def without_a_wait() -> None:
        give_up(0)

    for body in (in_a_thread, in_virtual_time, without_a_wait):
        assert [] == warned(lambda body=body: library(body))  # type: ignore[misc]
    assert [] == warned(give_up)


def _on_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize(("has_kernel", "count"), [(True, 0), (False, 1)])
def test_it_does_not_warn_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, has_kernel: bool, count: int
) -> None:
    """There the loop is the kernel's, and a cell that waits is meant; IPython in a terminal is none."""
    shell = types.SimpleNamespace(kernel=object()) if has_kernel else types.SimpleNamespace()
    ipython = types.ModuleType("IPython")
    monkeypatch.setattr(ipython, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", ipython)

    async def main() -> None:
        give_up()

    assert count == len(warned(lambda: asyncio.run(main())))
