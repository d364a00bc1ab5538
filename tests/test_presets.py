"""The settings of known systems, number by number."""

from __future__ import annotations

import ast
import inspect
import json
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from forbear import Exponential, presets

VECTORS = Path(__file__).parent / "vectors"
CENKALTI: dict[str, Any] = json.loads((VECTORS / "cenkalti.json").read_text())
KUBERNETES: dict[str, Any] = json.loads((VECTORS / "kubernetes.json").read_text())
REDIS_PY: dict[str, Any] = json.loads((VECTORS / "redis_py.json").read_text())


def no_random() -> float:
    raise AssertionError("a backoff without jitter draws no random number")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CENKALTI", Exponential(0.5, factor=1.5, cap=60, jitter=0.5)),
        ("KUBERNETES", Exponential(0.5, factor=2, cap=122, jitter="none")),
        ("REDIS_PY", Exponential(0.02, factor=2, cap=1, jitter="full")),
        ("AWS_2026", Exponential(0.05, factor=2, cap=20, jitter="full")),
        ("AWS_LEGACY", Exponential(1, factor=2, cap=20, jitter="full")),
        ("GRPC_CONNECTION", Exponential(1, factor=1.6, cap=120, jitter=0.2)),
        ("GOOGLE_CLOUD", Exponential(1, factor=2, cap=60, jitter="full")),
    ],
)
def test_a_preset_is_a_backoff_with_the_numbers_of_its_system(
    name: str, expected: Exponential
) -> None:
    """A preset is equal to the backoff one would write by hand."""
    assert expected == getattr(presets, name)


def test_every_preset_is_listed_and_documented_with_source_and_date() -> None:
    """
    Each assignment is followed by a docstring that names a source and a year, and stands in
    `__all__`.
    """
    body = ast.parse(inspect.getsource(presets)).body
    documented = {}
    for here, after in pairwise(body):
        match here, after:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(value=ast.Constant(value=text)):
                documented[name] = str(text)
    assert set(presets.__all__) == set(documented)
    for name, text in documented.items():
        assert "Source: " in text, name
        assert "202" in text, name


def test_cenkalti_has_the_default_constants() -> None:
    """CENKALTI has the initial interval, multiplier, maximum and factor of the Go library."""
    constants = CENKALTI["constants"]
    preset = presets.CENKALTI
    assert constants["default_initial_ms"] / 1e3 == preset.base
    assert constants["default_multiplier"] == preset.factor
    assert constants["default_max_interval_ms"] / 1e3 == preset.cap
    assert constants["default_randomization_factor"] == preset.jitter


@pytest.mark.parametrize("case", CENKALTI["default_randomized_bounds"])
def test_cenkaltis_delays_lie_within_the_bounds_of_its_default_settings(
    case: dict[str, int],
) -> None:
    """Wherever the base has come to, every delay lies between half of it and half as much again."""
    preset = presets.CENKALTI
    bases = {round(preset.base * preset.factor ** (n - 1), 9): n for n in range(1, 13)}
    bases[60.0] = 13
    n = next(n for base, n in bases.items() if abs(base - case["base_ns"] / 1e9) < 2e-9)
    low, high = case["min_ns"] / 1e9, case["max_ns"] / 1e9
    assert low == pytest.approx(preset.delay(n, 0.0, lambda: 0.0), rel=1e-9, abs=2e-9)
    assert high == pytest.approx(preset.delay(n, 0.0, lambda: 1 - 2**-53), rel=1e-9, abs=2e-9)
    chance = Random(f"cenkalti:{n}").random
    assert all(low - 2e-9 <= preset.delay(n, 0.0, chance) <= high + 2e-9 for _ in range(500))


def test_kubernetes_has_the_windows_of_a_failed_operation() -> None:
    """KUBERNETES is 0.5 s doubled to 122 s, and draws no chance."""
    windows = [ms / 1e3 for ms in KUBERNETES["goroutinemap_windows_ms"]]
    assert windows == list(islice(presets.KUBERNETES.delays(random=no_random), len(windows)))
    constants = KUBERNETES["constants"]
    preset = presets.KUBERNETES
    actual = (preset.base * 1e3, preset.factor, (preset.cap or 0) * 1e3)
    assert (constants["initial_ms"], constants["factor"], constants["max_ms"]) == actual


def redis_py_delay(n: int, u: float) -> float:
    """redis-py's own formula: the jitter first, the cap last."""
    return float(min(REDIS_PY["defaults"]["cap"], u * REDIS_PY["defaults"]["base"] * 2.0**n))


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("u", [0.0, 0.1, 0.5, 0.9, 1 - 2**-53])
def test_redis_py_is_the_clients_default_below_the_cap(n: int, u: float) -> None:
    """Up to the sixth failure, where the cap isn't reached, REDIS_PY is the client's own formula."""
    assert redis_py_delay(n, u) == pytest.approx(presets.REDIS_PY.delay(n, 0.0, lambda: u))


def test_redis_py_does_not_pile_up_at_the_cap_as_its_original_does() -> None:
    """
    Deviation: from the seventh failure on REDIS_PY stays spread over the second, where redis-py
    jitters before the cap; the shares and means are the ones its docstring tells.
    """
    steps = [(i + 0.5) / 1000 for i in range(1000)]

    def at_the_cap(delays: list[float]) -> float:
        return sum(delay == 1.0 for delay in delays) / len(delays)

    assert pytest.approx(0.22, abs=0.005) == at_the_cap([redis_py_delay(7, u) for u in steps])
    assert pytest.approx(0.90, abs=0.005) == at_the_cap([redis_py_delay(10, u) for u in steps])
    for n in range(7, 11):
        assert 0 == at_the_cap([presets.REDIS_PY.delay(n, 0.0, iter([u]).__next__) for u in steps])
    theirs = sum(redis_py_delay(n, u) for n in range(1, 11) for u in steps) / len(steps)
    ours = sum(presets.REDIS_PY.delay(n, 0.0, lambda: 0.5) for n in range(1, 11))
    assert pytest.approx(3.9, abs=0.01) == theirs
    assert pytest.approx(2.63, abs=0.01) == ours


def test_grpc_waits_up_to_144_seconds() -> None:
    """A share of jitter may pass the cap by that share, as gRPC's does."""
    assert pytest.approx(144.0) == presets.GRPC_CONNECTION.delay(50, 0.0, lambda: 1 - 2**-53)
    assert pytest.approx(96.0) == presets.GRPC_CONNECTION.delay(50, 0.0, lambda: 0.0)


@pytest.mark.parametrize("name", presets.__all__)
def test_every_preset_is_bounded_at_a_million_failures(name: str) -> None:
    """No preset overflows in an outage that doesn't end."""
    preset = getattr(presets, name)
    assert 0.0 <= preset.delay(10**6, 0.0, lambda: 0.999) <= 1.5 * preset.cap
