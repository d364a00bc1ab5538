"""The house: sync and async halves that stand side by side say the same, but for `await`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import forbear

HOME = Path(forbear.__file__).parent

PAIRS = [
    ("_drive.py", "dealt", "adealt"),
    ("_drive.py", "failed", "afailed"),
    ("_drive.py", "settled", "asettled"),
    ("_drive.py", "refused", "arefused"),
    ("_drive.py", "succeeded", "asucceeded"),
    ("_drive.py", "waited", "awaited"),
    ("_drive.py", "_retrying", "_aretrying"),
    ("_drive.py", "tell_giveup", "atell_giveup"),
    ("_drive.py", "_pause", "_apause"),
    ("_ticker.py", "__next__", "__anext__"),
    ("_ticker.py", "_pause", "_apause"),
    ("_clock.py", "sleep", "asleep"),
]

# What an async half calls, and what its sync twin calls in its place.
TWINS = {second: first for _, first, second in PAIRS} | {
    "acall_hook": "call_hook",
    "StopAsyncIteration": "StopIteration",
    "AsyncWaiter": "Waiter",
}


class Plain(ast.NodeTransformer):
    """Take away what makes a function async, its documentation, and the difference of names."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        plain = ast.FunctionDef(
            **{field: getattr(node, field, None) for field in ast.FunctionDef._fields}
        )
        return self.visit_FunctionDef(ast.copy_location(plain, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = TWINS.get(node.name, node.name)
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        self.generic_visit(node)
        return node

    def visit_Await(self, node: ast.Await) -> ast.AST:
        return self.visit(node.value)  # type: ignore[no-any-return]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = TWINS.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = TWINS.get(node.attr, node.attr)
        return node


# Where a sync wait differs on purpose: it makes another waiter, and warns on an event loop's thread.
LINES_APART = {
    "_loops.new_waiter(run.scope)": "_clock.ThreadWaiter(run.scope)",
    "_loops.new_waiter(_scope.current())": "_clock.ThreadWaiter(_scope.current())",
}
SYNC_ONLY = {
    "if run.clock is _clock.SYSTEM and _clock.on_event_loop():\n    warn_blocking(run.name)",
    "if self._clock is _clock.SYSTEM and _clock.on_event_loop():\n    warn_blocking('a ticker')",
}


def plain_text(file: str, name: str) -> str:
    """Return a function as it would stand without `async`."""
    tree = ast.parse((HOME / file).read_text())
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name == name
        and not (len(node.body) == 1 and ast.unparse(node.body[0]) == "...")
    ]
    assert 1 == len(found), f"{name} stands {len(found)} times in {file}"
    node = found[0]
    if isinstance(node, ast.FunctionDef):
        node.body = [line for line in node.body if ast.unparse(line) not in SYNC_ONLY]
    text = ast.unparse(ast.fix_missing_locations(Plain().visit(node)))
    for one, other in LINES_APART.items():
        text = text.replace(one, other)
    return text


@pytest.mark.parametrize(("file", "first", "second"), PAIRS)
def test_twins_say_the_same(file: str, first: str, second: str) -> None:
    """The order of events is written once; where two drivers must stand side by side they differ in `await`."""
    assert plain_text(file, first) == plain_text(file, second)


def test_no_twin_is_left_out() -> None:
    """Every async function of the drivers with a sync one beside it is compared."""
    tree = ast.parse((HOME / "_drive.py").read_text())
    plain = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    compared = {second for _, _, second in PAIRS} | {
        "acall_hook"
    }  # which awaits what the other refuses
    alone = {
        node.name
        for node in tree.body
        if isinstance(node, ast.AsyncFunctionDef)
        and (node.name.removeprefix("a") in plain or node.name.replace("_a", "_", 1) in plain)
    }
    assert set() == alone - compared
