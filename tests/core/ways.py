"""Every way to put an operation under a policy, behind one signature; and the two libraries of event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import trio

from forbear import Policy


@dataclass(frozen=True)
class Way:
    """
    One way to use a policy.

    Args:
        id: For the test's name.
        run: Runs the operation under the policy, and returns or raises what comes out.
        form: `"decorator"`, `"call"`, `"block"` or `"generator"`.
        library: `None` for a plain call, else `"asyncio"` or `"trio"`.
        body: What `run` runs, for tests that have a loop of their own.
    """

    id: str
    run: Callable[[Policy, Callable[[], object]], object]
    form: str
    library: str | None = None
    body: Callable[[Policy, Callable[[], object]], Any] = lambda policy, step: None

    @property
    def is_async(self) -> bool:
        """Whether the operation is an async one."""
        return self.library is not None


def _decorated(policy: Policy, step: Callable[[], object]) -> object:
    @policy
    def operation() -> object:
        return step()

    return operation()


def _called(policy: Policy, step: Callable[[], object]) -> object:
    def operation() -> object:
        return step()

    return policy.call(operation)


def _block(policy: Policy, step: Callable[[], object]) -> object:
    for attempt in policy:
        with attempt:
            return step()
    raise AssertionError("a block ended without a result and without an error")


def _generator(policy: Policy, step: Callable[[], object]) -> object:
    @policy
    def operation() -> Iterator[object]:
        yield step()

    return next(iter(operation()))


async def _adecorated(policy: Policy, step: Callable[[], object]) -> object:
    @policy
    async def operation() -> object:
        return step()

    return await operation()


async def _acalled(policy: Policy, step: Callable[[], object]) -> object:
    async def operation() -> object:
        return step()

    return await policy.acall(operation)


async def _ablock(policy: Policy, step: Callable[[], object]) -> object:
    async for attempt in policy:
        with attempt:
            return step()
    raise AssertionError("a block ended without a result and without an error")


async def _agenerator(policy: Policy, step: Callable[[], object]) -> object:
    @policy
    async def operation() -> Any:
        yield step()

    items = operation()
    try:
        return await anext(items)
    finally:
        await items.aclose()


def _on_asyncio(form: Callable[..., Any]) -> Callable[[Policy, Callable[[], object]], object]:
    return lambda policy, step: _outcome(asyncio.run(_settled(form, policy, step)))


def _on_trio(form: Callable[..., Any]) -> Callable[[Policy, Callable[[], object]], object]:
    return lambda policy, step: _outcome(trio.run(_settled, form, policy, step))


async def _settled(
    form: Callable[..., Any], policy: Policy, step: Callable[[], object]
) -> tuple[object, Any]:
    # Exits are not let out of the task: event loops treat them in their own ways.
    try:
        return await form(policy, step), None
    except BaseException as error:
        return None, error


def _outcome(settled: tuple[object, BaseException | None]) -> object:
    result, error = settled
    if error is None:
        return result
    try:
        raise error
    finally:
        del error, settled  # its traceback holds this frame


_PLAIN = {"decorator": _decorated, "call": _called, "block": _block, "generator": _generator}
_ASYNC = {"decorator": _adecorated, "call": _acalled, "block": _ablock, "generator": _agenerator}

WAYS = (
    *(Way(f"plain-{form}", run, form, None, run) for form, run in _PLAIN.items()),
    *(
        Way(f"asyncio-{form}", _on_asyncio(run), form, "asyncio", run)
        for form, run in _ASYNC.items()
    ),
    *(Way(f"trio-{form}", _on_trio(run), form, "trio", run) for form, run in _ASYNC.items()),
)


def on_asyncio(body: Callable[..., Any], *args: object) -> Any:
    """Run an async function on asyncio."""
    return asyncio.run(body(*args))


def on_trio(body: Callable[..., Any], *args: object) -> Any:
    """Run an async function on trio."""
    return trio.run(body, *args)


LIBRARIES = {"asyncio": on_asyncio, "trio": on_trio}


async def pause(seconds: float) -> None:
    """Sleep, on whichever library runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        await trio.sleep(seconds)
    else:
        await asyncio.sleep(seconds)
