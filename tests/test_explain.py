"""What `explain` promises, against the table of cases and against calls played at random."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forbear import Constant, Decorrelated, Delays, Exponential, Linear, Stop, presets, retry
from forbear._explain import duration
from forbear._sums import Course

# Given, then: calls, waiting, rides_out.
CASES: list[tuple[dict[str, Any], int | None, tuple[float | None, ...], tuple[float | None, ...]]] = [
    ({}, 5, (0, 0.75, 1.5), (0, 0.75, 1.5)),
    ({"attempts": 1}, 1, (0, 0, 0), (0, 0, 0)),
    ({"backoff": Stop()}, 1, (0, 0, 0), (0, 0, 0)),
    ({"attempts": None}, None, (0, None, None), (None, None, None)),
    ({"attempts": None, "backoff": 2}, None, (None, None, None), (None, None, None)),
    ({"attempts": None, "backoff": 0}, None, (0, 0, 0), (None, None, None)),
    ({"attempts": None, "backoff": 0, "total_timeout": 5}, None, (0, 0, 0), (5, 5, 5)),
    ({"attempts": None, "backoff": Delays(1, 2, 3)}, 4, (6, 6, 6), (6, 6, 6)),
    ({"attempts": None, "backoff": 10, "total_timeout": 35}, 4, (30, 30, 30), (30, 30, 30)),
    ({"attempts": 10**8, "backoff": 2}, 10**8, (199999998,) * 3, (199999998,) * 3),
    ({"attempts": 5, "backoff": 10, "total_timeout": 0}, 1, (0, 0, 0), (0, 0, 0)),
    ({"attempts": 5, "backoff": 0, "total_timeout": 0}, 5, (0, 0, 0), (0, 0, 0)),
    ({"attempts": 10, "backoff": presets.KUBERNETES, "total_timeout": 60}, 7, (31.5,) * 3, (31.5,) * 3),
    ({"attempts": None, "total_timeout": 3600}, None, (3580, 3592.75, 3600), (3580, 3592.75, 3600)),
    ({"attempts": 6, "backoff": Exponential(10, 1, jitter=0.2), "total_timeout": 35}, 5, (23, 30, 35), (23, 30, 35)),
    ({"backoff": {OSError: Delays(1), ValueError: Constant(3)}}, 5, (1, 12, 12), (1, 12, 12)),
]  # fmt: skip


@pytest.mark.parametrize(("given", "calls", "waiting", "rides_out"), CASES)
def test_the_worst_case(
    given: dict[str, Any], calls: int | None, waiting: Any, rides_out: Any
) -> None:
    """Calls at most; seconds of waiting, and of an outage that is ridden out: at least, typically, at most."""
    told = retry(on=OSError, **given).explain()
    assert calls == told.calls
    near = [None if second is None else pytest.approx(second, rel=1e-6) for second in waiting]
    assert near == list(told.waiting)
    near = [None if second is None else pytest.approx(second, rel=1e-6) for second in rides_out]
    assert near == list(told.rides_out)


def test_what_has_no_end_is_null_in_json() -> None:
    """JSON has no infinity."""
    for backoff in (Exponential(), Constant(2)):
        told = retry(on=OSError, attempts=None, backoff=backoff).explain()
        json.dumps(told.to_dict(), allow_nan=False)


SECONDS = st.floats(0, 8).map(lambda second: round(second, 2))
SPANS = st.lists(
    st.tuples(SECONDS, SECONDS, SECONDS).map(lambda span: tuple(sorted(span))), max_size=6
)


@given(SPANS, st.integers(0, 5), st.one_of(st.none(), st.floats(0, 40)), st.integers(0, 2**32))
def test_no_call_is_outside_the_bounds(
    spans: Any, more: int, limit: float | None, seed: int
) -> None:
    """Waits drawn anywhere between their least and most add up to what was said, and start no more attempts."""
    course = Course(spans, more)
    chance = random.Random(seed)
    least, most, starts = course.least(limit), course.most(limit), course.starts(limit)
    assert least is not None
    assert most is not None
    assert starts is not None
    for _ in range(20):
        extreme = chance.random() < 0.5
        waited, attempts = 0.0, 1
        for low, _, high in [*spans, *(spans[-1:] * more)]:
            wait = chance.choice([low, high]) if extreme else chance.uniform(low, high)
            if limit is not None and waited + wait > limit:
                break
            waited += wait
            attempts += 1
        assert least - 1e-6 <= waited <= most + 1e-6
        assert attempts <= starts


@pytest.mark.parametrize(
    "backoff", [Exponential(), Linear(1, 1, cap=5), Decorrelated(0.1, 3), Delays(1, 2), Constant(1)]
)
def test_a_tail_is_as_good_as_a_list(backoff: Any) -> None:
    """A table that is cut says the same as the whole one would, once the backoff is steady."""
    whole = retry(on=OSError, attempts=1001, backoff=backoff).explain()
    cut = retry(on=OSError, attempts=1002, backoff=backoff).explain()
    last = whole.waits[-1] if len(whole.waits) == 1000 else None
    more = (0, 0, 0) if last is None else (last.low, last.typical, last.high)
    for told, before, step in zip(cut.waiting, whole.waiting, more, strict=True):
        assert told is not None
        assert before is not None
        assert pytest.approx(before + step) == told


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1e-9, "1e-06 ms"),
        (0.9994, "999 ms"),
        (0.9999999, "1 s"),
        (59.96, "1 min"),
        (3599.99, "1 h"),
        (86399.9, "1 d"),
        (86400 * 5000, "5,000 d"),
        (math.inf, "for ever"),
        (1e300, "for ever"),
    ],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    """In the unit that fits after rounding, not before."""
    assert text == duration(seconds)
