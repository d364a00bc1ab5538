"""The block form: `for attempt in policy: with attempt: ...`, and `async for`."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import forbear
from forbear import Cancelled, ConfigError, Event, retry
from forbear.testing import virtual_time

from ways import LIBRARIES


class Oops(Exception):
    """What fails here."""


def fail() -> None:
    raise Oops


POLICY = retry(on=Oops, attempts=4, backoff=1)


@pytest.fixture(params=LIBRARIES)
def library(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Run an async function on asyncio, and on trio."""
    run: Callable[..., Any] = LIBRARIES[request.param]
    return run


def test_attempts_are_numbered_from_one() -> None:
    """And the loop ends by itself once an attempt has succeeded."""
    numbers = []
    with virtual_time():
        for attempt in POLICY:
            with attempt:
                numbers.append(attempt.number)
                if attempt.number < 3:
                    raise Oops
    assert [1, 2, 3] == numbers


def test_async_attempts_are_numbered_from_one(library: Callable[..., Any]) -> None:
    """The same under `async for`."""

    async def main() -> list[int]:
        numbers = []
        with virtual_time():
            async for attempt in POLICY:
                with attempt:
                    numbers.append(attempt.number)
                    if attempt.number < 3:
                        raise Oops
        return numbers

    assert [1, 2, 3] == library(main)


def test_a_block_leaves_its_function_untouched() -> None:
    """`return`, `break` and `continue` inside mean what they always mean."""

    def returns() -> int:
        for attempt in POLICY:
            with attempt:
                return attempt.number
        return -1

    assert 1 == returns()
    for attempt in POLICY:
        with attempt:
            break
    numbers = []
    for attempt in POLICY:
        with attempt:
            numbers.append(attempt.number)
            continue
    assert [1] == numbers


def test_giving_up_raises_from_the_with() -> None:
    """The body's own error comes out, with its note."""
    with virtual_time() as clock, pytest.raises(Oops) as caught:
        for attempt in POLICY:
            with attempt:
                raise Oops(attempt.number)
    assert (4,) == caught.value.args
    assert [1.0, 1.0, 1.0] == clock.waits
    assert "gave up after 4 attempts" in caught.value.__notes__[0]


def test_giving_up_raises_from_an_async_with_too(library: Callable[..., Any]) -> None:
    """Unless a hook is to be awaited, which the loop does when it comes round."""
    behind: list[int] = []

    async def main(**hooks: Any) -> None:
        async for attempt in retry(on=Oops, attempts=2, backoff=0, **hooks):
            with attempt:
                fail()
            behind.append(attempt.number)

    async def with_a_hook() -> None:
        await main(on_giveup=lambda event: None)

    for body, numbers in ((main, [1]), (with_a_hook, [1, 2])):
        behind.clear()
        with pytest.raises(Oops):
            library(body)
        assert numbers == behind


def test_remaining_is_never_less_than_nothing() -> None:
    """An attempt may take longer than there is time."""
    with virtual_time() as clock:
        for attempt in POLICY.replace(total_timeout=10):
            with attempt:
                clock.advance(11)
                assert 0.0 == attempt.remaining == forbear.remaining()


def test_remaining_is_what_is_left_of_all_limits() -> None:
    """Own and around; None without a limit."""
    for attempt in POLICY:
        with attempt:
            assert attempt.remaining is None
    with virtual_time() as clock:
        for attempt in POLICY.replace(total_timeout=10):
            with attempt:
                assert 10.0 - clock.now() == attempt.remaining == forbear.remaining()
                if attempt.number < 3:
                    raise Oops
        with forbear.scope(timeout=3):
            for attempt in POLICY.replace(total_timeout=10):
                with attempt:
                    assert 3.0 == attempt.remaining


def test_remaining_before_the_attempt_is_entered() -> None:
    """The own limit counts from the start of the loop."""
    with virtual_time() as clock:
        for attempt in POLICY.replace(total_timeout=10):
            clock.advance(4)
            assert 6.0 == attempt.remaining
            with attempt:
                pass


def test_the_own_limit_binds_the_attempt_only() -> None:
    """What stands in the loop outside of `with`, and behind the loop, is free."""
    for attempt in POLICY.replace(total_timeout=10):
        assert forbear.remaining() is None
        with attempt:
            assert forbear.remaining() is not None
        assert forbear.remaining() is None
    for attempt in POLICY.replace(total_timeout=10):
        with attempt:
            break
    assert forbear.remaining() is None


def test_a_block_that_does_not_enter_its_attempt_is_refused() -> None:
    """It would go round for ever without trying anything."""
    with pytest.raises(ConfigError, match="with attempt"):
        for _ in POLICY:
            pass


def test_an_async_block_that_does_not_enter_its_attempt_is_refused(
    library: Callable[..., Any],
) -> None:
    """The same."""

    async def main() -> None:
        async for _ in POLICY:
            pass

    with pytest.raises(ConfigError, match="with attempt"):
        library(main)


