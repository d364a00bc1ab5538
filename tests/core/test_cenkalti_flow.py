"""
The retry loop of cenkalti/backoff, as recorded by running it, played as forbear policies.

Each case is played in every way to use a policy. Where forbear deviates on purpose the case is named, and has a
test of its own that says what forbear does instead.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import forbear
from forbear import Constant, Delays, Exponential, Permanent, RetryAfter, Stop, Ticker, retry
from forbear.testing import virtual_time

from drivers import Outcome, Scenario, Step, cancels, fail, give, perform, raises, takes, text_of
from ways import WAYS, Way

VECTORS = Path(__file__).parent.parent / "vectors"
CENKALTI = json.loads((VECTORS / "cenkalti.json").read_text())
FLOW = CENKALTI["retry_flow"]

# The cases where forbear does something else, and the tests that say what.
DEVIATIONS = {
    "permanent-nil-is-success": "test_permanent_nil_has_no_counterpart",
    "wrapped-permanent": "test_a_wrapped_permanent_keeps_the_outer_error",
    "permanent-around-retry-after": "test_permanent_around_retry_after_gives_way_to_the_retry_after",
    "deadline-in-the-past": "test_deadline_in_the_past_is_a_timeout_and_no_cancellation",
}


class Failed(Exception):
    """An error of an operation."""


def step(outcome: dict[str, Any]) -> Step:
    """Translate one scripted outcome."""
    kind = outcome["kind"]
    text = outcome.get("err")
    after = outcome.get("after_ms", 0) / 1000
    made: dict[str, Callable[[], Step]] = {
        "ok": lambda: give(outcome["value"]),
        "err": lambda: fail(text, Failed),
        "permanent": lambda: raises(lambda: Permanent(Failed(text))),
        "wrapped_permanent": lambda: raises(
            lambda: Failed("outer"), lambda: Permanent(Failed(text))
        ),
        "retry_after": lambda: raises(
            lambda: RetryAfter(after), (lambda: Failed(text)) if text else None
        ),
        "wrapped_retry_after": lambda: raises(lambda: Failed("outer"), lambda: RetryAfter(after)),
    }
    found = made[kind]()
    if "takes_ms" in outcome:
        found = takes(outcome["takes_ms"] / 1000, found)
    if "cancels_context_with" in outcome:
        found = cancels(outcome["cancels_context_with"], found)
    return found


def backoff(policy: dict[str, Any]) -> forbear.Backoff:
    """Translate a policy of the system's."""
    kind = policy["type"]
    if kind == "constant":
        return Constant(policy["interval_ms"] / 1000)
    if kind == "stop":
        return Stop()
    if kind == "script":
        values = [value / 1000 for value in policy["values_ms"]]
        return Delays(*(value for value in values if value >= 0))
    return Exponential(
        policy["initial_ms"] / 1000,
        factor=policy["multiplier"],
        cap=policy["max_ms"] / 1000,
        jitter="none",
    )


def play(way: Way, case: dict[str, Any]) -> Outcome:
    """Play a case."""
    scenario = Scenario(
        case["id"],
        tuple(step(outcome) for outcome in case["outcomes"]),
        {
            "on": Failed,
            "attempts": case["max_tries"] or None,
            "total_timeout": case["max_elapsed_ms"] / 1000 or None,
            "backoff": backoff(case["policy"]),
            "hint_jitter": 0,
            "max_hint": None,
        },
        [],
        cancelled=case.get("context_cancelled_before_start_with"),
        during_wait=case.get("context_cancelled_during_wait_number"),
    )
    return perform(way, scenario)


def reason(case: dict[str, Any], expected: dict[str, Any]) -> str:
    """Translate the cause of the system's error."""
    cause = expected["error"]["cause"]
    if cause == "backoff: retries exhausted":
        return "attempts" if expected["calls"] == case["max_tries"] else "backoff"
    return {
        "backoff: maximum elapsed time exceeded": "timeout",
        "backoff: permanent error": "permanent",
    }.get(cause, "cancelled")


def words_of_cancellation(case: dict[str, Any]) -> str:
    """Return with what the scope of a case was cancelled."""
    given = [
        outcome["cancels_context_with"]
        for outcome in case["outcomes"]
        if "cancels_context_with" in outcome
    ]
    if given:
        return str(given[0])
    return str(case.get("context_cancelled_before_start_with", "while waiting"))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
