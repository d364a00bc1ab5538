"""Tracebacks: the caller, one frame of forbear at the most, the function; no context of its own."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

import pytest

import forbear
from forbear import retry
from forbear.testing import virtual_time


class Oops(Exception):
    """What fails here."""


POLICY = retry(on=Oops, attempts=3, backoff=0)

# Each compiles another shape of wrapper.
POLICIES = {
    "plain": POLICY,
    "judged": POLICY.replace(on_result=lambda result: False),
    "told": POLICY.replace(on_success=lambda event: None),
    "limited": POLICY.replace(total_timeout=3600),
    "all": POLICY.replace(
        on_result=lambda result: False, on_success=lambda event: None, total_timeout=3600
    ),
}


def frames_of(error: BaseException) -> list[tuple[str, str]]:
    """Return file and function of each frame, forbear's files by their last part."""
    home = forbear.__file__.rsplit("/", 1)[0]
    return [
        ("forbear" if frame.filename.startswith(home) else "test", frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def raises_oops() -> None:
    """Fail."""
    raise Oops


async def araises_oops() -> None:
    """Fail."""
    raise Oops


def _shape_of(call: Callable[[], object]) -> list[tuple[str, str]]:
    with virtual_time():
        try:
            call()
        except Oops as error:
            return frames_of(error)
    raise AssertionError("it has not failed")


# -- tracebacks


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("attempts", [1, 3])
def test_the_traceback_of_a_decorated_call(policy: str, attempts: int) -> None:
    """The caller, one frame of forbear at the most, the function."""
    decorated = POLICIES[policy].replace(attempts=attempts)(raises_oops)

    def caller() -> None:
        decorated()

    shape = _shape_of(caller)
    assert [("test", "_shape_of"), ("test", "caller")] == shape[:2]
    assert [("forbear", "raises_oops"), ("test", "raises_oops")] == shape[2:]


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("limit", [None, 3600])
def test_the_traceback_of_a_call(attempts: int, limit: float | None) -> None:
    """The same for `.call`."""
    policy = POLICY.replace(attempts=attempts, total_timeout=limit)

    def caller() -> None:
        policy.call(raises_oops)

    shape = _shape_of(caller)
    assert [("test", "caller"), ("forbear", "call"), ("test", "raises_oops")] == shape[1:]


@pytest.mark.parametrize("form", ["decorator", "acall"])
@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("limits", [{}, {"total_timeout": 3600}, {"attempt_timeout": 3600}])
def test_the_traceback_of_an_async_call(limits: dict[str, float], attempts: int, form: str) -> None:
    """The same for async functions."""
    policy = POLICY.replace(attempts=attempts, **limits)

    async def caller() -> None:
        if form == "acall":
            await policy.acall(araises_oops)
        else:
            await policy(araises_oops)()

    shape = _shape_of(lambda: asyncio.run(caller()))
    ours = [name for where, name in shape if where == "forbear"]
    assert ["acall" if form == "acall" else "araises_oops"] == ours
    assert [("test", "caller"), ("forbear", ours[0]), ("test", "araises_oops")] == shape[-3:]


def test_the_traceback_is_not_longer_for_errors_that_pass() -> None:
    """What the policy doesn't match passes with the same shape."""

    def raises_key_error() -> None:
        raise KeyError

    decorated = POLICY(raises_key_error)
    with pytest.raises(KeyError) as caught:
        decorated()
    assert [("test", "raises_key_error")] == frames_of(caught.value)[-1:]
    assert 1 == sum(where == "forbear" for where, _ in frames_of(caught.value))


def test_an_error_raised_again_keeps_only_its_last_frames() -> None:
    """One object raised by every attempt: its traceback doesn't grow with the attempts."""
    kept = Oops("kept")

    def operation() -> None:
        raise kept

    def length(attempts: int) -> int:
        kept.__traceback__ = None
        with pytest.raises(Oops):
            POLICY.replace(attempts=attempts, nested="allow")(operation)()
        return len(frames_of(kept))

    # Python itself adds a frame for every time an object is raised again; forbear adds none of its own.
    assert length(3) - length(2) <= 2


def test_no_context_is_left_by_a_retry() -> None:
    """Each attempt's error stands alone: the one before is not its context."""
    errors: list[Exception] = []

    @POLICY
    def operation() -> None:
        errors.append(Oops(len(errors)))
        raise errors[-1]

    with pytest.raises(Oops):
        operation()
    assert [None] * 3 == [error.__context__ for error in errors]
    assert [None] * 3 == [error.__cause__ for error in errors]


def test_the_context_of_the_caller_stays() -> None:
    """A call made while handling an error has that error as the context, as without forbear."""

    @POLICY
    def operation() -> None:
        raise Oops

    with pytest.raises(Oops) as caught:
        try:
            {}["before"]
        except KeyError:
            operation()
    assert isinstance(caught.value.__context__, KeyError)
