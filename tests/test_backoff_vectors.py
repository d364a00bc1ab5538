"""
Three systems as data: what cenkalti/backoff, Kubernetes and redis-py wait, held against the
backoffs.

A deviation on purpose is skipped where the system's numbers are compared, and has a test of its
own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from forbear import (
    ConfigError,
    Constant,
    Decorrelated,
    Exponential,
    Stop,
    max_of,
    presets,
)

VECTORS = Path(__file__).parent / "vectors"
CENKALTI: dict[str, Any] = json.loads((VECTORS / "cenkalti.json").read_text())
KUBERNETES: dict[str, Any] = json.loads((VECTORS / "kubernetes.json").read_text())
REDIS_PY: dict[str, Any] = json.loads((VECTORS / "redis_py.json").read_text())

Case = dict[str, Any]


def no_random() -> float:
    raise AssertionError("a backoff without jitter draws no random number")


def always(u: float) -> Callable[[], float]:
    return lambda: u


def near(expected: object) -> Any:
    """Return what compares within the tolerance that whole nanoseconds ask for."""
    return pytest.approx(expected, rel=1e-9, abs=2e-9)


def scaled(values: list[float], unit: float) -> list[float | None]:
    return [None if value == -1 else value / unit for value in values]


# -- cenkalti/backoff

GROWTH_DEVIATIONS = {
    "initial above max": "capped at once: test_a_base_above_the_cap_is_capped_at_once",
    "multiplier 0": "zero means zero: test_a_factor_of_zero_waits_once",
    "max 0": "zero means zero: test_a_cap_of_zero_never_waits",
    "odd ns truncation": "no truncation: test_nothing_is_truncated_to_nanoseconds",
}


@pytest.mark.parametrize(
    "case",
    [case for case in CENKALTI["sequences"] if case["id"] not in GROWTH_DEVIATIONS],
    ids=lambda case: case["id"],
)
def test_cenkalti_growth_is_the_formula_of_the_system(case: Case) -> None:
    """The n-th delay is base * factor**(n-1) under the cap, but for the deviations named above."""
    assert 0 == case["randomization_factor"]
    expected = scaled(case["next_ns"], 1e9)
    actual = [exponential(case).delay(n, 0.0, no_random) for n in range(1, len(expected) + 1)]
    assert near(expected) == actual


def exponential(case: Case) -> Exponential:
    base, cap = case["initial_ns"] / 1e9, case["max_ns"] / 1e9
    return Exponential(base, case["multiplier"], cap=cap, jitter="none")


def of_cenkalti(name: str) -> Case:
    return next(case for case in CENKALTI["sequences"] if case["id"] == name)


def test_every_growth_deviation_is_a_case_of_the_vectors() -> None:
    """No deviation is named that isn't there."""
    assert set(GROWTH_DEVIATIONS) <= {case["id"] for case in CENKALTI["sequences"]}


def test_a_base_above_the_cap_is_capped_at_once() -> None:
    """Deviation: cenkalti returns the initial interval once uncapped; the cap is a promise here."""
    case = of_cenkalti("initial above max")
    cap = case["max_ns"] / 1e9
    assert cap < case["next_ns"][0] / 1e9
    assert [cap] * 3 == list(exponential(case).take(3).delays(random=no_random))


def test_a_factor_of_zero_waits_once() -> None:
    """
    Deviation: since v5 cenkalti takes multiplier 0 for "not started"; the formula gives base, 0, 0
    ..., as its v4 did.
    """
    case = of_cenkalti("multiplier 0")
    assert scaled(case["next_ns_v4"], 1e9) == list(
        exponential(case).take(4).delays(random=no_random)
    )


def test_a_cap_of_zero_never_waits() -> None:
    """Deviation: cenkalti waits the initial interval (v4: once); zero means zero here."""
    assert [0.0] * 4 == list(exponential(of_cenkalti("max 0")).take(4).delays(random=no_random))


def test_nothing_is_truncated_to_nanoseconds() -> None:
    """
    Deviation: Go truncates each step to whole nanoseconds, so that 1 ns x 1.5 never grows; floats
    follow the formula.
    """
    case = of_cenkalti("odd ns truncation")
    actual = list(exponential(case).take(8).delays(random=no_random))
    assert pytest.approx([3e-9 * 1.5**n for n in range(8)]) == actual
    assert all(ours >= ns / 1e9 for ours, ns in zip(actual, case["next_ns"], strict=True))
    one = list(Exponential(1e-9, 1.5, jitter="none").take(3).delays(random=no_random))
    assert pytest.approx([1e-9, 1.5e-9, 2.25e-9]) == one