@pytest.mark.parametrize(
    "case",
    [case for case in FLOW if case["id"] not in DEVIATIONS],
    ids=lambda case: str(case["id"]),
)
def test_the_loop_is_the_one_of_the_system(case: dict[str, Any], way: Way) -> None:
    """Calls, waits, what the hook is told, the error and the reason are those of the system's latest version."""
    expected = case["expect"]["v7"]
    seen = play(way, case)
    assert expected["calls"] == seen.calls
    # A wait of zero is not slept, and so not recorded: the one deviation that many cases share.
    assert [ms / 1000 for ms in expected["waits_ms"] if ms] == pytest.approx(
        seen.waits, rel=1e-9, abs=2e-9
    )
    notified = [event.delay for event in seen.events if event.kind == "retry"]
    assert [ms / 1000 for _, ms in expected["notified"]] == pytest.approx(
        notified, rel=1e-9, abs=2e-9
    )
    if expected["error"] is None:
        assert seen.error is None
        assert expected["result"] == seen.result
        return
    assert seen.error is not None
    why = reason(case, expected)
    assert why == forbear.reason(seen.error)
    last: BaseException | None = seen.error
    if why == "cancelled":
        assert f"Cancelled: {words_of_cancellation(case)}" == text_of(seen.error)
        last = seen.error.__cause__
    if isinstance(last, RetryAfter):
        assert "retry after 1s" == expected["error"]["last_err"]
        assert "retry after 1 s" == str(last)
    else:
        assert f"Failed: {expected['error']['last_err']}" == text_of(last)


def test_permanent_nil_has_no_counterpart() -> None:
    """`permanent-nil-is-success`: raising a Permanent that carries nothing is no success; it comes out itself."""

    def operation() -> None:
        raise Permanent

    with pytest.raises(Permanent) as caught:
        retry(on=Failed).call(operation)
    assert "permanent" == forbear.reason(caught.value)


def test_a_wrapped_permanent_keeps_the_outer_error() -> None:
    """`wrapped-permanent`: the object that was raised comes out, with the signal in its chain, and nothing is lost."""
    calls = []

    def operation() -> None:
        calls.append(1)
        raise Failed("outer") from Permanent(Failed("p"))

    with pytest.raises(Failed, match="outer") as caught:
        retry(on=Failed).call(operation)
    assert "permanent" == forbear.reason(caught.value)
    assert isinstance(caught.value.__cause__, Permanent)
    assert 1 == len(calls)


def test_permanent_around_retry_after_gives_way_to_the_retry_after() -> None:
    """`permanent-around-retry-after`: Permanent outweighs the hint; the error it carries comes out, cause and all."""

    def operation() -> None:
        again = RetryAfter(1)
        again.__cause__ = Failed("busy")
        raise Permanent(again)

    with virtual_time() as clock, pytest.raises(RetryAfter) as caught:
        retry(on=Failed).call(operation)
    assert "permanent" == forbear.reason(caught.value)
    assert "busy (retry after 1 s)" == str(caught.value)
    assert [] == clock.waits


def test_deadline_in_the_past_is_a_timeout_and_no_cancellation() -> None:
    """`deadline-in-the-past`: it still runs once, and the user's error comes out with the reason "timeout"."""
    calls = []

    def operation() -> None:
        calls.append(1)
        raise Failed("e1")

    with virtual_time() as clock, forbear.scope(timeout=1.0):
        clock.advance(2.0)
        with pytest.raises(Failed, match="e1") as caught:
            retry(on=Failed, backoff=0.01).call(operation)
    assert "timeout" == forbear.reason(caught.value)
    assert 1 == len(calls)


def test_a_zero_wait_is_not_slept() -> None:
    """`zero-policy-5-fails`: the hook is told of the delay of 0, and no sleep is called for it."""
    case = next(case for case in FLOW if case["id"] == "zero-policy-5-fails")
    for way in WAYS:
        seen = play(way, case)
        assert [] == seen.waits
        assert [0.0] * 5 == [event.delay for event in seen.events if event.kind == "retry"]


def test_limits_by_default_are_five_attempts() -> None:
    """The system limits 15 minutes and no tries by default; forbear five attempts and no time."""
    policy = retry(on=Failed)
    assert (5, None) == (policy.attempts, policy.total_timeout)