def test_an_attempt_is_entered_once() -> None:
    """A second time is refused, inside and after."""
    with pytest.raises(ConfigError, match="once"):
        for attempt in POLICY:
            with attempt, attempt:
                pass
    with pytest.raises(ConfigError, match="once"):
        for attempt in POLICY:
            with attempt:
                pass
            with attempt:
                pass


def test_an_attempt_is_entered_inside_its_loop() -> None:
    """Before the loop has given it, there is nothing to enter."""
    with pytest.raises(ConfigError):
        with iter(POLICY):  # type: ignore[attr-defined]
            pass


def test_on_result_in_a_block_is_refused() -> None:
    """A block returns nothing."""
    policy = POLICY.replace(on_result=lambda result: True)
    with pytest.raises(ConfigError, match="on_result"):
        iter(policy)
    with pytest.raises(ConfigError, match="on_result"):
        aiter(policy)


def test_attempt_timeout_in_a_sync_block_is_refused() -> None:
    """Nothing can cut it off."""
    with pytest.raises(ConfigError, match="attempt_timeout"):
        iter(POLICY.replace(attempt_timeout=1))


def test_an_async_hook_in_a_sync_block_is_refused() -> None:
    """As for every sync use: nobody could await it."""

    async def hook(event: Event) -> None: ...

    with virtual_time(), pytest.raises(ConfigError, match="plain function"):
        for attempt in POLICY.replace(on_retry=hook):
            with attempt:
                raise Oops


def test_async_hooks_of_an_async_block_are_awaited(library: Callable[..., Any]) -> None:
    """Between the attempts, and before the error comes out."""
    told: list[str] = []

    async def hook(event: Event) -> None:
        told.append(event.kind)

    async def main() -> None:
        with virtual_time():
            async for attempt in POLICY.replace(on_retry=hook, on_giveup=hook, attempts=2):
                with attempt:
                    raise Oops

    with pytest.raises(Oops):
        library(main)
    assert ["retry", "giveup"] == told


def test_the_name_is_the_function_around() -> None:
    """Where the policy has none."""
    told: list[Event] = []

    def around() -> None:
        for attempt in POLICY.replace(on_retry=told.append, on_success=told.append):
            with attempt:
                if attempt.number < 2:
                    raise Oops

    with virtual_time():
        around()
    assert [around.__qualname__] * 2 == [event.policy for event in told]


def test_exits_leave_the_block_untouched() -> None:
    """Nothing is waited for and nothing told."""
    for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError, Cancelled):
        with virtual_time() as clock, pytest.raises(kind) as caught:
            for attempt in POLICY.replace(on=Exception):
                with attempt:
                    raise kind
        assert [] == clock.waits
        assert not hasattr(caught.value, "__notes__")


def test_one_policy_many_blocks_at_once() -> None:
    """Each loop has its own count."""
    with virtual_time():
        for outer in POLICY:
            with outer:
                for inner in POLICY:
                    with inner:
                        if inner.number < 2:
                            raise Oops("inner")
                assert 2 == inner.number
                if outer.number < 3:
                    raise Oops("outer")
        assert 3 == outer.number


def test_the_traceback_shows_the_body() -> None:
    """An error that comes out of a block was raised in the body, and its traceback ends there."""
    with virtual_time(), pytest.raises(Oops) as caught:
        for attempt in POLICY.replace(attempts=1):
            with attempt:
                raise Oops
    frames = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert [__file__] == frames


def test_cancelled_between_attempts_comes_out_of_the_loop() -> None:
    """The failure is its cause."""
    with virtual_time(), forbear.scope() as scope, pytest.raises(Cancelled) as caught:
        for attempt in POLICY:
            with attempt:
                raise Oops("e")
            scope.cancel("bye")
    assert "bye" == caught.value.reason
    assert isinstance(caught.value.__cause__, Oops)


def test_total_timeout_over_in_an_async_block_between_attempts(library: Callable[..., Any]) -> None:
    """Time that the loop's body spends outside of `with` counts."""

    async def main() -> str | None:
        with virtual_time() as clock:
            try:
                async for attempt in POLICY.replace(total_timeout=10, attempts=None):
                    with attempt:
                        fail()
                    clock.advance(9.5)
            except Oops as error:
                return forbear.reason(error)
        return None

    assert "timeout" == library(main)


def test_an_attempt_shows_how_it_is() -> None:
    """For whoever prints one."""
    shown = []
    block = iter(retry(on=Oops, attempts=2, backoff=0, name="fetch"))
    shown.append(repr(block))
    with pytest.raises(Oops):
        for attempt in block:
            shown.append(repr(attempt))
            with attempt:
                shown.append(repr(attempt))
                fail()
            shown.append(repr(attempt))
    assert [
        "<attempt 0 of fetch, new>",
        "<attempt 1 of fetch, offered>",
        "<attempt 1 of fetch, inside>",
        "<attempt 1 of fetch, failed>",
        "<attempt 2 of fetch, offered>",
        "<attempt 2 of fetch, inside>",
    ] == shown
    assert "<attempt 2 of fetch, done>" == repr(block)
