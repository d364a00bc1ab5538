"""Wrappers have the function's own signature, whatever it is, and pass every argument on."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forbear import policy_of

from services import POLICY, Oops, Service

# Each compiles another shape of wrapper.
POLICIES = {
    "plain": POLICY,
    "judged": POLICY.replace(on_result=lambda result: False),
    "told": POLICY.replace(on_success=lambda event: None),
    "limited": POLICY.replace(total_timeout=3600),
    "all": POLICY.replace(
        on_result=lambda result: False, on_success=lambda event: None, total_timeout=3600
    ),
}


@st.composite
def signatures(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw a parameter list as text, and its names."""
    # Names that the wrapper's own text could have used too, and some that are hard for everybody.
    pool = [
        "fn",
        "policy",
        "on_result",
        "run",
        "result",
        "args",
        "kwargs",
        "p0",
        "k0",
        "KIT",
        "self",
        "x",
        "é",
        "cut",
    ]
    names = draw(
        st.lists(st.sampled_from([*pool, "a", "b", "c", "limit", "error"]), unique=True, max_size=8)
    )
    kinds = sorted(draw(st.sampled_from("pak")) for _ in names)
    positional_only = [name for name, kind in zip(names, kinds, strict=True) if kind == "p"]
    plain = [name for name, kind in zip(names, kinds, strict=True) if kind == "a"]
    keyword_only = [name for name, kind in zip(names, kinds, strict=True) if kind == "k"]
    # `sorted` gives a, k, p: the order in which they are drawn is of no matter.
    defaults = draw(st.integers(0, len(positional_only) + len(plain)))
    every = [*positional_only, *plain]
    shown = {
        name: f"{name}={n}" if n >= len(every) - defaults else name for n, name in enumerate(every)
    }
    parts = [shown[name] for name in positional_only] + (["/"] if positional_only else [])
    parts += [shown[name] for name in plain]
    if draw(st.booleans()):
        parts.append("*rest")
    elif keyword_only:
        parts.append("*")
    parts += [f"{name}={name!r}" if draw(st.booleans()) else name for name in keyword_only]
    if draw(st.booleans()):
        parts.append("**more")
    return ", ".join(parts), names


KINDS = {
    "function": "def function({0}):\n    return locals()\n",
    "async": "async def function({0}):\n    return locals()\n",
    "generator": "def function({0}):\n    yield locals()\n",
    "async generator": "async def function({0}):\n    yield locals()\n",
}


def build(text: str, kind: str) -> Callable[..., Any]:
    """Make a function with this parameter list."""
    space: dict[str, Any] = {}
    exec(KINDS[kind].format(text), space)
    function: Callable[..., Any] = space["function"]
    return function


def play(
    function: Callable[..., Any], kind: str, args: tuple[int, ...], kwargs: dict[str, int]
) -> object:
    """Call it, and return what it gives, or the type and text of the error."""

    async def awaited() -> object:
        if kind == "async":
            return await function(*args, **kwargs)
        return [item async for item in function(*args, **kwargs)]

    try:
        if kind.startswith("async"):
            return _drive(awaited())
        result = function(*args, **kwargs)
        return list(result) if kind == "generator" else result
    except TypeError as error:
        return str(error)


def _drive(coroutine: Any) -> object:
    """Run a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits for something")


# -- signatures: every shape that a function can have


@given(
    signatures(),
    st.sampled_from(list(KINDS)),
    st.sampled_from(["plain", "told"]),
    st.lists(st.integers(), max_size=5),
    st.data(),
)
def test_every_signature_is_kept(
    made: tuple[str, list[str]], kind: str, policy: str, args: list[int], data: st.DataObject
) -> None:
    """`inspect.signature` and the behaviour under all arguments, right and wrong, are the bare function's own."""
    text, names = made
    bare = build(text, kind)
    decorated = POLICIES[policy](bare)
    assert inspect.signature(bare, follow_wrapped=False) == inspect.signature(
        decorated, follow_wrapped=False
    )
    assert inspect.getfullargspec(bare) == inspect.getfullargspec(decorated)
    given_names = (
        data.draw(st.lists(st.sampled_from([*names, "unknown"]), unique=True)) if names else []
    )
    kwargs = dict.fromkeys(given_names, 7)
    assert play(bare, kind, tuple(args), kwargs) == play(decorated, kind, tuple(args), kwargs)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_feature_passes_arguments_on(policy: str) -> None:
    """With limits, predicates and hooks too."""

    def function(a: int, /, b: int, *rest: int, c: int, d: int = 4, **more: int) -> object:
        return a, b, rest, c, d, more

    decorated = POLICIES[policy](function)
    assert (1, 2, (3,), 5, 4, {"e": 6}) == decorated(1, 2, 3, c=5, e=6)
    with pytest.raises(TypeError, match="missing"):
        decorated(1, 2)  # type: ignore[call-arg]


def test_arguments_are_the_same_in_every_attempt() -> None:
    """Each attempt gets what the call was given."""
    seen = []

    @POLICY
    def function(first: list[int], *rest: int, **more: int) -> None:
        seen.append((first, rest, more))
        if len(seen) < 3:
            raise Oops

    given_list = [1]
    function(given_list, 2, 3, four=4)
    assert [(given_list, (2, 3), {"four": 4})] * 3 == seen
    assert all(first is given_list for first, _, _ in seen)


def test_defaults_and_attributes() -> None:
    """Names, documentation, defaults, annotations, attributes, type parameters, `__wrapped__`."""

    def function(a: int = 1, *, b: str = "x") -> None:
        """Say something."""

    function.mark = "kept"  # type: ignore[attr-defined]
    decorated = POLICY(function)
    for name in (
        "__name__",
        "__qualname__",
        "__doc__",
        "__module__",
        "__defaults__",
        "__kwdefaults__",
        "mark",
    ):
        assert getattr(function, name) == getattr(decorated, name)
    assert function.__annotations__ == decorated.__annotations__
    assert decorated.__wrapped__ is function  # type: ignore[attr-defined]
    assert inspect.unwrap(decorated) is function
    assert decorated.__globals__ is function.__globals__
    assert decorated.__code__.co_name == function.__code__.co_name
    assert decorated.__code__.co_qualname == function.__code__.co_qualname


def test_mutable_keyword_defaults_are_not_shared_dicts() -> None:
    """Changing the wrapper's keyword defaults doesn't change the function's."""

    def function(*, a: int = 1) -> int:
        return a

    decorated = POLICY(function)
    assert function.__kwdefaults__ is not decorated.__kwdefaults__


def test_kinds_can_still_be_told_apart() -> None:
    """`inspect` says of the wrapper what it says of the function."""

    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def agenerator() -> AsyncIterator[int]:
        yield 1

    assert inspect.iscoroutinefunction(POLICY(coroutine))
    assert inspect.isgeneratorfunction(POLICY(generator))
    assert inspect.isasyncgenfunction(POLICY(agenerator))
    assert not inspect.iscoroutinefunction(POLICY(lambda: None))


def test_policy_of() -> None:
    """A decorated function shows its policy, an undecorated one None."""

    def function() -> None: ...

    assert policy_of(POLICY(function)) is POLICY
    assert policy_of(function) is None
    assert policy_of(POLICY.replace(attempts=2)(POLICY(function))).attempts == 2
    assert policy_of(Service.method) is POLICY
    assert policy_of(Service().method) is POLICY
