"""One list of scenarios, played plain, on asyncio and on trio, in every form: one order of events."""

from __future__ import annotations

import asyncio

import pytest

import forbear
from forbear import Constant, Delays, Event, Exponential, Permanent, RetryAfter, Stop

from drivers import (
    WAYS,
    Scenario,
    Stage,
    Way,
    again,
    call,
    cancels,
    fail,
    fails,
    give,
    over,
    perform,
    raises,
    takes,
    text_of,
    told,
    well,
)

FUNCTIONS = ("decorator", "call")
DOUBLING = Exponential(1.0, factor=2.0, cap=100.0, jitter="none")
PLAIN = {"on": ConnectionError, "backoff": DOUBLING, "hint_jitter": 0}


class Busy(ConnectionError):
    """An error that says how long to wait."""

    def __init__(self, text: str, retry_after: object) -> None:
        super().__init__(text)
        self.retry_after = retry_after


def busy(text: str, retry_after: object) -> ConnectionError:
    return Busy(text, retry_after)


SCENARIOS = (
    Scenario(
        "success at once",
        (give(42),),
        PLAIN,
        told(call(1), well(1)),
        result=42,
    ),
    Scenario(
        "success at the last attempt allowed",
        (*fails("e1", "e2"), give(7)),
        PLAIN | {"attempts": 3},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), well(3)),
        result=7,
    ),
    Scenario(
        "attempts used up",
        fails("e1", "e2", "e3"),
        PLAIN | {"attempts": 3},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "attempts")),
        error="ConnectionError: e3",
        reason="attempts",
    ),
    Scenario(
        "one attempt only",
        fails("e1"),
        PLAIN | {"attempts": 1},
        told(call(1), over(1, "attempts")),
        error="ConnectionError: e1",
        reason="attempts",
    ),
    Scenario(
        "no limit of attempts",
        (*fails(*(f"e{n}" for n in range(1, 12))), give("at last")),
        PLAIN | {"attempts": None, "backoff": Constant(1)},
        told(*(told(call(n), again(n, 1)) for n in range(1, 12)), call(12), well(12)),
        result="at last",
    ),
    Scenario(
        "an error that is not matched passes",
        (fail("e1"), fail("other", KeyError)),
        PLAIN,
        told(call(1), again(1, 1), call(2)),
        error="KeyError: 'other'",
    ),
    Scenario(
        "giveup wins over on",
        (fail("gone", ConnectionResetError),),
        PLAIN | {"giveup": ConnectionResetError},
        told(call(1)),
        error="ConnectionResetError: gone",
    ),
    Scenario(
        "predicates",
        (fail("yes"), fail("no")),
        PLAIN | {"on": lambda error: "yes" in str(error)},
        told(call(1), again(1, 1), call(2)),
        error="ConnectionError: no",
    ),
    Scenario(
        "permanent: the error it carries comes out",
        (fail("e1"), raises(lambda: Permanent(KeyError("p")))),
        PLAIN,
        told(call(1), again(1, 1), call(2), over(2, "permanent")),
        error="KeyError: 'p'",
        reason="permanent",
    ),
    Scenario(
        "permanent: else its cause comes out",
        (raises(lambda: Permanent("text"), lambda: KeyError("p")),),
        PLAIN,
        told(call(1), over(1, "permanent")),
        error="KeyError: 'p'",
        reason="permanent",
    ),
    Scenario(
        "permanent in the chain: the outer error comes out",
        (raises(lambda: ConnectionError("outer"), lambda: Permanent("p")),),
        PLAIN,
        told(call(1), over(1, "permanent")),
        error="ConnectionError: outer",
        cause="Permanent: p",
        reason="permanent",
    ),
    Scenario(
        "retry-after counts as matched, and takes the place of the delay",
        (fail("e1"), raises(lambda: RetryAfter(5)), fail("e3"), give(1)),
        PLAIN | {"on": ConnectionError},
        told(call(1), again(1, 1), call(2), again(2, 5), call(3), again(3, 1), call(4), well(4)),
        result=1,
    ),
    Scenario(
        "giving up on a retry-after raises its cause",
        (raises(lambda: RetryAfter(5), lambda: KeyError("busy")),),
        PLAIN | {"attempts": 2},
        told(call(1), again(1, 5), call(2), over(2, "attempts")),
        error="KeyError: 'busy'",
        reason="attempts",
    ),
    Scenario(
        "a retry-after without a cause comes out itself",
        (raises(lambda: RetryAfter(5)),),
        PLAIN | {"attempts": 1},
        told(call(1), over(1, "attempts")),
        error="RetryAfter: retry after 5 s",
        reason="attempts",
    ),
    Scenario(
        "a hint in an attribute",
        (raises(lambda: busy("e1", 3)), raises(lambda: busy("e2", 0)), fail("e3"), give(1)),
        PLAIN,
        told(call(1), again(1, 3), call(2), again(2, 0), call(3), again(3, 1), call(4), well(4)),
        result=1,
    ),
    Scenario(
        "a hint above max_hint",
        (raises(lambda: busy("e1", 301)),),
        PLAIN,
        told(call(1), over(1, "hint")),
        error="Busy: e1",
        reason="hint",
    ),
    Scenario(
        "the backoff stops",
        fails("e1", "e2", "e3"),
        PLAIN | {"backoff": Delays(1, 2), "attempts": None},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "backoff")),
        error="ConnectionError: e3",
        reason="backoff",
    ),
    Scenario(
        "stop beats a hint",
        (raises(lambda: busy("e1", 1)),),
        PLAIN | {"backoff": Stop()},
        told(call(1), over(1, "backoff")),
        error="Busy: e1",
        reason="backoff",
    ),
    Scenario(
        "the time limit: no wait begins that would pass it",
        fails("e1", "e2", "e3"),
        PLAIN | {"total_timeout": 6.5, "attempts": None},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "timeout")),
        error="ConnectionError: e3",
        reason="timeout",
    ),
    Scenario(
        "the time limit: equal still waits",
        (*fails("e1", "e2"), give("in time")),
        PLAIN | {"total_timeout": 3.0, "attempts": None},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), well(3)),
        result="in time",
    ),
    Scenario(
        "the time limit counts the attempt's own time",
        (takes(8.5, fail("e1")), takes(1.0, fail("e2"))),
        PLAIN | {"total_timeout": 10.0},
        told(call(1), again(1, 1), call(2), over(2, "timeout")),
        error="ConnectionError: e2",
        reason="timeout",
    ),
    Scenario(
        "a time limit of zero allows what need not wait",
        (*fails("e1", "e2"), give("at once")),
        PLAIN | {"total_timeout": 0, "backoff": Constant(0)},
        told(call(1), again(1, 0), call(2), again(2, 0), call(3), well(3)),
        result="at once",
        forms=("decorator", "call", "block", "generator"),
    ),
    Scenario(
        "the scope's time limit",
        fails("e1", "e2", "e3"),
        PLAIN | {"attempts": None},
        told(call(1), again(1, 1), call(2), over(2, "timeout")),
        error="ConnectionError: e2",
        reason="timeout",
        timeout=2.5,
    ),
    Scenario(
        "zero delays call no sleep",
        (*fails("e1", "e2"), give(1)),
        PLAIN | {"backoff": 0},
        told(call(1), again(1, 0), call(2), again(2, 0), call(3), well(3)),
        result=1,
    ),
    Scenario(
        "cancelled before it began: it still runs once",
        fails("e1"),
        PLAIN,
        told(call(1), over(1, "cancelled")),
        error="Cancelled: before",
        cause="ConnectionError: e1",
        reason="cancelled",
        cancelled="before",
    ),
    Scenario(
        "cancelled before it began: its success stands",
        (give(5),),
        PLAIN,
        told(call(1), well(1)),
        result=5,
        cancelled="before",
    ),
    Scenario(
        "cancelled in an attempt",
        (fail("e1"), cancels("stop it", fail("e2"))),
        PLAIN,
        told(call(1), again(1, 1), call(2), over(2, "cancelled")),
        error="Cancelled: stop it",
        cause="ConnectionError: e2",
        reason="cancelled",
    ),
    Scenario(
        "cancelled in a wait",
        fails("e1", "e2", "e3"),
        PLAIN,
        told(call(1), again(1, 1), call(2), again(2, 2), over(2, "cancelled")),
        error="Cancelled: while waiting",
        cause="ConnectionError: e2",
        reason="cancelled",
        during_wait=2,
    ),
    Scenario(
        "attempts outrank cancellation",
        (cancels("stop it", fail("e1")),),
        PLAIN | {"attempts": 1},
        told(call(1), over(1, "attempts")),
        error="ConnectionError: e1",
        reason="attempts",
    ),
    *(
        Scenario(
            f"{kind.__name__} is never caught",
            (fail("e1"), raises(kind)),
            PLAIN | {"on": Exception},
            told(call(1), again(1, 1), call(2)),
            error=f"{kind.__name__}: {kind()}",
            reason="cancelled" if kind is forbear.Cancelled else None,
        )
        for kind in (
            KeyboardInterrupt,
            SystemExit,
            asyncio.CancelledError,
            forbear.Cancelled,
            forbear.ConfigError,
        )
    ),
    Scenario(
        "LeaseLost is never caught",
        (raises(lambda: forbear.LeaseLost("volume")),),
        PLAIN | {"on": lambda error: True},
        told(call(1)),
        error="LeaseLost: the lease of operation 'volume' was lost (token None)",
    ),
    Scenario(
        "a backoff for each type",
        (
            fail("e1", TimeoutError),
            fail("e2", ConnectionResetError),
            fail("e3", ConnectionError),
            give(1),
        ),
        PLAIN
        | {
            "on": (ConnectionError, TimeoutError),
            "backoff": {TimeoutError: 5, ConnectionError: DOUBLING, ConnectionResetError: 0.5},
        },
        told(call(1), again(1, 5), call(2), again(2, 0.5), call(3), again(3, 4), call(4), well(4)),
        result=1,
    ),
    Scenario(
        "a group is matched if every leaf is",
        (
            raises(
                lambda: ExceptionGroup(
                    "g", [ConnectionError("a"), ExceptionGroup("h", [ConnectionError("b")])]
                )
            ),
            raises(lambda: ExceptionGroup("g", [ConnectionError("a"), KeyError("b")])),
        ),
        PLAIN,
        told(call(1), again(1, 1), call(2)),
        error="ExceptionGroup: g (2 sub-exceptions)",
    ),
    Scenario(
        "results that are failures",
        (give("bad"), give("worse"), give("good")),
        PLAIN | {"on_result": lambda result: result != "good"},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), well(3)),
        result="good",
        forms=FUNCTIONS,
    ),
    Scenario(
        "the last result is returned when trying ends",
        (give("bad"), fail("e2"), give("worse")),
        PLAIN | {"on_result": lambda result: True, "attempts": 3},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "attempts")),
        result="worse",
        forms=FUNCTIONS,
    ),
    Scenario(
        "cancelled after a refused result: there is no last failure to name",
        (cancels("stop it", give("bad")),),
        PLAIN | {"on_result": lambda result: True},
        told(call(1), over(1, "cancelled")),
        error="Cancelled: stop it",
        reason="cancelled",
        forms=FUNCTIONS,
    ),
)


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
def test_what_a_hook_raises_comes_out_at_once(way: Way, hook: str) -> None:
    """Nothing is retried after a hook has raised, and its error is the one that comes out."""

    def broken(event: Event) -> None:
        raise RuntimeError("broken hook")

    steps = {"on_retry": fails("e1"), "on_giveup": fails("e1", "e2"), "on_success": (give(1),)}[
        hook
    ]
    seen = perform(way, Scenario("hook", steps, PLAIN | {hook: broken, "attempts": 2}, []))
    assert "RuntimeError: broken hook" == text_of(seen.error)
    assert (2 if hook == "on_giveup" else 1) == seen.calls


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