@pytest.mark.parametrize("case", CENKALTI["randomize"])
def test_cenkalti_randomization_is_the_jitter_of_a_number(case: Case) -> None:
    """
    A delay is base * uniform(1 - r, 1 + r), within the nanosecond that Go widens its range by.

    Factor 0 is `jitter="none"` and draws no random number. Deviation: a factor above 1 would make
    negative delays and is refused.
    """
    base, factor = case["current_ns"] / 1e9, case["factor"]
    if factor > 1:
        with pytest.raises(ConfigError, match="jitter must be"):
            Exponential(base, jitter=factor)
        return
    backoff = Exponential(base, cap=None, jitter=factor or "none")
    draw = always(case["random"]) if factor else no_random
    assert near(case["value_ns"] / 1e9) == backoff.delay(1, 0.0, draw)


FIXED = {"zero": Constant(0), "stop": Stop(), "constant 1000ms": Constant(1)}


@pytest.mark.parametrize("case", CENKALTI["fixed_policies"], ids=lambda case: case["policy"])
def test_cenkalti_fixed_policies_are_constant_and_stop(case: Case) -> None:
    """Zero and constant give the same for ever, stop gives nothing, and a new run is as the first."""
    backoff = FIXED[case["policy"]]
    for key in case:
        if key.startswith("first_"):
            expected = scaled(case[key], 1e3)
            actual = [backoff.delay(n, 0.0, no_random) for n in range(1, len(expected) + 1)]
            assert expected == actual
    if "after_reset_ms" in case:
        assert case["after_reset_ms"] / 1e3 == next(iter(backoff.delays()))


@pytest.mark.parametrize("case", CENKALTI["v4_with_max_retries"], ids=lambda c: f"max {c['max']}")
def test_cenkalti_max_retries_is_take(case: Case) -> None:
    """`take(n)` gives n delays and then stops; n = 0 stops at once; a new run has n again."""
    backoff = Constant(case["inner_constant_ms"] / 1e3).take(case["max"])
    expected = scaled(case["next_ms"], 1e3)
    assert expected == [backoff.delay(n, 0.0, no_random) for n in range(1, len(expected) + 1)]
    again = [seconds for seconds in scaled(case["after_reset_next_ms"], 1e3) if seconds is not None]
    run = backoff.delays(random=no_random)
    assert again == list(islice(run, len(case["after_reset_next_ms"])))


# -- Kubernetes


def wait_backoff(case: Case) -> Exponential:
    # In `wait` a factor of 0 means "the same again" and a cap of 0 "no cap"; here both mean zero.
    factor, cap = case.get("factor") or 1, case.get("cap_ms")
    base = case["duration_ms"] / 1e3
    return Exponential(base, factor, cap=cap / 1e3 if cap else None, jitter="none")


@pytest.mark.parametrize("case", KUBERNETES["wait_step"])
def test_kubernetes_wait_step_is_exponential_while_it_has_steps(case: Case) -> None:
    """Each step multiplies the duration up to the cap; then apimachinery stands still."""
    while_steps = max(case["steps"], 0) + 1
    expected = scaled(case["step_ms"][:while_steps], 1e3)
    actual = list(wait_backoff(case).take(len(expected)).delays(random=no_random))
    assert near(expected) == actual


@pytest.mark.parametrize("case", KUBERNETES["wait_step_upstream_extra"])
def test_kubernetes_wait_step_without_steps_is_constant(case: Case) -> None:
    """No backoff at all gives 0 for ever, one without steps its duration."""
    backoff = Constant(case.get("duration_ms", 0) / 1e3)
    expected = scaled(case["step_ms"], 1e3)
    assert expected == list(islice(backoff.delays(), len(expected)))


@pytest.mark.parametrize("case", KUBERNETES["wait_exponential_backoff"])
def test_kubernetes_wait_sleeps_are_those_of_take(case: Case) -> None:
    """
    `steps` attempts sleep `steps - 1` times: `take(steps - 1)`, cut where the condition ends it.

    Deviation: reaching the cap ends apimachinery's loop without a last check; here a cap only caps,
    so the same settings go on with the delays of the cap.
    """
    waits = list(wait_backoff(case).take(max(case["steps"] - 1, 0)).delays(random=no_random))
    expected = scaled(case["sleeps_ms"], 1e3)
    assert near(expected) == waits[: len(expected)]
    if case["condition"] == ["false"] and case["cap_ms"] == 0:
        assert len(expected) == len(waits)
    if case["condition"] == ["false"] and case["cap_ms"]:
        assert len(expected) < len(waits)
        assert {case["cap_ms"] / 1e3} == set(waits[len(expected) :])


