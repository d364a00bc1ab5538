"""The errors of the library: one tree, all of them pickle, and each says why and until when."""

from __future__ import annotations

import copy
import pickle

import pytest

import forbear
from forbear import (
    AlreadyRunning,
    BlockingWaitWarning,
    Cancelled,
    ConfigError,
    ForbearError,
    HeldOff,
    LeaseLost,
    NestedRetryWarning,
    Permanent,
    Refused,
    RetryAfter,
    StoreError,
)
from forbear.testing import virtual_time

ERRORS = [
    ConfigError("attempts must be at least 1 or None, not 0; for example attempts=5"),
    Cancelled(),
    Cancelled("shutting down"),
    Refused("volume-1", 2.5),
    AlreadyRunning(("host", "volume-1")),
    HeldOff("volume-1", 2.5, failures=3, hold=4.0, last_error="OSError: busy"),
    HeldOff("volume-1"),
    LeaseLost("volume-1", 7),
    StoreError("volume-1", "no connection"),
    StoreError(),
    Permanent(),
    Permanent("no such user"),
    Permanent(KeyError("no such user")),
    RetryAfter(2.0),
    RetryAfter(),
    NestedRetryWarning("nested"),
    BlockingWaitWarning("blocks"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_errors_pickle(error: Exception, protocol: int) -> None:
    """Type, text, attributes and notes come back; errors travel between processes."""
    error = copy.copy(error)
    error.add_note("a note")
    back = pickle.loads(pickle.dumps(error, protocol))
    assert type(error) is type(back)
    assert str(error) == str(back)
    assert repr(error) == repr(back)
    assert ["a note"] == back.__notes__
    own = {name: value for name, value in vars(error).items() if name != "__notes__"}
    assert own == {name: value for name, value in vars(back).items() if name != "__notes__"}


def test_the_tree_of_errors() -> None:
    """Whoever catches what is above catches what is below."""
    assert issubclass(ForbearError, Exception)
    for above, below in (
        (ForbearError, (ConfigError, Cancelled, Refused, LeaseLost, StoreError)),
        (Refused, (AlreadyRunning, HeldOff)),
        (ValueError, (ConfigError,)),
        (UserWarning, (NestedRetryWarning, BlockingWaitWarning)),
    ):
        assert all(issubclass(one, above) for one in below)
    for signal in (Permanent, RetryAfter):
        assert not issubclass(signal, ForbearError)


def test_refusals_say_until_when() -> None:
    """None where nobody knows."""
    assert "operation 'v' may not start for another 2.5 s" == str(Refused("v", 2.5))
    assert "operation 'v' is already running" == str(AlreadyRunning("v"))
    held = HeldOff("v", 2.5, failures=3, hold=4.0, last_error="OSError: busy")
    assert (
        "operation 'v' failed 3 times in a row and is held for another 2.5 s "
        "(last error: OSError: busy)"
    ) == str(held)
    assert "operation 'v' failed once and is held until it is forgotten" == str(HeldOff("v"))
    assert ("v", 2.5, 3, 4.0) == (held.name, held.retry_after, held.failures, held.hold)


def test_refusals_are_waited_for_by_what_they_say() -> None:
    """`retry(on=Refused)` reads `retry_after`, else goes by its own backoff."""
    refusals: list[Refused] = [HeldOff("v", 4.0), AlreadyRunning("v")]

    def start() -> str:
        if refusals:
            raise refusals.pop(0)
        return "started"

    with virtual_time() as clock:
        assert "started" == forbear.retry(on=Refused, backoff=7, hint_jitter=0).call(start)
    assert [4.0, 7.0] == clock.waits


@pytest.mark.parametrize("error", [LeaseLost("v", 1), Cancelled("bye"), ConfigError("wrong")])
def test_a_lost_lease_and_a_cancellation_are_never_retried(error: Exception) -> None:
    """Whatever `on` says."""
    calls = []

    def step() -> None:
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        forbear.retry(on=lambda error: True).call(step)
    assert 1 == len(calls)
