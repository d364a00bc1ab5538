"""Backoffs and hints: what each is given, what it may answer, and who wins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import forbear
from forbear import (
    Constant,
    RetryAfter,
    retry,
)
from forbear.testing import virtual_time

from settings import Hinting, Oops, failing


class Recording:
    """A backoff that remembers what it was asked."""

    def __init__(self, *answers: float | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[int, float]] = []

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float | None:
        assert 0.0 <= random() < 1.0
        self.asked.append((failures, previous))
        return self.answers.pop(0)

    def delays(self, random: Any = None) -> Any:
        raise NotImplementedError


# -- 7 and 8: backoffs and hints


def test_a_backoff_is_given_the_failures_and_the_delay_before() -> None:
    """Failures count from 1; the delay before is 0 at first."""
    backoff = Recording(1.0, 2.5, 4.0)
    with virtual_time():
        retry(on=Oops, backoff=backoff).call(failing(Oops(), Oops(), Oops()))
    assert [(1, 0.0), (2, 1.0), (3, 2.5)] == backoff.asked


def test_a_hint_starts_the_backoff_anew() -> None:
    """The backoff is asked first (it may stop), then the hint takes the place, and the count begins again."""
    backoff = Recording(1.0, 2.0, 3.0, 4.0)
    with virtual_time() as clock:
        retry(on=Oops, backoff=backoff, hint_jitter=0, attempts=9).call(
            failing(Oops(), Oops(), RetryAfter(9), Oops())
        )
    assert [(1, 0.0), (2, 1.0), (3, 2.0), (1, 0.0)] == backoff.asked
    assert [1.0, 2.0, 9.0, 4.0] == clock.waits


def test_a_backoff_for_each_type_is_given_all_failures_and_the_last_delay() -> None:
    """The count is the call's, not the type's; the most special type wins."""
    special, general = Recording(5.0, 6.0), Recording(1.0)
    with virtual_time() as clock:
        retry(on=OSError, backoff={ConnectionResetError: special, OSError: general}).call(
            failing(ConnectionResetError(), FileNotFoundError(), ConnectionResetError())
        )
    assert [5.0, 1.0, 6.0] == clock.waits
    assert ([(1, 0.0), (3, 1.0)], [(2, 5.0)]) == (special.asked, general.asked)


@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (ConnectionResetError(), 1.0),
        (OSError(), 2.0),
        (ExceptionGroup("g", [ConnectionResetError(), ConnectionResetError()]), 1.0),
        (ExceptionGroup("g", [ConnectionResetError(), OSError()]), 2.0),
        (ExceptionGroup("g", [ExceptionGroup("h", [OSError()]), KeyError()]), 5.0),
        (KeyError(), 5.0),
        (ValueError(), 4.0),
    ],
    ids=["special", "general", "group", "mixed group", "nested group", "table", "Exception"],
)
def test_a_group_waits_as_long_as_the_longest_of_its_members(error: Exception, wait: float) -> None:
    """A line for `Exception` is for what no other line is for, and not for groups."""
    table = {ConnectionResetError: 1, OSError: 2, KeyError: 5, Exception: 4}
    with virtual_time() as clock:
        retry(on=lambda error: True, backoff=table).call(failing(error))
    assert [wait] == clock.waits


def test_a_failure_without_a_line_waits_by_the_default() -> None:
    """`Exponential()`, which is the default of `backoff` too; so does a refused result."""
    with virtual_time() as clock:
        retry(on=Oops, backoff={KeyError: 100}).call(failing(Oops()))
        retry(on=Oops, backoff={KeyError: 100}, on_result=lambda result: result == 1).call(
            iter([1, 2]).__next__
        )
    assert 2 == len(clock.waits)
    assert all(0 < wait <= 0.1 for wait in clock.waits)


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), -float("inf"), "soon"])
def test_a_backoff_that_answers_no_number_is_refused(answer: Any) -> None:
    """What is no number of seconds can't be waited, and is a mistake of the backoff."""
    with pytest.raises(forbear.ConfigError, match="backoff must answer"):
        retry(on=Oops, backoff=Recording(answer)).call(failing(Oops()))


