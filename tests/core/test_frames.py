"""
Which calls are running: a decorated sync call notes nothing when it begins, and is known by its frame.

Frames come and go at the same addresses, are traced by debuggers, and recurse; none of that may mix calls up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import forbear
from forbear import Cancelled, retry
from forbear.testing import virtual_time

from processes import output_of
from ways import WAYS, Way


class Oops(Exception):
    """What fails here."""


STOPPING = retry(on=Oops, attempts=3, backoff=0, nested="stop")


def items_of(policy: Any, step: Callable[[], object]) -> Callable[[], object]:
    """Decorate a generator function, and return a function that asks it for its first item."""

    @policy
    def items() -> Iterator[object]:
        yield step()

    return lambda: next(items())


FORMS: dict[str, Callable[[Any, Callable[[], object]], Callable[[], object]]] = {
    "function": lambda policy, step: policy(step),
    "generator": items_of,
    "call": lambda policy, step: lambda: policy.call(step),
}


@pytest.mark.parametrize("outside", FORMS)
@pytest.mark.parametrize("inside", FORMS)
def test_a_mark_made_in_an_earlier_call_of_the_same_function_is_history(
    inside: str, outside: str
) -> None:
    """The frame of this call has the address of the one before, and the error object carries its mark."""
    kept = Oops("kept")
    calls: list[str] = []

    def fail() -> None:
        calls.append("inner")
        raise kept

    inner = FORMS[inside](STOPPING, fail)

    def operation() -> None:
        calls.append("outer")
        if nested:
            inner()
        raise kept

    outer = FORMS[outside](STOPPING, operation)
    for nested in (True, False, False, True, False):
        calls.clear()
        kept.__traceback__ = None
        with pytest.raises(Oops) as caught:
            outer()
        assert (["outer", *["inner"] * 3] if nested else ["outer"] * 3) == calls
        assert ("nested" if nested else "attempts") == forbear.reason(caught.value)


def test_a_mark_made_beside_this_call_is_history() -> None:
    """A call that has given up before, on the same stack and inside the same outer call, is not inside this one."""
    kept = Oops("kept")
    calls: list[str] = []

    def operation(name: str) -> None:
        calls.append(name)
        raise kept

    one, other = STOPPING(operation), STOPPING(operation)

    def both() -> None:
        with pytest.raises(Oops):
            one("one")
        other("other")

    with pytest.raises(Oops) as caught:
        STOPPING.replace(attempts=None)(both)()
    assert ["one"] * 3 + ["other"] * 3 == calls
    assert "nested" == forbear.reason(caught.value)


def test_a_function_that_calls_itself_is_many_calls() -> None:
    """Each level has a frame of its own; the innermost that gives up is inside all of them."""
    calls: list[int] = []

    @STOPPING
    def countdown(number: int) -> None:
        calls.append(number)
        if number == 0:
            raise Oops
        countdown(number - 1)

    with pytest.raises(Oops):
        countdown(5)
    assert [5, 4, 3, 2, 1, 0, 0, 0] == calls


def test_threads_that_raise_one_object_at_once_keep_apart() -> None:
    """A mark of another thread counts where this call waited for it, and there it should."""
    calls: list[str] = []

    @STOPPING
    def inner() -> None:
        calls.append("inner")
        raise Oops

    @STOPPING
    def outer() -> None:
        calls.append("outer")
        errors: list[Exception] = []

        def work() -> None:
            try:
                inner()
            except Oops as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        raise errors[0]

    with pytest.raises(Oops):
        outer()
    assert ["outer", "inner", "inner", "inner"] == calls


# -- cancel_all: what was running then


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_a_call_in_its_attempt_when_all_is_cancelled_does_not_wait(way: Way) -> None:
    """It had begun, so it ends with Cancelled and its failure as the cause; what begins later is free."""

    def step() -> None:
        forbear.cancel_all("bye")
        raise Oops

    with pytest.raises(Cancelled) as caught:
        way.run(retry(on=Oops, backoff=3600), step)
    assert "bye" == caught.value.reason
    assert isinstance(caught.value.__cause__, Oops)
    calls = []

    def later() -> None:
        calls.append(1)
        raise Oops

    with pytest.raises(Oops):
        way.run(retry(on=Oops, attempts=3, backoff=0.0001), later)
    assert 3 == len(calls)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_a_call_begun_inside_after_all_was_cancelled_is_free(way: Way) -> None:
    """A shutdown handler may retry to say goodbye, also inside of what it has cancelled."""
    calls: list[str] = []
    goodbye = retry(on=Oops, attempts=3, backoff=1)

    def say() -> None:
        calls.append("bye")
        if len(calls) < 3:
            raise Oops

    def step() -> None:
        forbear.cancel_all("bye")
        with virtual_time():
            goodbye(say)()
        raise Oops

    with pytest.raises(Cancelled):
        way.run(retry(on=Oops, backoff=3600), step)
    assert ["bye"] * 3 == calls


@pytest.mark.parametrize("form", FORMS)
def test_other_threads_in_their_attempts_do_not_wait(form: str) -> None:
    """Every thread's stack is looked at, and what began after that is free."""
    begun, go = threading.Semaphore(0), threading.Event()
    told: list[str | None] = []

    def step() -> None:
        begun.release()
        go.wait()
        raise Oops

    call = FORMS[form](retry(on=Oops, attempts=2, backoff=0.0001), step)

    def work() -> None:
        with pytest.raises((Oops, Cancelled)) as caught:
            call()
        told.append(forbear.reason(caught.value))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads[:2]:
        thread.start()
        begun.acquire()
    forbear.cancel_all("bye")
    threads[2].start()
    begun.acquire()
    go.set()
    for thread in threads:
        thread.join()
    assert ["attempts", "cancelled", "cancelled"] == sorted(map(str, told))


# -- debuggers

TRACING = """
    import sys
    import forbear

    policy = forbear.retry(on=OSError, attempts=3, backoff=0)
    seen = []

    def tracer(frame, event, argument):
        seen.append((frame.f_code.co_name, event))
        return tracer

    def inner():
        raise OSError

    def after():
        return "well"
"""


def test_a_tracer_sees_what_it_would_see_without() -> None:
    """Numbers stand where a debugger puts its own functions; they hand on to what is there."""
    told = output_of(
        TRACING
        + """
    def operation():
        try:
            policy(inner)()
        except OSError:
            pass
        return after()

    decorated = policy(operation)
    sys.settrace(tracer)
    decorated()
    sys.settrace(None)
    print(seen.count(("inner", "exception")), seen.count(("after", "return")))
    print([event for name, event in seen if name == "operation" and event != "line"])
    # The wrapper has the function's name, and each of its lines is seen to the end.
    rest = seen[seen.index(("after", "return")):]
    print([event for name, event in rest if name == "operation"])
    """
    )
    inner_and_after, events, rest = told
    # Three attempts, and each of their errors is seen in the function and in its wrapper.
    assert "6 1" == inner_and_after
    assert "['call', 'call', 'exception', 'return', 'return']" == events
    assert "['return', 'return']" == rest


def test_who_begins_to_trace_later_is_not_disturbed() -> None:
    """A debugger that is attached while calls run finds numbers on their frames, and traces on."""
    told = output_of(
        TRACING
        + """
    def operation():
        try:
            policy(inner)()
        except OSError:
            pass
        sys.settrace(tracer)
        return after()

    policy(operation)()
    sys.settrace(None)
    print(("after", "call") in seen, ("after", "return") in seen)
    """
    )
    assert ["True True"] == told
