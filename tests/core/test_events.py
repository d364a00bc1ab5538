"""Events: what hooks and listeners are told of a call, in which order, and to whom nothing is told."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable

import pytest

import forbear
from forbear import Event, Permanent, on_event, retry
from forbear.testing import virtual_time

from drivers import Lines, Scenario, fails, give, perform
from outcomes import failing
from scenarios import PLAIN
from ways import WAYS, Way


class Oops(Exception):
    """What fails here."""


# -- events


def test_a_retry_a_giveup_and_a_success_have_their_fields(told: list[Event]) -> None:
    """What doesn't apply is None: only a retry has a delay, only a giving up a reason."""
    first, second = Oops("e1"), Oops("e2")
    policy = retry(on=Oops, attempts=2, backoff=2, name="p")
    with virtual_time():
        policy.call(failing(first, "well"))
        with pytest.raises(Oops):
            policy.call(failing(first, second))
    success = Event("success", "p", 2, elapsed=2.0, result="well")
    again = Event("retry", "p", 1, delay=2.0, elapsed=0.0, error=first)
    over = Event("giveup", "p", 2, elapsed=2.0, error=second, reason="attempts")
    assert [again, success, again, over] == told
    assert told[-1].error is second


def test_refused_results_are_in_their_events(told: list[Event]) -> None:
    """A result that counts as a failure stands where an error would."""
    policy = retry(on=Oops, on_result=lambda result: result != 0, attempts=2, backoff=1, name="p")
    with virtual_time():
        policy.call(failing("bad", "worse"))
        policy.call(failing("bad", 0))
    again = Event("retry", "p", 1, delay=1.0, elapsed=0.0, result="bad")
    over = Event("giveup", "p", 2, elapsed=1.0, result="worse", reason="attempts")
    assert [again, over, again, Event("success", "p", 2, elapsed=1.0, result=0)] == told


def test_a_giveup_tells_of_the_error_that_comes_out(told: list[Event]) -> None:
    """Of the error that a signal carries, not of the signal; a cancellation names the last failure."""
    carried, failure = Oops("carried"), Oops("failure")
    with pytest.raises(Oops):
        retry(on=Oops).call(failing(Permanent(carried)))
    with forbear.scope() as scope, pytest.raises(forbear.Cancelled):
        scope.cancel("bye")
        retry(on=Oops).call(failing(failure))
    assert [(carried, "permanent"), (failure, "cancelled")] == [(e.error, e.reason) for e in told]


