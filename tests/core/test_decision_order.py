"""What follows a failed attempt: each step of the order, and which of two wins when both apply."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

import forbear
from forbear import (
    Cancelled,
    Constant,
    Decorrelated,
    Delays,
    Event,
    Exponential,
    Permanent,
    RetryAfter,
    Stop,
    retry,
)
from forbear.testing import virtual_time


class Oops(Exception):
    """The error that the policies here retry."""


@dataclass
class Setting:
    """One failing call to be, to which conditions are added."""

    error: Exception = field(default_factory=lambda: Oops("e"))
    policy: dict[str, Any] = field(
        default_factory=lambda: {
            "on": Oops,
            "name": "outer",
            "attempts": 2,
            "backoff": Constant(1),
            "hint_jitter": 0,
        }
    )
    cancelled: bool = False
    nested: bool = False


def _never(setting: Setting) -> None:
    setting.error = Cancelled("never")


def _permanent(setting: Setting) -> None:
    setting.error.__cause__ = Permanent("p")


def _unmatched(setting: Setting) -> None:
    setting.policy["on"] = KeyError


def _attempts(setting: Setting) -> None:
    setting.policy["attempts"] = 1


def _cancelled(setting: Setting) -> None:
    setting.cancelled = True


def _nested(setting: Setting) -> None:
    setting.nested = True
    setting.policy["nested"] = "stop"


def _backoff(setting: Setting) -> None:
    setting.policy["backoff"] = Stop()


def _hint(setting: Setting) -> None:
    setting.error.retry_after = 1000.0  # type: ignore[attr-defined]


def _timeout(setting: Setting) -> None:
    setting.policy["total_timeout"] = 0.5


CONDITIONS: dict[str, Callable[[Setting], None]] = {
    "never": _never,
    "permanent": _permanent,
    "passes": _unmatched,
    "attempts": _attempts,
    "cancelled": _cancelled,
    "nested": _nested,
    "backoff": _backoff,
    "hint": _hint,
    "timeout": _timeout,
}


def outcome(setting: Setting) -> str:
    """Play it, and say which step has decided; "waits" if trying went on."""

    def operation() -> None:
        raise setting.error

    @retry(**setting.policy)
    def outer() -> None:
        if setting.nested:
            retry(on=Exception, attempts=1, name="inner").call(operation)
        operation()

    with virtual_time() as clock, forbear.scope() as scope:
        if setting.cancelled:
            scope.cancel("from outside")
        try:
            outer()
        except Exception as error:
            if clock.waits:
                return "waits"
            if isinstance(error, Cancelled):
                return "never" if error is setting.error else "cancelled"
            ours = [
                note
                for note in getattr(error, "__notes__", [])
                if note.startswith("forbear: outer ")
            ]
            return ours[0].split("(")[1].split(":")[0] if ours else "passes"
    raise AssertionError("it has not failed")


def test_a_matched_failure_waits() -> None:
    """Where none of the conditions holds, the next attempt follows after a wait."""
    assert "waits" == outcome(Setting())


@pytest.mark.parametrize("name", CONDITIONS)
def test_each_condition_decides(name: str) -> None:
    """Each step of the order can end the trying by itself."""
    setting = Setting()
    CONDITIONS[name](setting)
    assert name == outcome(setting)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(CONDITIONS, 2)))
def test_of_two_conditions_the_earlier_decides(first: str, second: str) -> None:
    """The order is a promise, and holds for every pair."""
    setting = Setting()
    CONDITIONS[first](setting)
    CONDITIONS[second](setting)
    assert first == outcome(setting)


def test_all_conditions_at_once() -> None:
    """Taken away one after another, each uncovers the next."""
    names = list(CONDITIONS)
    for start in range(len(names)):
        setting = Setting()
        for name in names[start:]:
            CONDITIONS[name](setting)
        assert names[start] == outcome(setting)


# -- 1 and 2: what is never caught, and the signals


@pytest.mark.parametrize("make", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exits_pass_without_a_note(make: type[BaseException]) -> None:
    """What stands outside Exception isn't even seen, whatever the predicates would say."""
    asked: list[object] = []

    def operation() -> None:
        raise make

    with pytest.raises(make) as caught:
        retry(on=lambda error: not asked.append(error)).call(operation)
    assert [] == asked
    assert not hasattr(caught.value, "__notes__")


