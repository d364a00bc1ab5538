"""What follows a failed attempt: of two reasons the earlier in the manual's list decides."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import forbear
from forbear import (
    Cancelled,
    Permanent,
    RetryAfter,
    Stop,
    retry,
)
from forbear.testing import virtual_time

from settings import Oops, Setting, failing, outcome


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
        assert "well" == retry(on=Oops, hint_jitter=0).call(failing(again))
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