@pytest.mark.parametrize("limit", [None, 10.0], ids=["unlimited", "limited"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_a_success_at_once_is_told_only_by_a_hook(
    way: Way, limit: float | None, told: list[Event]
) -> None:
    """Success costs nothing; who has asked for successes gets each, and then the listeners do too."""
    heard: list[Event] = []
    policy = retry(on=Oops, total_timeout=limit, name="p")

    def operation() -> str:
        clock.advance(2.0)
        return "well"

    with virtual_time() as clock:
        way.run(policy, operation)
        assert [] == told
        way.run(policy.replace(on_success=heard.append), operation)
    # A block doesn't see what its body makes; without a time limit nobody has looked at a clock.
    result = None if way.form == "block" else "well"
    elapsed = None if limit is None else 2.0
    assert [Event("success", "p", 1, elapsed=elapsed, result=result)] == told == heard


def test_an_error_that_passes_is_told_to_nobody(told: list[Event], log: Lines) -> None:
    """What the policy doesn't match is none of its business, also after failures."""
    with virtual_time(), pytest.raises(KeyError):
        retry(on=Oops).call(failing(KeyError()))
    with virtual_time(), pytest.raises(KeyError):
        retry(on=Oops).call(failing(Oops(), KeyError()))
    assert ["retry"] == [event.kind for event in told]
    assert 1 == len(log.lines)


def test_the_policy_of_an_event_is_its_name_or_the_functions(told: list[Event]) -> None:
    """Whoever reads a dashboard knows what failed."""

    def fetch() -> None:
        raise Oops

    for name in (None, "billing"):
        with pytest.raises(Oops):
            retry(on=Oops, attempts=1, name=name)(fetch)()
    own = "test_the_policy_of_an_event_is_its_name_or_the_functions.<locals>.fetch"
    assert [own, "billing"] == [event.policy for event in told]


def test_an_event_is_a_frozen_value() -> None:
    """Many listeners see the same object; it compares, pickles, and shows what applies."""
    event = Event("retry", "p", 3, delay=1.5, elapsed=4.0, error=None)
    with pytest.raises(AttributeError, match="frozen"):
        event.attempt = 4
    with pytest.raises(AttributeError, match="frozen"):
        del event.delay
    assert "Event('retry', 'p', 3, delay=1.5, elapsed=4.0)" == repr(event)
    assert event == pickle.loads(pickle.dumps(event))
    assert event != Event("retry", "p", 4, delay=1.5, elapsed=4.0)
    assert event != "retry"
    match event:
        case Event("retry", name, number):
            assert ("p", 3) == (name, number)
        case _:
            raise AssertionError("an event has match arguments")


# -- listeners


def test_a_listener_can_be_taken_away() -> None:
    """By the function that `on_event` has given, twice is fine; another of the same function stays."""
    heard: list[Event] = []
    first, second = on_event(heard.append), on_event(heard.append)

    def fail() -> None:
        with pytest.raises(Oops):
            retry(on=Oops, attempts=1).call(failing(Oops()))

    fail()
    assert 2 == len(heard)
    first()
    first()
    fail()
    assert 3 == len(heard)
    second()
    fail()
    assert 3 == len(heard)


def test_listeners_may_come_and_go_while_they_are_told() -> None:
    """Whoever is being told goes on with the list that it has."""
    heard: list[str] = []
    removes: list[Callable[[], None]] = []

    def once(event: Event) -> None:
        heard.append("once")
        removes.pop()()
        removes.append(on_event(lambda event: heard.append("new")))

    removes.append(on_event(once))
    try:
        for _ in range(2):
            with pytest.raises(Oops):
                retry(on=Oops, attempts=1).call(failing(Oops()))
    finally:
        removes.pop()()
    assert ["once", "new"] == heard


def test_listeners_hear_every_thread_and_task(told: list[Event]) -> None:
    """They are the process's, and are called where the call runs."""
    places: list[int] = []
    remove = on_event(lambda event: places.append(threading.get_ident()))

    def fail() -> None:
        with pytest.raises(Oops):
            retry(on=Oops, attempts=1, name="thread").call(failing(Oops()))

    async def afail() -> None:
        raise Oops

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    with pytest.raises(Oops):
        asyncio.run(retry(on=Oops, attempts=1, name="task")(afail)())
    remove()
    assert ["thread", "task"] == [event.policy for event in told]
    assert threading.get_ident() not in places[:1]
    assert threading.get_ident() == places[1]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_a_listener_that_raises_breaks_nothing(way: Way, log: Lines) -> None:
    """A broken exporter must not break the calls it counts: its error is logged and goes no further."""
    broken = [on_event(failing(RuntimeError(f"listener {number}"))) for number in (1, 2)]
    policy = retry(on=Oops, attempts=2, backoff=1, name="p")
    try:
        with virtual_time() as clock:
            assert "well" == way.run(policy, failing(Oops("e1"), "well"))
    finally:
        for remove in broken:
            remove()
    assert [1.0] == clock.waits
    failed = ["a listener failed at retry"] * 2 + ["a listener failed at success"] * 2
    assert failed == [line for line in log.lines if "listener" in line]
    exceptions = [record.exc_info for record in log.records if record.exc_info]
    assert 4 == len(exceptions)
    assert all(one is not None and one[0] is RuntimeError for one in exceptions)


def test_an_exit_in_a_listener_comes_out(told: list[Event]) -> None:
    """Only a listener's failures are swallowed: Ctrl-C is none."""
    remove = on_event(failing(KeyboardInterrupt()))
    try:
        with pytest.raises(KeyboardInterrupt):
            retry(on=Oops, attempts=2, backoff=1).call(failing(Oops()))
    finally:
        remove()


# -- where nobody listens


def test_a_hook_is_told_after_the_log_and_the_listeners() -> None:
    """Whatever the hook does, what happened has been written down."""
    for way in WAYS:
        seen = perform(way, Scenario("order", (*fails("e1"), give(1)), PLAIN, []))
        kinds = [line.split()[0] for line in seen.story]
        assert [
            "call",
            "log",
            "listener",
            "on_retry",
            "wait",
            "call",
            "listener",
            "on_success",
        ] == kinds