def failing(*errors: BaseException) -> Callable[[], str]:
    """Make a function that raises these, one after another, then returns."""
    left = list(errors)

    def operation() -> str:
        if left:
            raise left.pop(0)
        return "well"

    return operation


def test_permanent_is_seen_whatever_on_says() -> None:
    """A signal needs no `on`: it stops outer policies too, and the carried error comes out."""
    carried = KeyError("no such user")
    with pytest.raises(KeyError) as caught:
        retry(on=Oops).call(failing(Permanent(carried)))
    assert caught.value is carried
    assert "permanent" == forbear.reason(carried)


def test_permanent_stops_outer_policies() -> None:
    """The error that took the signal's place still tells every layer to stop."""
    calls = []

    @retry(on=Exception, nested="allow", backoff=0)
    @retry(on=Exception, nested="allow", backoff=0)
    @retry(on=Exception, nested="allow", backoff=0)
    def operation() -> None:
        calls.append(1)
        raise Permanent(Oops("p"))

    with pytest.raises(Oops) as caught:
        operation()
    assert 1 == len(calls)
    assert "permanent" == forbear.reason(caught.value)


def test_permanent_stops_an_outer_policy_also_when_it_is_wrapped() -> None:
    """A layer between that raises its own error from the carried one doesn't hide the signal."""
    calls = []

    @retry(on=Exception, nested="allow", backoff=0)
    def outer() -> None:
        try:
            inner()
        except Oops as error:
            raise RuntimeError("wrapped") from error

    @retry(on=Oops, backoff=0)
    def inner() -> None:
        calls.append(1)
        raise Permanent(Oops("p"))

    with pytest.raises(RuntimeError) as caught:
        outer()
    assert 1 == len(calls)
    assert "permanent" == forbear.reason(caught.value)


def test_permanent_gives_way_to_its_cause() -> None:
    """`raise Permanent from error` brings the error out; an argument that is an error outranks the cause."""
    cause, carried = Oops("cause"), KeyError("carried")
    first, second = Permanent(), Permanent(carried)
    first.__cause__ = second.__cause__ = cause
    with pytest.raises(Oops) as caught:
        retry(on=Oops).call(failing(first))
    assert caught.value is cause
    with pytest.raises(KeyError):
        retry(on=Oops).call(failing(second))


def test_giveup_doesnt_hide_permanent() -> None:
    """Signals come before `giveup`."""
    with pytest.raises(Oops) as caught:
        retry(on=Oops, giveup=Permanent).call(failing(Permanent(Oops("p"))))
    assert "permanent" == forbear.reason(caught.value)


def test_signals_in_groups() -> None:
    """A signal among the members of a group is seen; Permanent outweighs RetryAfter."""
    again = ExceptionGroup("g", [Oops("a"), RetryAfter(3), RetryAfter(7)])
    with virtual_time() as clock:
        assert "well" == retry(on=KeyError, hint_jitter=0).call(failing(again))
    assert [7.0] == clock.waits
    both = ExceptionGroup("g", [RetryAfter(3), ExceptionGroup("h", [Permanent("p")])])
    with pytest.raises(ExceptionGroup) as caught:
        retry(on=KeyError).call(failing(both))
    assert caught.value is both
    assert "permanent" == forbear.reason(both)


def test_signals_in_the_chain_of_causes() -> None:
    """RetryAfter counts as matched in the chain too; the outer error is the one that comes out at the end."""
    inner, outer = RetryAfter(3), RuntimeError("outer")
    outer.__cause__ = inner
    with virtual_time() as clock, pytest.raises(RuntimeError) as caught:
        retry(on=KeyError, attempts=2, hint_jitter=0).call(failing(outer, outer))
    assert [3.0] == clock.waits
    assert caught.value is outer
    assert "attempts" == forbear.reason(outer)