def test_a_hint_may_come_later_never_earlier() -> None:
    """The system obeys a hint exactly; forbear waits up to `hint_jitter` of it longer, so that a herd spreads."""
    waits = []
    for _ in range(200):
        with virtual_time() as clock, pytest.raises(RetryAfter):
            retry(on=Failed, attempts=2).call(_raise_retry_after)
        waits += clock.waits
    assert all(10.0 <= wait <= 15.0 for wait in waits)
    assert max(waits) > 12.0 > min(waits)


def _raise_retry_after() -> None:
    raise RetryAfter(10)


def test_every_deviation_names_a_test_that_exists() -> None:
    """A case may be left out of the list only if another test says what forbear does."""
    missing = [name for name in DEVIATIONS.values() if name not in globals()]
    assert [] == missing


# -- the time limit of v4's policies


@pytest.mark.parametrize(
    "case", CENKALTI["v4_max_elapsed_on_policy"], ids=lambda case: str(case["id"])
)
def test_equality_with_the_time_limit_still_waits(case: dict[str, Any]) -> None:
    """`elapsed + delay > limit` ends it; equality passes. A stop value of one's own has no counterpart: None stops."""
    elapsed, delay = case["elapsed_ns"] / 1e9, case["next_would_be_ns"] / 1e9
    limit = case["max_elapsed_ns"] / 1e9 or None
    attempts = 0

    def operation() -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            clock.advance(elapsed)
        raise Failed(f"e{attempts}")

    with virtual_time() as clock, pytest.raises(Failed) as caught:
        retry(on=Failed, total_timeout=limit, backoff=Constant(delay), attempts=2).call(operation)
    waits = case["returns_ns"] == case["next_would_be_ns"]
    assert ([delay] if waits else []) == clock.waits
    assert ("attempts" if waits else "timeout") == forbear.reason(caught.value)


# -- v4's context policies


@pytest.mark.parametrize("case", CENKALTI["v4_with_context"], ids=lambda case: str(case["context"]))
def test_a_scope_is_what_a_context_was(case: dict[str, Any]) -> None:
    """In a live scope the delay is waited, in a cancelled one trying ends; without a scope nothing can panic."""

    def operation() -> None:
        raise Failed("e")

    policy = retry(on=Failed, attempts=2, backoff=Constant(0.01))
    with virtual_time() as clock:
        if case["context"] is None:
            with pytest.raises(Failed):
                policy.call(operation)
            assert [0.01] == clock.waits
            return
        with forbear.scope() as scope:
            if case["context"] == "cancelled":
                scope.cancel("ctx")
            with pytest.raises(Failed if case["next_ms"] >= 0 else forbear.Cancelled):
                policy.call(operation)
    assert ([case["next_ms"] / 1000] if case["next_ms"] >= 0 else []) == clock.waits


# -- the ticker


def ticking(policy: str) -> forbear.Backoff:
    """Translate the prose of a case: `constant 10ms`, `zero delay, at most 2 further waits`."""
    words = policy.split()
    if words[0] == "constant":
        return Constant(float(words[1].removesuffix("ms")) / 1000)
    return Constant(0).take(int(words[4])) if "at most" in policy else Constant(0)


STOPPED_AFTER = {
    "stopped before the first receive": 0,
    "stopped after three receives, stop called twice": 3,
}


@pytest.mark.parametrize("form", ["plain", "async"])
@pytest.mark.parametrize("case", CENKALTI["ticker"], ids=lambda case: str(case["id"]))
def test_the_ticker_is_the_one_of_the_system(case: dict[str, Any], form: str) -> None:
    """The first tick comes at once; a delay runs while the consumer works; ticks don't pile up; stop ends it."""
    stop_after = STOPPED_AFTER.get(case["id"])
    expected = case.get("tick_times_ms", [])
    times: list[float] = []

    with virtual_time() as clock:
        ticker = Ticker(ticking(case["policy"]))
        if stop_after == 0:
            ticker.stop()

        def consume(tick: forbear.Tick) -> bool:
            times.append(tick.at)
            clock.advance(case.get("consumer_busy_ms", 0) / 1000)
            if len(times) == stop_after:
                ticker.stop()
                ticker.stop()
            return len(times) == (len(expected) or 20)

        if form == "plain":
            for tick in ticker:
                if consume(tick):
                    break
        else:

            async def main() -> None:
                async for tick in ticker:
                    if consume(tick):
                        break

            asyncio.run(main())
        if "ticks" in case:
            assert case["ticks"] == len(times)
            assert case["then_closed"]
            assert [] == list(ticker)
        else:
            assert [ms / 1000 for ms in expected] == pytest.approx(times, rel=1e-9, abs=2e-9)