@pytest.mark.parametrize(
    ("hint", "wait"),
    [
        (3, 3.0),
        (0, 0.0),
        (-5, 0.0),
        (0.25, 0.25),
        (timedelta(minutes=1), 60.0),
        (timedelta(seconds=-1), 0.0),
        (300.0, 300.0),
        (None, 1.0),
        (float("nan"), 1.0),
        (float("inf"), 1.0),
        (-float("inf"), 1.0),
        ("3", 1.0),
        (b"3", 1.0),
        (True, 1.0),
        (object(), 1.0),
        ([], 1.0),
    ],
)
def test_what_is_a_hint(hint: object, wait: float) -> None:
    """A finite number or a timedelta, negative as 0; anything else is no hint, and the backoff's delay stands."""
    with virtual_time() as clock:
        retry(on=Oops, backoff=Constant(1), hint_jitter=0).call(failing(Hinting(hint)))
    assert ([wait] if wait else []) == clock.waits


@pytest.mark.parametrize(
    ("hint", "most", "reason"),
    [
        (300.0, 300.0, None),
        (300.001, 300.0, "hint"),
        (10**400, 300.0, "hint"),
        (10.0**9, None, None),
        (1, 0, "hint"),
    ],
)
def test_max_hint(hint: float, most: float | None, reason: str | None) -> None:
    """A hint longer than `max_hint` ends the trying; equal doesn't, and None is no limit."""
    error = Hinting(hint)
    policy = retry(on=Oops, max_hint=most, hint_jitter=0)
    with virtual_time() as clock:
        if reason is None:
            assert "well" == policy.call(failing(error))
            assert [hint] == clock.waits
        else:
            with pytest.raises(Hinting):
                policy.call(failing(error))
            assert [] == clock.waits
    assert reason == forbear.reason(error)


def test_hint_jitter_comes_after_max_hint() -> None:
    """The bound is on what was asked for; the share that is waited longer may pass it."""
    with virtual_time() as clock:
        for _ in range(100):
            retry(on=Oops, max_hint=10.0).call(failing(Hinting(10.0)))
    assert all(10.0 <= wait <= 15.0 for wait in clock.waits)
    assert max(clock.waits) > 10.0


def test_a_hint_of_ones_own() -> None:
    """`hint` is given the error, or the result that was refused; None reads nothing at all."""
    seen: list[object] = []

    def hint(error_or_result: object) -> float:
        seen.append(error_or_result)
        return 2.0

    error = Hinting(50.0)
    results: list[object] = [error, 503, 200]

    def operation() -> object:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    with virtual_time() as clock:
        policy = retry(on=Oops, on_result=lambda status: status == 503, hint=hint, hint_jitter=0)
        assert 200 == policy.call(operation)
        assert "well" == retry(on=Oops, hint=None, backoff=1).call(failing(Hinting(50.0)))
    assert [2.0, 2.0, 1.0] == clock.waits
    assert [error, 503] == seen


def test_results_are_only_looked_at_by_a_hint_of_ones_own() -> None:
    """A returned object with a `retry_after` is not read by default."""

    class Response:
        retry_after = 50.0

    results: list[object] = [Response(), "well"]
    with virtual_time() as clock:
        assert "well" == retry(on=Oops, on_result=lambda r: r != "well", backoff=1).call(
            lambda: results.pop(0)
        )
    assert [1.0] == clock.waits


def test_retry_after_without_seconds_waits_by_the_backoff() -> None:
    """What was read from a server and was no hint can be handed over as it is: it still counts as matched."""
    with virtual_time() as clock:
        unreadable = RetryAfter(forbear.parse_retry_after("soon"))
        assert "well" == retry(on=Oops, backoff=1).call(failing(unreadable))
    assert [1.0] == clock.waits


def test_of_several_signals_the_longest_counts() -> None:
    """Whoever asks for less time is served by more; one without seconds asks for none."""

    def chain(*seconds: float | None) -> RetryAfter:
        first, *rest = (RetryAfter(one) for one in seconds)
        error = first
        for cause in rest:
            error.__cause__ = cause
            error = cause
        return first

    for seconds, wait in (((0.5, 3.0, 2.0), 3.0), ((None, 0.5), 0.5), ((0.5, None), 0.5)):
        with virtual_time() as clock:
            retry(on=Oops, backoff=9, hint_jitter=0).call(failing(chain(*seconds)))
        assert [wait] == clock.waits
    group = ExceptionGroup("g", [RetryAfter(1), RetryAfter(4), RetryAfter(2)])
    with virtual_time() as clock:
        retry(on=Oops, backoff=9, hint_jitter=0).call(failing(group))
    assert [4.0] == clock.waits
