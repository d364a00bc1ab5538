"""
Whatever happens in a call: a model of the decision in a few lines, and random calls that must go as it says.

The model is written from the manual and knows no clock but a number; each way to use a policy must tell its story.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import forbear
from forbear import Delays, Exponential, Permanent, RetryAfter

from drivers import (
    MOST,
    Outcome,
    Scenario,
    Step,
    again,
    call,
    fail,
    give,
    over,
    perform,
    raises,
    takes,
    well,
)
from ways import WAYS, Way

# Quarters of a second, which floats can add up without a rest.
seconds = st.integers(0, 40).map(lambda quarters: quarters / 4)


@dataclass(frozen=True)
class Try:
    """What one attempt does: how it ends, how long it takes, and the hint it leaves."""

    end: str
    lasts: float = 0.0
    hint: float | None = None

    def step(self) -> Step:
        made = {
            "ok": give("well"),
            "fails": fail("failed"),
            "hints": raises(lambda: RetryAfter(self.hint)),
            "passes": fail("passed", KeyError),
            "ends": raises(lambda: Permanent(ConnectionError("for good"))),
        }
        return takes(self.lasts, made[self.end])


TRIES = st.one_of(
    st.builds(Try, st.sampled_from(["fails", "fails", "fails", "ok", "passes", "ends"]), seconds),
    st.builds(Try, st.just("hints"), seconds, st.one_of(st.none(), seconds)),
)


@dataclass(frozen=True)
class Settings:
    """The parameters of a policy that the model knows."""

    attempts: int | None
    limit: float | None
    delays: list[float]
    then: str
    max_hint: float | None

    def policy(self) -> dict[str, Any]:
        return {
            "on": ConnectionError,
            "attempts": self.attempts,
            "total_timeout": self.limit,
            "backoff": Delays(*self.delays, then=self.then),  # type: ignore[arg-type]
            "hint_jitter": 0,
            "max_hint": self.max_hint,
        }

    def delay(self, failures: int) -> float | None:
        if failures <= len(self.delays):
            return self.delays[failures - 1]
        return self.delays[-1] if self.then == "repeat" else None


SETTINGS = st.builds(
    Settings,
    st.one_of(st.none(), st.integers(1, 6)),
    st.one_of(st.none(), seconds),
    st.lists(seconds, min_size=1, max_size=4),
    st.sampled_from(["stop", "repeat"]),
    st.one_of(st.none(), seconds),
)


def model(rules: Settings, tries: list[Try]) -> tuple[list[str], str | None]:
    """Return the story of a call and the reason why it ended, by the order in the manual."""
    story: list[str] = []
    now, failures = 0.0, 0
    for number in range(1, MOST):
        story += call(number)
        this = tries[min(number, len(tries)) - 1]
        now += this.lasts
        if this.end == "ok":
            return story + well(number), None
        if this.end == "passes":
            return story, None
        reason = _reason(rules, this, number, failures, now)
        if reason is not None:
            return story + over(number, reason), reason
        delay = rules.delay(failures + 1) if this.hint is None else this.hint
        failures = failures + 1 if this.hint is None else 0
        assert delay is not None
        story += again(number, delay)
        now += delay
    raise AssertionError("a call without an end")


def _reason(rules: Settings, this: Try, number: int, failures: int, now: float) -> str | None:
    if this.end == "ends":
        return "permanent"
    if number == rules.attempts:
        return "attempts"
    delay = rules.delay(failures + 1)
    if delay is None:
        return "backoff"
    if this.hint is not None:
        if rules.max_hint is not None and this.hint > rules.max_hint:
            return "hint"
        delay = this.hint
    if rules.limit is not None and now + delay > rules.limit:
        return "timeout"
    return None


def play(way: Way, rules: Settings, tries: list[Try]) -> Outcome:
    """Play a call in one of the ways; the last try ends it, so that each call has an end."""
    steps = tuple(one.step() for one in tries)
    return perform(way, Scenario("random", steps, rules.policy(), []))


CALLS = st.lists(TRIES, min_size=1, max_size=8).map(lambda tries: [*tries, Try("ok")])


@given(rules=SETTINGS, tries=CALLS, way=st.sampled_from(WAYS))
@settings(max_examples=300)
def test_every_call_goes_as_the_model_says(rules: Settings, tries: list[Try], way: Way) -> None:
    """The same story line by line: calls, log, listeners, hooks and waits, in every way to use a policy."""
    story, reason = model(rules, tries)
    seen = play(way, rules, tries)
    assert story == seen.story
    assert reason == (None if seen.error is None else forbear.reason(seen.error))


@given(rules=SETTINGS, tries=CALLS)
def test_every_way_tells_the_same_story(rules: Settings, tries: list[Try]) -> None:
    """Threads, asyncio and trio, decorators and blocks: nothing can be told apart from outside."""
    stories = [play(way, rules, tries).story for way in WAYS]
    assert stories.count(stories[0]) == len(WAYS)


@given(rules=SETTINGS, tries=CALLS, way=st.sampled_from(WAYS))
def test_no_limit_is_ever_passed(rules: Settings, tries: list[Try], way: Way) -> None:
    """At least one call, never more than `attempts`; no wait ends after the time limit, none is above `max_hint`."""
    seen = play(way, rules, tries)
    assert 1 <= seen.calls
    assert rules.attempts is None or seen.calls <= rules.attempts
    assert seen.calls <= len(tries)
    retries = [event for event in seen.events if event.kind == "retry"]
    assert seen.waits == [event.delay for event in retries if event.delay]
    assert len(retries) == seen.calls - 1
    for event in retries:
        assert event.delay is not None
        assert event.elapsed is not None
        assert rules.limit is None or event.elapsed + event.delay <= rules.limit
        assert rules.max_hint is None or event.delay <= max(*rules.delays, rules.max_hint)


@given(rules=SETTINGS, tries=CALLS, way=st.sampled_from(WAYS))
def test_events_come_in_order(rules: Settings, tries: list[Try], way: Way) -> None:
    """Numbers count up by one; a wait follows a retry; nothing follows the end."""
    seen = play(way, rules, tries)
    assert list(range(1, seen.calls)) == [
        event.attempt for event in seen.events if event.kind == "retry"
    ]
    assert all(event.kind == "retry" for event in seen.events[:-1])
    letters = "".join(
        line.removeprefix("on_")[0] if line[:3] != "log" else "L" for line in seen.story
    )
    # A call; after it the log, a listener and a hook are told of a retry, and there may be a wait.
    assert re.fullmatch(r"(?:cLlrw?)*c(?:Llg|ls)?", letters), letters
    elapsed = [event.elapsed for event in seen.events if event.elapsed is not None]
    assert elapsed == sorted(elapsed)


@given(
    limit=st.floats(0.0, 100.0),
    base=st.floats(0.0, 10.0),
    jitter=st.sampled_from(["full", "equal", 0.5]),
    lasts=st.floats(0.0, 10.0),
    way=st.sampled_from(WAYS),
)
def test_with_any_floats_and_chance_no_wait_ends_after_the_limit(
    limit: float, base: float, jitter: Any, lasts: float, way: Way
) -> None:
    """But for the last digit: a nanosecond is the grain of the finest clocks."""
    given = {
        "on": ConnectionError,
        "attempts": 20,
        "total_timeout": limit,
        "backoff": Exponential(base, jitter=jitter),
    }
    seen = perform(way, Scenario("floats", (takes(lasts, fail("e")),), given, []))
    ends = [event.elapsed + event.delay for event in seen.events if event.kind == "retry"]  # type: ignore[operator]
    assert all(end <= limit + 2e-9 for end in ends)
    assert forbear.reason(seen.error) in {"timeout", "attempts"}  # type: ignore[arg-type]
