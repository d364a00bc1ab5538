"""The house: every section of the recorded facts is used by a test, or waits for its part of the library."""

from __future__ import annotations

import ast
import functools
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
        "exponential_with_jitter_upstream_test",
        "eq_hash",
        "call_with_retry",
        "connection_constructor",
        "copying",
        "caller_list_after_3_connections_with_retry_on_timeout",
        "url",
        "nested_counts",
        "duck",
        "retry_object_holding_a_lock",
        "pickle_round_trip",
        "cluster_attempts",
    },
    "kubernetes.json": {
        "goroutinemap_boundary",
        "goroutinemap_timelines",
        "goroutinemap_waiters_upstream",
        "goroutinemap_waiters_sane",
        "goroutinemap_error_text",
        "goroutinemap_type_check",
        "goroutinemap_memory",
        "nested_key_match",
        "flowcontrol_ticks",
        "flowcontrol_expiry",
        "flowcontrol_jitter_bounds",
    },
}


NAMES = {"cenkalti.json": "CENKALTI", "redis_py.json": "REDIS_PY", "kubernetes.json": "KUBERNETES"}


@functools.cache
def _sections() -> set[tuple[str, str]]:
    """Return what the tests take out of the files, as in CENKALTI["sequences"]."""
    return {
        (node.value.id, node.slice.value)
        for path in TESTS.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }


@pytest.mark.parametrize("name", ["cenkalti.json", "redis_py.json", "kubernetes.json"])
def test_every_section_of_the_vectors_is_used_or_named_as_later(name: str) -> None:
    """No recorded fact lies about unused: a test reads it, or it belongs to a part that is still to come."""
    sections = set(json.loads((VECTORS / name).read_text())) - READING
    used = {section for file, section in _sections() if file == NAMES[name]}
    assert sections - LATER[name] == used
    assert set() == LATER[name] - sections