def test_a_signal_in_the_context_is_no_signal() -> None:
    """Only what was raised on purpose counts: an error while handling a signal says nothing about trying again."""
    outer = RuntimeError("outer")
    outer.__context__ = Permanent("p")
    with virtual_time():
        assert "well" == retry(on=RuntimeError).call(failing(outer))


def test_a_cyclic_chain_ends() -> None:
    """Causes that point at each other are looked at once."""
    first, second = Oops("a"), Oops("b")
    first.__cause__, second.__cause__ = second, first
    with virtual_time():
        assert "well" == retry(on=Oops).call(failing(first))


# -- 3: on and giveup


def test_giveup_wins_over_on_and_over_retry_after() -> None:
    """`giveup` wins over `on`, and over a signal that would count as matched."""
    with pytest.raises(RetryAfter) as caught:
        retry(on=Exception, giveup=RetryAfter).call(failing(RetryAfter(1)))
    assert forbear.reason(caught.value) is None
    error = Oops("x")
    with pytest.raises(Oops):
        retry(on=Oops, giveup=lambda error: "x" in str(error)).call(failing(error))
    assert not hasattr(error, "__notes__")


def group(*members: Exception) -> Exception:
    """Make a group."""
    return ExceptionGroup("g", list(members))


@pytest.mark.parametrize(
    ("rules", "error", "matched"),
    [
        ({"on": Oops}, group(Oops(), Oops()), True),
        ({"on": Oops}, group(Oops(), group(Oops(), Oops())), True),
        ({"on": Oops}, group(Oops(), KeyError()), False),
        ({"on": (Oops, KeyError)}, group(Oops(), KeyError()), True),
        ({"on": ExceptionGroup}, group(KeyError()), True),
        ({"on": (Oops, ExceptionGroup)}, group(KeyError()), True),
        ({"on": Oops, "giveup": KeyError}, group(Oops(), KeyError()), False),
        ({"on": Exception, "giveup": KeyError}, group(Oops(), group(KeyError())), False),
        ({"on": Exception}, group(Oops()), True),
        ({"on": lambda error: isinstance(error, Oops)}, group(Oops(), group(Oops())), True),
        ({"on": lambda error: isinstance(error, Oops)}, group(Oops(), KeyError()), False),
        (
            {"on": Oops, "giveup": lambda error: str(error) == "no"},
            group(Oops("no"), Oops()),
            False,
        ),
        ({"on": Oops, "giveup": ExceptionGroup}, group(Oops()), False),
        ({"on": Exception}, group(Oops(), Cancelled()), False),
        ({"on": ExceptionGroup}, group(Oops(), group(forbear.LeaseLost("x"))), False),
    ],
)
def test_groups(rules: dict[str, Any], error: Exception, matched: bool) -> None:
    """A group is matched if its type is named, or if every leaf is and none by `giveup`; never with a cancellation."""
    with virtual_time():
        policy = retry(**rules, hint=None)
        if matched:
            assert "well" == policy.call(failing(error))
        else:
            with pytest.raises(ExceptionGroup) as caught:
                policy.call(failing(error))
            assert caught.value is error
            assert not hasattr(error, "__notes__")


def test_a_base_group_passes() -> None:
    """A group with an exit in it is no Exception, and no policy sees it."""
    error = BaseExceptionGroup("g", [Oops(), KeyboardInterrupt()])
    with pytest.raises(BaseExceptionGroup) as caught:
        retry(on=lambda error: True).call(failing(error))
    assert caught.value is error


# -- 7 and 8: backoffs and hints


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


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), -float("inf"), "soon"])
def test_a_backoff_that_answers_no_number_is_refused(answer: Any) -> None:
    """What is no number of seconds can't be waited, and is a mistake of the backoff."""
    with pytest.raises(forbear.ConfigError, match="backoff must answer"):
        retry(on=Oops, backoff=Recording(answer)).call(failing(Oops()))


class Hinting(Oops):
    """An error with a hint."""

    def __init__(self, retry_after: object) -> None:
        super().__init__("e")
        self.retry_after = retry_after


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
