"""Time limits, limits of attempts, and results that are refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import forbear
from forbear import (
    Cancelled,
    ConfigError,
    Decorrelated,
    Delays,
    Event,
    Exponential,
    retry,
)
from forbear.testing import virtual_time

from settings import Hinting, Oops, failing

# -- 9: time limits


def test_equal_still_waits_also_where_floats_add_up_badly() -> None:
    """Ten waits of 0.1 fit into a second, although their float sum is not 1.0."""
    with virtual_time() as clock, pytest.raises(Oops) as caught:
        retry(on=Oops, attempts=None, backoff=0.1, total_timeout=1.0).call(
            failing(*(Oops() for _ in range(99)))
        )
    assert 10 == len(clock.waits)
    assert "timeout" == forbear.reason(caught.value)


def test_the_narrower_limit_counts() -> None:
    """Own or the scope's: whichever ends first."""
    for own, around, waits in (
        (2.5, 9.0, 2),
        (9.0, 2.5, 2),
        (2.5, None, 2),
        (None, 2.5, 2),
        (2.0, 2.0, 2),
    ):
        with virtual_time() as clock, forbear.scope(around), pytest.raises(Oops):
            retry(on=Oops, backoff=1, total_timeout=own).call(failing(*(Oops() for _ in range(9))))
        assert waits == len(clock.waits)


def test_a_hint_is_held_against_the_time_limit() -> None:
    """A hint longer than what is left ends the trying at once, with the reason "timeout"."""
    with virtual_time() as clock, pytest.raises(Hinting) as caught:
        retry(on=Oops, total_timeout=5.0).call(failing(Hinting(6.0)))
    assert [] == clock.waits
    assert "timeout" == forbear.reason(caught.value)


def test_total_timeout_of_zero_allows_only_what_need_not_wait() -> None:
    """Zero means zero: no wait fits, and a retry without a wait does."""
    with virtual_time():
        with pytest.raises(Oops) as caught:
            retry(on=Oops, total_timeout=0, backoff=0.001).call(failing(Oops()))
        assert "timeout" == forbear.reason(caught.value)


def test_a_call_always_runs_once() -> None:
    """However little time is left."""
    with virtual_time() as clock, forbear.scope(timeout=1) as scope:
        clock.advance(5)
        scope.cancel()
        assert "well" == retry(on=Oops).call(failing())


# -- results


def test_the_last_result_is_returned_for_every_reason() -> None:
    """With `on_result`, whatever ends the trying, the last value is returned."""
    told: list[Event] = []
    cases: list[tuple[str, dict[str, Any]]] = [
        ("attempts", {"attempts": 2}),
        ("backoff", {"backoff": Delays(1)}),
        ("timeout", {"total_timeout": 0.5, "backoff": 1}),
        ("hint", {"hint": lambda result: 1000}),
    ]
    for reason, given in cases:
        with virtual_time():
            policy = retry(on=Oops, on_result=lambda result: True, on_giveup=told.append, **given)
            assert "last" == policy.call(lambda: "last")
        assert (reason, "last", None) == (told[-1].reason, told[-1].result, told[-1].error)


def test_on_result_sees_falsy_values() -> None:
    """The predicate decides, not the truth of the value."""
    results: list[object] = [None, 0, "", [], "well"]
    with virtual_time():
        assert "well" == retry(on=Oops, on_result=lambda r: not r).call(lambda: results.pop(0))


def test_an_error_after_results_comes_out() -> None:
    """When the last attempt raised, its error is what comes out, and the results before are in the note."""
    outcomes: list[object] = ["bad", Oops("e2")]

    def operation() -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    with virtual_time(), pytest.raises(Oops) as caught:
        retry(on=Oops, on_result=lambda result: True, attempts=2).call(operation)
    assert "attempt 1: result refused: str" in caught.value.__notes__[0]


# -- attempts


def test_the_fewer_attempts_of_a_test_count() -> None:
    """Inside `testing.attempts(n)` a policy makes at most n, and doesn't wait."""
    for own, limit, calls in ((5, 2, 2), (2, 5, 2), (None, 3, 3)):
        made = []

        def operation(made: list[int] = made) -> None:
            made.append(1)
            raise Oops

        with (
            virtual_time() as clock,
            forbear.testing.attempts(limit),
            pytest.raises(Oops) as caught,
        ):
            retry(on=Oops, attempts=own).call(operation)
        assert calls == len(made)
        assert [] == clock.waits
        assert "attempts" == forbear.reason(caught.value)


def test_a_decorrelated_backoff_sees_its_last_delay() -> None:
    """The delay before is what the backoff itself said, so its walk is the one of its formula."""
    with virtual_time() as clock, pytest.raises(Oops):
        retry(on=Oops, attempts=50, backoff=Decorrelated(1.0, 30.0)).call(
            failing(*(Oops() for _ in range(60)))
        )
    for before, after in itertools.pairwise(clock.waits):
        assert 1.0 <= after <= min(30.0, 3 * before)


def test_a_million_failures_overflow_nothing() -> None:
    """An exponential backoff at its cap goes on."""
    calls = iter(range(5000))

    def operation() -> None:
        for _ in calls:
            raise Oops

    with virtual_time() as clock:
        retry(on=Oops, attempts=None, backoff=Exponential(1, cap=2, jitter="none")).call(operation)
    assert 5000 == len(clock.waits)


# -- a polling loop of Kubernetes

KUBERNETES = json.loads(
    (Path(__file__).parent.parent / "vectors" / "kubernetes.json").read_text(encoding="utf-8")
)


def _name_of(case: dict[str, Any]) -> str:
    return f"{case['steps']} {case.get('condition', case.get('context'))}"


@pytest.mark.parametrize("case", KUBERNETES["wait_exponential_backoff_with_context"], ids=_name_of)
def test_polling_a_condition_is_the_loop_of_the_system(case: dict[str, Any]) -> None:
    """
    A condition that isn't true yet is a refused result; steps are attempts, an error ends it.

    Deviation: at least one attempt is made, so no steps are a mistake, and a cancelled scope ends the trying after it.
    """
    calls = 0

    def condition() -> bool:
        nonlocal calls
        calls += 1
        answer = case.get("condition", ["false"])[0]
        if answer == "error":
            raise Oops
        return answer == "true"

    if case["steps"] == 0:
        with pytest.raises(ConfigError, match="attempts must be at least 1"):
            retry(on=KeyError, attempts=0)
        return
    policy = retry(
        on=KeyError, on_result=lambda done: not done, attempts=case["steps"], backoff=Exponential(1)
    )
    with virtual_time(), forbear.scope() as scope:
        if case["result"] == "context cancelled":
            scope.cancel("context cancelled")
            with pytest.raises(Cancelled, match="context cancelled"):
                policy.call(condition)
            assert 1 == calls
        elif case["result"] == "error":
            with pytest.raises(Oops):
                policy.call(condition)
            assert case["calls"] == calls
        else:
            assert (case["result"] == "ok") == policy.call(condition)
            assert case["calls"] == calls
