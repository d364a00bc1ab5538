"""How backoffs combine: take, then, max_of, and what counts as a part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

import forbear
from forbear import (
    ConfigError,
    Constant,
    Decorrelated,
    Delays,
    Exponential,
    Linear,
    Stop,
    max_of,
)
from forbear.backoff import as_backoff

ENDLESS = [Constant(1), Linear(1, 1), Exponential(), Decorrelated(1, 2), Delays(1, then="repeat")]


class Office:
    """A backoff of a user's own, with nothing but the one method."""

    def delay(self, n: int, before: float, random: Callable[[], float]) -> float | None:
        return 60.0 * n + before + random()


class ThreeTimes(Office):
    """One that says where it stops."""

    length = 3


def run(backoff: forbear.Backoff, most: int = 20, u: float = 0.5) -> list[float]:
    def delays() -> Iterator[float]:
        previous = 0.0
        for failures in range(1, most + 1):
            delay = backoff.delay(failures, previous, lambda: u)
            if delay is None:
                return
            yield delay
            previous = delay

    return list(delays())


@pytest.mark.parametrize("n", [0, 1, 3])
def test_take_stops_after_n_delays(n: int) -> None:
    """`take(n)` gives the first n delays and then None for ever."""
    backoff = Linear(1, 1).take(n)
    assert [1.0, 2.0, 3.0][:n] == run(backoff)
    assert backoff.delay(n + 1, 0.0, float) is None
    assert backoff.delay(10**6, 0.0, float) is None


def test_take_of_a_take_is_the_shorter() -> None:
    """Neither limit is lost."""
    assert [1.0, 1.0] == run(Constant(1).take(5).take(2))
    assert [1.0, 1.0] == run(Constant(1).take(2).take(5))
    assert [1.0, 2.0] == run(Delays(1, 2).take(5))


def test_then_goes_on_with_a_count_of_its_own() -> None:
    """The second backoff counts its failures from 1."""
    backoff = Constant(0).take(2).then(Linear(1, 1))
    assert [0, 0, 1, 2, 3] == run(backoff, 5)


def test_then_starts_without_a_delay_before() -> None:
    """The last delay of the first is none of the second's: it starts as if it stood alone."""
    decorrelated = Decorrelated(1, 1000)
    assert [100.0, *run(decorrelated, 4)] == run(Constant(100).take(1).then(decorrelated), 5)


def test_then_stops_where_the_second_stops() -> None:
    """A chain of finite parts is finite, and can be followed in turn."""
    chain = Delays(1, 2).then(Delays(3)).then(Constant(4).take(2)).then(Stop())
    assert [1, 2, 3, 4, 4] == run(chain)
    assert 5 == chain.length
    assert [1, 2, 3, 4, 4, 9] == run(chain.then(9), 6)


def test_then_associates() -> None:
    """Wherever the parentheses stand, the delays are the same."""
    a, b, c = Delays(1, 2), Constant(5).take(2), Decorrelated(1, 50)
    assert run(a.then(b).then(c)) == run(a.then(b.then(c)))


def test_nothing_before_then_is_the_second_alone() -> None:
    """A first part of length 0 leaves no trace."""
    for nothing in (Stop(), Exponential().take(0)):
        assert run(Linear(1, 1)) == run(nothing.then(Linear(1, 1)))


@pytest.mark.parametrize(
    "endless",
    [*ENDLESS, Stop().then(Constant(1)), max_of(Constant(1), 2), max_of(Office())],
)
def test_nothing_can_come_after_what_has_no_end(endless: Constant) -> None:
    """`then` after an endless backoff is a mistake, and the message shows how to end it."""
    with pytest.raises(ConfigError) as caught:
        endless.then(Constant(1))
    assert " has no end, so nothing can come after it; for example " in str(caught.value)
    assert str(caught.value).endswith(".take(3).then(...)")


def test_a_users_own_backoff_is_a_part_as_any_other() -> None:
    """Any object with a `delay` can come second, be compared by max_of, and be limited there."""
    assert [1, 60.5, 181] == run(Constant(1).take(1).then(Office()), 3)
    assert [100, 220.5, 401] == run(max_of(Constant(100), Office()), 3)
    assert [60.5, 181] == run(max_of(Office(), Constant(0).take(2)))
    assert 2 == max_of(Office(), Constant(0).take(2)).length


def test_a_users_own_backoff_may_say_where_it_stops() -> None:
    """An int `length` counts; without one an object counts as endless."""
    assert 3 == max_of(ThreeTimes()).length
    assert 4 == Constant(1).take(1).then(ThreeTimes()).length
    assert Constant(1).take(1).then(Office()).length is None


