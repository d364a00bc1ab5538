"""The house: every section of the recorded facts is used by a test, or waits for its part of the library."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
VECTORS = TESTS / "vectors"

# Prose, for reading.
READING = {"meta", "randomize_notes", "decision_order", "error_text"}
LATER = {
    "cenkalti.json": set(),
    "redis_py.json": {
        "constants",
        "compute",
        "exponential_with_jitter_upstream_test",
        "decorrelated",
        "overflow",
        "eq_hash",
        "call_with_retry",
        "connection_constructor",
        "copying",
        "defaults",
        "caller_list_after_3_connections_with_retry_on_timeout",
        "url",
        "nested_counts",
        "duck",
        "retry_object_holding_a_lock",
        "pickle_round_trip",
        "cluster_attempts",
    },
    "kubernetes.json": {
        "constants",
        "goroutinemap_windows_ms",
        "goroutinemap_boundary",
        "goroutinemap_timelines",
        "goroutinemap_waiters_upstream",
        "goroutinemap_waiters_sane",
        "goroutinemap_error_text",
        "goroutinemap_type_check",
        "goroutinemap_memory",
        "nested_key_match",
        "wait_step",
        "wait_exponential_backoff",
        "backoff_manager",
        "wait_step_jitter_bounds",
        "wait_exponential_backoff_with_context",
        "flowcontrol_growth",
        "flowcontrol_ticks",
        "flowcontrol_expiry",
        "flowcontrol_initial_above_max",
        "workqueue",
        "wait_step_upstream_extra",
        "delay_with_reset",
        "flowcontrol_jitter_bounds",
    },
}


def _sections_used() -> set[str]:
    """Return every text that a test subscribes something with, as in CASES["sequences"]; files of vectors apart."""
    used = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            used |= {
                inner.value
                for inner in (
                    node.slice if isinstance(node, ast.Subscript) else None,
                    *_arguments(node),
                )
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
            }
    return used


def _arguments(node: ast.AST) -> list[ast.expr]:
    """Return the arguments of a call of a function named like `section` or `vectors`."""
    if not isinstance(node, ast.Call):
        return []
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    return list(node.args) if any(word in name for word in ("vector", "section", "case")) else []


@pytest.mark.parametrize("name", ["cenkalti.json", "redis_py.json", "kubernetes.json"])
def test_every_section_of_the_vectors_is_used_or_named_as_later(name: str) -> None:
    """No recorded fact lies about unused: a test reads it, or it belongs to a part that is still to come."""
    sections = set(json.loads((VECTORS / name).read_text())) - READING
    unused = sections - _sections_used() - LATER[name]
    assert set() == unused
    assert set() == LATER[name] - sections
