"""`attempts(n)`: policies inside make fewer attempts, and don't wait; all else they say still holds."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
import trio

import forbear
from forbear import Delays, Event, Permanent, retry
from forbear.testing import attempts, virtual_time


class Oops(Exception):
    """What fails here."""


class Counting:
    """Operations that fail, and count how often they were called."""

    def __init__(self) -> None:
        self.calls = 0

    def fail(self) -> None:
        self.calls += 1
        raise Oops

    async def afail(self) -> None:
        self.fail()

    def items(self) -> Iterator[int]:
        self.fail()
        yield 1


PATIENT = retry(on=Oops, attempts=10, backoff=3600)


@pytest.fixture
def count() -> Counting:
    """Begin to count."""
    return Counting()


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_more_attempts_than_that_and_no_waits(limit: int, count: Counting) -> None:
    """In every way to use a policy; what comes out says that all attempts were used up."""
    with attempts(limit):
        for call in (
            PATIENT(count.fail),
            lambda: PATIENT.call(count.fail),
            lambda: list(PATIENT(count.items)()),
            lambda: asyncio.run(PATIENT(count.afail)()),
            lambda: trio.run(PATIENT(count.afail)),
            lambda: trio.run(PATIENT.acall, count.afail),
        ):
            count.calls = 0
            with pytest.raises(Oops) as caught:
                call()
            assert limit == count.calls
            assert "attempts" == forbear.reason(caught.value)
        count.calls = 0
        with pytest.raises(Oops):
            for attempt in PATIENT:
                with attempt:
                    count.fail()
        assert limit == count.calls


def test_an_endless_policy_ends(count: Counting) -> None:
    """Also one that has no limit of its own."""
    with attempts(3), pytest.raises(Oops):
        PATIENT.replace(attempts=None).call(count.fail)
    assert 3 == count.calls


def test_fewer_attempts_of_a_policys_own_count(count: Counting) -> None:
    """The limit is an upper bound."""
    with attempts(5), pytest.raises(Oops):
        PATIENT.replace(attempts=2).call(count.fail)
    assert 2 == count.calls


def test_nested_the_least_counts(count: Counting) -> None:
    """Whichever is outside."""
    for outer, inner in ((2, 7), (7, 2)):
        count.calls = 0
        with attempts(outer), attempts(inner), pytest.raises(Oops):
            PATIENT.call(count.fail)
        assert 2 == count.calls


def test_what_a_policy_says_beyond_that_holds(count: Counting) -> None:
    """Its backoff's stop, its signals, its time limit: delays count there, as they would without the test."""
    with attempts(5), virtual_time():
        with pytest.raises(Oops) as stopped:
            PATIENT.replace(backoff=Delays(1, 2)).call(count.fail)
        assert "backoff" == forbear.reason(stopped.value)
        assert 3 == count.calls

        def permanent() -> None:
            raise Permanent(Oops())

        with pytest.raises(Oops) as ended:
            PATIENT.call(permanent)
        assert "permanent" == forbear.reason(ended.value)
        with pytest.raises(KeyError) as passed:
            PATIENT.call({}.__getitem__, "key")
        assert forbear.reason(passed.value) is None


def test_a_success_is_a_success() -> None:
    """Fewer attempts than failures is what makes the difference."""
    left = [Oops(), Oops()]

    def operation() -> str:
        if left:
            raise left.pop()
        return "well"

    with attempts(3):
        assert "well" == PATIENT.call(operation)


def test_hooks_are_told_of_retries_without_a_delay(count: Counting) -> None:
    """What they see is what happens."""
    told: list[Event] = []
    with attempts(3), pytest.raises(Oops):
        PATIENT.replace(on_retry=told.append).call(count.fail)
    assert [0.0, 0.0] == [event.delay for event in told]


def test_it_ends_with_its_block_and_is_of_its_context(count: Counting) -> None:
    """Plain threads and what comes after have their own attempts."""
    policy = PATIENT.replace(attempts=4, backoff=0)

    def call() -> None:
        with pytest.raises(Oops):
            policy.call(count.fail)

    with attempts(2):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        assert 4 == count.calls
        asyncio.run(asyncio.to_thread(call))
        assert 6 == count.calls
    call()
    assert 10 == count.calls


def test_results_that_are_refused_count_too() -> None:
    """The last one is returned."""
    results = iter("abc")
    with attempts(2):
        assert "b" == PATIENT.replace(on_result=lambda result: True).call(lambda: next(results))