@pytest.mark.parametrize("backoff", ENDLESS)
def test_an_endless_backoff_has_no_length(backoff: Constant) -> None:
    """None means without end; `take` gives a length."""
    assert backoff.length is None
    assert 7 == backoff.take(7).length


def test_lengths() -> None:
    """How many delays come before the stop, told without running."""
    for backoff in (
        Stop(),
        Delays(1, 2, 3),
        Delays(1, 2, 3).take(2),
        Delays(1, 2).take(9),
        Delays(1).then(Delays(1, 2)),
        max_of(Delays(1, 2, 3), Constant(1).take(5), Exponential()),
    ):
        assert len(run(backoff)) == backoff.length


def test_max_of_is_the_longest_delay_and_the_first_stop() -> None:
    """The larger delay counts, and the first part that stops ends it."""
    assert [3, 3, 3, 4, 5] == run(max_of(Constant(3), Linear(1, 1)), 5)
    assert [2, 2] == run(max_of(Delays(1, 1), Constant(2)))
    assert [] == run(max_of(Exponential(), Stop()))
    assert [5, 5] == run(max_of(5), 2)


def test_max_of_draws_for_each_and_tells_all_the_delay_that_was_waited() -> None:
    """Each part draws its own chance; the delay before is the common one."""
    draws = iter([0.9, 0.1, 0.1, 0.9])
    both = max_of(Exponential(1, 1), Exponential(1, 1))
    assert [0.9, 0.9] == list(both.take(2).delays(random=draws.__next__))
    assert [9.0, 14.0] == run(max_of(Delays(9, then="repeat"), Decorrelated(1, 100)), 2)


def test_seconds_stand_for_a_constant_wherever_a_backoff_is_wanted() -> None:
    """Numbers and timedeltas become `Constant`."""
    assert Constant(2) == as_backoff("backoff", 2)
    assert Constant(60) == as_backoff("backoff", timedelta(minutes=1))
    assert max_of(Constant(1), Constant(2)) == max_of(1, timedelta(seconds=2))
    assert Delays(1).then(Constant(5)) == Delays(1).then(5)


def test_a_backoff_passes_as_it_is() -> None:
    """What has a `delay` is not copied or wrapped."""
    for backoff in (Exponential(), Office(), Stop(), Delays(1).take(1)):
        assert backoff is as_backoff("backoff", backoff)


def test_every_backoff_satisfies_the_protocol() -> None:
    """`forbear.Backoff` asks for `delay` and no more."""
    for backoff in (*ENDLESS, Stop(), Office(), max_of(1), Delays(1).take(1), Delays(1).then(2)):
        assert isinstance(backoff, forbear.Backoff)
    assert not isinstance("soon", forbear.Backoff)


class Grumpy:
    @property
    def delay(self) -> float:
        raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (None, "not None; for example backoff=Exponential()"),
        ("5", "not '5'; for example backoff=Exponential()"),
        (True, "not True; for example backoff=Exponential()"),
        (-1, "not -1; for example backoff=Exponential()"),
        (float("nan"), "not nan; for example backoff=Exponential()"),
        (Exponential, "not the class Exponential; for example backoff=Exponential()"),
        (Office, "not the class Office; for example backoff=Office()"),
        (int, "not the class int; for example backoff=Exponential()"),
        ([1, 2], "not [1, 2]; for example backoff=Exponential()"),
        (Grumpy(), "for example backoff=Exponential()"),
    ],
)
def test_what_is_no_backoff_is_refused(bad: object, told: str) -> None:
    """The message names the parameter and the value, and shows one that works."""
    with pytest.raises(ConfigError) as caught:
        as_backoff("backoff", bad)
    message = str(caught.value)
    assert message.startswith("backoff must be a backoff or a number of seconds, at least 0, not ")
    assert told in message


@pytest.mark.parametrize("bad", [-1, 2.0, True, None, "3"])
def test_take_wants_a_count(bad: int) -> None:
    """N is a whole number, at least 0."""
    with pytest.raises(ConfigError, match=r"^n must be .*for example take\(3\)$"):
        Constant(1).take(bad)


def test_parts_that_are_none_are_refused_by_position() -> None:
    """max_of names the part, `then` its parameter, and max_of() wants at least one."""
    with pytest.raises(ConfigError, match=r"^backoffs\[1\] must be a backoff"):
        max_of(Constant(1), "2")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^other must be a backoff"):
        Delays(1).then(Exponential)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"at least one backoff, not none; for example max_of\("):
        max_of()
