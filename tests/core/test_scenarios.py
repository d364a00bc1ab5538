"""One list of scenarios, played plain, on asyncio and on trio, in every form: one order of events."""

from __future__ import annotations

import pytest

import forbear
from forbear import Event

from drivers import (
    Scenario,
    Stage,
    fail,
    fails,
    give,
    perform,
    takes,
    text_of,
)
from scenarios import FUNCTIONS, PLAIN, SCENARIOS
from ways import WAYS, Way

PLAYED = [(scenario, way) for scenario in SCENARIOS for way in WAYS if way.form in scenario.forms]
FAILING = [(scenario, way) for scenario, way in PLAYED if scenario.error is not None]


def _ids(pairs: list[tuple[Scenario, Way]]) -> list[str]:
    return [f"{scenario.id}-{way.id}" for scenario, way in pairs]


@pytest.mark.parametrize(("scenario", "way"), PLAYED, ids=_ids(PLAYED))
def test_one_order_of_events(scenario: Scenario, way: Way) -> None:
    """Threads, asyncio and trio differ in how they call and wait, and in nothing that can be seen."""
    seen = perform(way, scenario)
    assert scenario.story == seen.story
    assert scenario.error == text_of(seen.error)
    assert scenario.result == seen.result
    if seen.error is not None:
        assert scenario.reason == forbear.reason(seen.error)
        assert scenario.cause == text_of(seen.error.__cause__)


@pytest.mark.parametrize(("scenario", "way"), FAILING, ids=_ids(FAILING))
def test_the_users_own_error_comes_out_with_one_note(scenario: Scenario, way: Way) -> None:
    """The object that the last attempt raised comes out, or what it carries, with a note if a policy gave up."""
    seen = perform(way, scenario)
    error = seen.error
    assert error is not None
    last = seen.raised[-1] if seen.raised else None
    if last is not None and scenario.reason != "cancelled":
        assert any(error is one for one in (last, last.__cause__, *last.args))
    raised_by_us = scenario.reason is not None and not isinstance(last, forbear.Cancelled)
    notes = getattr(error, "__notes__", [])
    assert (1 if raised_by_us else 0) == len(notes)
    assert all(f"({scenario.reason}: " in note for note in notes)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_events_tell_the_same(way: Way) -> None:
    """An event has the policy's name, the attempt, the delay, the time gone by, the error and the reason."""
    scenario = Scenario(
        "events",
        (takes(1.0, fail("e1")), takes(10.0, fail("e2"))),
        PLAIN | {"attempts": 2, "total_timeout": 100.0},
        [],
    )
    seen = perform(way, scenario)
    first, second = seen.events
    assert Event("retry", "p", 1, delay=1.0, elapsed=1.0, error=seen.raised[0]) == first
    assert Event("giveup", "p", 2, elapsed=12.0, error=seen.error, reason="attempts") == second


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_elapsed_without_a_limit_counts_from_the_first_failure(way: Way) -> None:
    """A call without a time limit reads no clock before it has failed once."""
    scenario = Scenario(
        "elapsed", (takes(5.0, fail("e1")), takes(10.0, fail("e2"))), PLAIN | {"attempts": 2}, []
    )
    assert [0.0, 11.0] == [event.elapsed for event in perform(way, scenario).events]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_the_limit_is_checked_again_after_the_hook(way: Way) -> None:
    """A hook that takes longer than what is left ends the trying: its wait would pass the limit."""
    clock = []

    def slow(event: Event) -> None:
        clock[0].advance(4.0)

    def remember(stage: Stage) -> object:
        clock.append(stage.clock)
        raise ConnectionError("e1")

    scenario = Scenario(
        "slow hook", (remember,), PLAIN | {"on_retry": slow, "total_timeout": 4.5}, []
    )
    seen = perform(way, scenario)
    assert "ConnectionError: e1" == text_of(seen.error)
    assert seen.error is not None
    assert "timeout" == forbear.reason(seen.error)
    assert [] == seen.waits


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
@pytest.mark.parametrize("hook", ["on_retry", "on_giveup", "on_success"])
@pytest.mark.parametrize("kind", [RuntimeError, ConnectionError, KeyboardInterrupt])
def test_what_a_hook_raises_comes_out_at_once(
    way: Way, hook: str, kind: type[BaseException]
) -> None:
    """Nothing is retried after a hook has raised, not even what `on` names; the failure is its context."""

    def broken(event: Event) -> None:
        raise kind("broken hook")

    steps = {"on_retry": fails("e1"), "on_giveup": fails("e1", "e2"), "on_success": (give(1),)}[
        hook
    ]
    seen = perform(way, Scenario("hook", steps, PLAIN | {hook: broken, "attempts": 2}, []))
    assert f"{kind.__name__}: broken hook" == text_of(seen.error)
    assert (2 if hook == "on_giveup" else 1) == seen.calls
    assert seen.error is not None
    assert (seen.raised[-1] if seen.raised else None) is seen.error.__context__
    assert forbear.reason(seen.error) == ("attempts" if hook == "on_giveup" else None)


class BrokenBackoff:
    """A backoff of somebody's own, with a mistake."""

    def delay(self, failures: int, previous: float, random: object, /) -> float | None:
        raise RuntimeError("broken backoff")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_what_a_backoff_raises_comes_out_at_once(way: Way) -> None:
    """As with every part of the user's own."""
    seen = perform(way, Scenario("backoff", fails("e1"), PLAIN | {"backoff": BrokenBackoff()}, []))
    assert "RuntimeError: broken backoff" == text_of(seen.error)
    assert seen.error is not None
    assert seen.raised[0] is seen.error.__context__
    assert forbear.reason(seen.error) is None
    assert 1 == seen.calls


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
@pytest.mark.parametrize("parameter", ["on", "giveup", "hint"])
def test_what_a_predicate_raises_comes_out_at_once(way: Way, parameter: str) -> None:
    """A predicate of the user's that raises ends the call with its error, which shows the failure as its context."""

    def broken(error: object) -> bool:
        raise RuntimeError("broken predicate")

    seen = perform(way, Scenario("predicate", fails("e1"), PLAIN | {parameter: broken}, []))
    assert "RuntimeError: broken predicate" == text_of(seen.error)
    assert seen.error is not None
    assert "ConnectionError: e1" == text_of(seen.error.__context__)
    assert 1 == seen.calls


@pytest.mark.parametrize(
    "way", [way for way in WAYS if way.form in FUNCTIONS], ids=lambda way: way.id
)
def test_what_on_result_raises_comes_out_at_once(way: Way) -> None:
    """A result predicate that raises is a programming error of the caller's, not a failed attempt."""

    def broken(result: object) -> bool:
        raise RuntimeError("broken predicate")

    for steps, calls in (((give(1),), 1), ((fail("e1"), give(1)), 2)):
        seen = perform(way, Scenario("predicate", steps, PLAIN | {"on_result": broken}, []))
        assert "RuntimeError: broken predicate" == text_of(seen.error)
        assert calls == seen.calls