@pytest.mark.parametrize("case", KUBERNETES["wait_step_jitter_bounds"])
def test_kubernetes_upward_jitter_has_no_counterpart_but_its_absence_has(case: Case) -> None:
    """
    A jitter of 0 or less is none. Deviation: d * U(1, 1 + j) has no name here; a share goes both
    ways, and the same range is one of a larger base.
    """
    d, j = case["duration_ms"] / 1e3, case["jitter"]
    if j <= 0:
        assert case["exact_ms"] / 1e3 == Exponential(d, jitter="none").delay(1, 0.0, no_random)
        return
    middle = d * (1 + j / 2)
    backoff = Exponential(middle, jitter=d * j / 2 / middle)
    assert near(case["min_ms"] / 1e3) == backoff.delay(1, 0.0, always(0.0))
    assert near(case["max_ms_exclusive"] / 1e3) == backoff.delay(1, 0.0, always(1 - 2**-53))


def test_kubernetes_backoff_manager_is_exponential_and_a_new_run() -> None:
    """The manager doubles to its maximum; after an idle gap it begins anew."""
    case = KUBERNETES["backoff_manager"]
    backoff = Exponential(case["initial_s"], case["factor"], cap=case["max_s"], jitter="none")
    *delays, after_idle = case["delays_s"]
    assert delays == list(backoff.take(len(delays)).delays(random=no_random))
    assert after_idle == next(backoff.delays(random=no_random))


@pytest.mark.parametrize("case", KUBERNETES["delay_with_reset"])
def test_kubernetes_delay_with_reset_is_exponential(case: Case) -> None:
    """With a reset time the delays grow to the cap; without one each is the first of a new run."""
    backoff = Exponential(case["duration"], case["factor"], cap=case["cap"], jitter="none")
    grows = case["reset_after_idle"] > 0
    ns = range(1, len(case["delays"]) + 1)
    expected = [backoff.delay(n if grows else 1, 0.0, no_random) for n in ns]
    assert expected == case["delays"]
    if "then" in case:
        assert case["then"] == backoff.delay(1, 0.0, no_random)


def test_kubernetes_flowcontrol_growth_is_exponential() -> None:
    """The window after the n-th failure is initial * 2**(n-1) under the maximum; before it, none."""
    case = KUBERNETES["flowcontrol_growth"]
    none, *windows = case["get_before_each_next_s"]
    backoff = Exponential(case["initial_s"], cap=case["max_s"], jitter="none")
    assert 0 == none
    assert windows == list(backoff.take(len(windows)).delays(random=no_random))


def test_kubernetes_flowcontrol_initial_above_the_maximum_is_capped() -> None:
    """
    Deviation: client-go returns an initial window above the maximum once; here the cap holds at
    once.
    """
    case = KUBERNETES["flowcontrol_initial_above_max"]
    backoff = Exponential(case["initial_s"], cap=case["max_s"], jitter="none")
    assert case["first_s"] > case["max_s"]
    assert [case["second_s"]] * 2 == list(backoff.take(2).delays(random=no_random))


WORKQUEUE = {
    "item exponential 1ms..1s": Exponential(0.001, cap=1, jitter="none"),
    "item exponential 1m..1000h": Exponential(60, cap=3_600_000, jitter="none"),
    "fast/slow 5ms,10s,3": Constant(0.005).take(3).then(Constant(10)),
    "max of fast/slow(5ms,3s,3) and exp(1ms,1s)": max_of(
        Constant(0.005).take(3).then(Constant(3)), Exponential(0.001, cap=1, jitter="none")
    ),
    # A maximum wait is the cap of each part.
    "max-wait 500s over fast/slow(5ms,1000s,100)": Constant(0.005).take(100).then(Constant(500)),
}


@pytest.mark.parametrize("case", KUBERNETES["workqueue"], ids=lambda case: case["id"])
def test_kubernetes_workqueue_limiters_are_backoffs(case: Case) -> None:
    """Every rate limiter of the work queue that counts an item's failures is an expression here."""
    backoff = WORKQUEUE[case["id"]]
    for row in case["when"]:
        assert near(row["delay_ms"] / 1e3) == backoff.delay(row["call"], 0.0, no_random)
    assert near(case["after_forget_delay_ms"] / 1e3) == next(iter(backoff.delays()))


def test_kubernetes_preset_has_the_windows_of_a_failed_operation() -> None:
    """`presets.KUBERNETES` gives the holds of goroutinemap, cap and all."""
    windows = [ms / 1e3 for ms in KUBERNETES["goroutinemap_windows_ms"]]
    assert windows == list(presets.KUBERNETES.take(len(windows)).delays(random=no_random))


