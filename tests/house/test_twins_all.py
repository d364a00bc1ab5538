"""The house: every async function with a sync twin is compared with it, or says here why it is another."""

from __future__ import annotations

import ast
from pathlib import Path

import forbear

from pages import ROOT

HOME = Path(forbear.__file__).parent
COMPARED_IN = ROOT / "tests" / "core" / "test_twins.py"

# Those that don't differ in `await` alone, and what else they differ in.
APART = {
    "_block.__anext__": "awaits the hooks that a sync block has told by then",
    "_clock.wait": "two protocols, without a body",
    "_drive.acall_hook": "awaits what the other refuses",
    "_policy.acall": "cuts off what runs",
    "_scope.__aenter__": "makes what cuts off",
    "_scope.__aexit__": "raises what has cut off",
    "_virtual.asleep": "is served by the loop; the other jumps",
    "_demo_load._atouch": "the demo's load, by another client",
}


def twins() -> set[str]:
    """Return the async functions that have a sync one of the same name, but for an `a`, in their file."""
    found = set()
    for file in HOME.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        plain = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
        for node in nodes:
            if isinstance(node, ast.AsyncFunctionDef):
                bare = node.name.lstrip("_")
                under = node.name[: len(node.name) - len(bare)]
                if plain & {node.name, under + bare.removeprefix("a")}:
                    found.add(f"{file.stem}.{node.name}")
    return found


def compared() -> set[str]:
    """Return those whose syntax trees are compared."""
    tree = ast.parse(COMPARED_IN.read_text(encoding="utf-8"))
    (pairs,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAIRS"
    ]
    return {f"{Path(file).stem}.{second}" for file, _, second in pairs}


def test_every_twin_is_compared_or_says_why_not() -> None:
    """The order of events is written once: a new async twin is compared with the old one, or explained."""
    assert set() == twins() - compared() - APART.keys()
    assert set() == APART.keys() & compared()
    assert APART.keys() <= twins()
    assert compared() <= twins()