# -- redis-py: compute(f) counts from base * 2**1, so its base is doubled here


def of_redis(jitter: Any) -> Callable[..., Exponential]:
    def make(cap: float = 0.512, base: float = 0.008) -> Exponential:
        return Exponential(2 * base, cap=cap, jitter=jitter)

    return make


REDIS_CLASSES: dict[str, Callable[..., Any]] = {
    "ConstantBackoff": Constant,
    "NoBackoff": lambda: Constant(0),
    "ExponentialBackoff": of_redis("none"),
    "FullJitterBackoff": of_redis("full"),
    "EqualJitterBackoff": of_redis("equal"),
    "ExponentialWithJitterBackoff": of_redis("full"),
    "DecorrelatedJitterBackoff": lambda cap=0.512, base=0.008: Decorrelated(base, cap),
}


def redis_backoff(text: str) -> Any:
    name, _, arguments = text.rstrip(")").partition("(")
    args: list[float] = []
    named: dict[str, float] = {}
    for argument in filter(None, arguments.split(",")):
        key, equals, value = argument.rpartition("=")
        if equals:
            named[key.strip()] = float(value)
        else:
            args.append(float(value))
    return REDIS_CLASSES[name](*args, **named)


@pytest.mark.parametrize("case", REDIS_PY["compute"], ids=lambda case: case["backoff"])
def test_redis_py_computes_what_the_backoff_of_twice_its_base_gives(case: Case) -> None:
    """
    Constant, exponential, full and equal jitter agree from the first failure on.

    Deviation: jitter before the cap (ExponentialWithJitterBackoff) has no counterpart; it agrees
    until the cap is reached, and then the delay here is still a share of the cap.
    """
    backoff = redis_backoff(case["backoff"])
    for row in case["rows"]:
        if row["failures"] == 0:
            continue  # no loop asks for it, and there is no zeroth failure here
        for u, seconds in row.get("seconds_at_random", {"0.0": row.get("seconds")}).items():
            actual = backoff.delay(row["failures"], 0.0, always(float(u)))
            if case["backoff"].startswith("ExponentialWithJitter"):
                uncapped = backoff.base * 2.0 ** (row["failures"] - 1)
                if uncapped > backoff.cap:
                    assert float(u) * backoff.cap == pytest.approx(actual)
                    assert actual <= seconds
                    continue
            assert near(seconds) == actual


@pytest.mark.parametrize("case", REDIS_PY["decorrelated"], ids=lambda case: repr(case["u"]))
def test_redis_py_decorrelated_asks_for_the_same_range_inside_the_cap(case: Case) -> None:
    """
    Given the delay before, the range is redis-py's, but bounded by the cap.

    Deviation: the first delay is drawn from [base, 3 * base] and not always the base; and where
    redis-py clips what it has drawn, the draw is made inside the cap.
    """
    backoff = Decorrelated(case["base"], case["cap"])
    before = [0.0, *case["seconds"]]
    for i, (low, high) in enumerate(case["uniform_ranges"]):
        if i == 0:
            assert low == high == case["base"]
            high = 3 * case["base"]  # noqa: PLW2901
        high = min(high, case["cap"])  # noqa: PLW2901
        assert near(low) == backoff.delay(i + 1, before[i], always(0.0))
        assert near(high) == backoff.delay(i + 1, before[i], always(1 - 2**-53))
        middle = backoff.delay(i + 1, before[i], always(0.5))
        assert near((low + high) / 2) == middle


@pytest.mark.parametrize("case", REDIS_PY["overflow"])
def test_redis_py_overflow_does_not_happen_here(case: Case) -> None:
    """
    From 1024 failures on redis-py raises OverflowError; here every count gives a delay under the
    cap.
    """
    assert "number<=cap" == case["sane"]
    backoff = REDIS_CLASSES[case["class"]]()
    for u in (0.0, 0.5, 1 - 2**-53):
        assert 0.0 <= backoff.delay(case["failures"], 0.512, always(u)) <= 0.512


def test_redis_py_preset_is_the_clients_default_from_its_doubled_base() -> None:
    """`presets.REDIS_PY` has the cap of the client's default and its base times 2**1."""
    defaults = REDIS_PY["defaults"]
    assert "ExponentialWithJitterBackoff" == defaults["client_backoff"]
    preset = presets.REDIS_PY
    assert (2 * defaults["base"], 2, defaults["cap"]) == (preset.base, preset.factor, preset.cap)
