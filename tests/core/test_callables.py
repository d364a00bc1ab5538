"""Methods, callable objects, partials: each kind is told apart, and what can't work is refused."""

from __future__ import annotations

import abc
import asyncio
import functools
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import forbear
from forbear import ConfigError, retry

from services import POLICY, Oops, Service

# -- methods


def test_methods() -> None:
    """Bound, unbound, of class and instance; counts belong to the call, not to the object."""
    service = Service()
    assert (service, 7) == service.method(7)
    assert 3 == service.calls
    assert (service, 1) == Service.method(service)
    for one in (Service, service):
        assert (Service, 2) == one.above_class(2)
        assert (Service, 2) == one.below_class(2)
        assert 3 == one.above_static(3)
        assert 3 == one.below_static(3)
    assert 5 == service.value
    assert service is asyncio.run(service.amethod())
    assert [service] == list(service.items())
    assert "called" == service()
    assert "later" == service.later()


def test_a_subclass_calls_the_method_above() -> None:
    """`super()` works, in the function and out of it."""

    class Child(Service):
        @POLICY
        def method(self, value: int = 1) -> tuple[Any, int]:
            return super().method(value + 1)

    child = Child()
    assert (child, 4) == child.method(3)


def test_abstract_methods_stay_abstract() -> None:
    """`__isabstractmethod__` is kept, whichever decorator stands above."""

    class Base(abc.ABC):
        @POLICY
        @abc.abstractmethod
        def one(self) -> None: ...

        @abc.abstractmethod
        @POLICY
        def two(self) -> None: ...

        @POLICY
        @classmethod
        @abc.abstractmethod
        def three(cls) -> None: ...

    assert {"one", "two", "three"} == Base.__abstractmethods__
    with pytest.raises(TypeError):
        Base()  # type: ignore[abstract]


class Adder:
    """A callable object."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, a: int, b: int = 2) -> int:
        self.calls += 1
        if self.calls < 3:
            raise Oops
        return a + b


class AsyncAdder(Adder):
    """An async callable object."""

    async def __call__(self, a: int, b: int = 2) -> int:  # type: ignore[override]
        return super().__call__(a, b)


# -- other callables


def test_callable_objects_partials_and_builtins() -> None:
    """What is called is told apart by looking into it; signatures are shown as they are."""
    assert 3 == POLICY(Adder())(1)
    assert 11 == POLICY(functools.partial(Adder(), b=10))(1)
    assert 3 == asyncio.run(POLICY(AsyncAdder())(1))  # type: ignore[arg-type]
    assert 11 == asyncio.run(POLICY(functools.partial(AsyncAdder(), b=10))(1))  # type: ignore[arg-type]
    assert 3 == POLICY(len)([1, 2, 3])
    assert 5 == POLICY(lambda x: x + 1)(4)
    assert inspect.signature(Adder()) == inspect.signature(POLICY(Adder()))
    partial = functools.partial(Adder(), b=10)
    assert inspect.signature(partial) == inspect.signature(POLICY(partial))
    assert "Adder" == POLICY(Adder()).__name__  # type: ignore[attr-defined]
    service = Service()
    assert (service, 7) == POLICY(service.method)(7)


def test_a_plain_function_that_hands_back_a_coroutine_is_plain() -> None:
    """What it hands back is not looked at."""

    async def coroutine() -> int:
        raise Oops

    calls = []

    @POLICY
    def hands_back() -> Any:
        calls.append(1)
        return coroutine()

    with pytest.raises(Oops):
        asyncio.run(hands_back())
    assert 1 == len(calls)


def test_marked_coroutine_functions() -> None:
    """`types.coroutine` and `inspect.markcoroutinefunction` count as async."""
    calls = []

    async def coroutine() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise Oops
        return "well"

    if hasattr(inspect, "markcoroutinefunction"):

        def plain() -> Any:
            return coroutine()

        marked = inspect.markcoroutinefunction(plain)
        assert "well" == asyncio.run(POLICY(marked)())
        assert 3 == len(calls)


# -- what is refused


def test_a_class_is_refused() -> None:
    """Its methods can be decorated."""
    with pytest.raises(ConfigError, match="not the class Service"):
        POLICY(Service)  # type: ignore[type-var]


def test_a_bare_retry_is_refused() -> None:
    """`@retry` without parentheses would take the function for `on`: as far as it can be told, it is refused."""
    with pytest.raises(ConfigError, match="parentheses"):

        @retry  # type: ignore[arg-type]
        def no_parameters() -> None: ...

    with pytest.raises(ConfigError, match="parentheses"):

        @retry  # type: ignore[arg-type]
        def two_parameters(a: int, b: int) -> None: ...

    with pytest.raises(ConfigError, match="parentheses"):

        @retry  # type: ignore[arg-type]
        async def coroutine(error: Exception) -> bool: ...  # type: ignore[empty-body]

    with pytest.raises(ConfigError, match="parentheses"):

        @retry  # type: ignore[arg-type]
        def returns_text(url: str) -> str: ...  # type: ignore[empty-body]

    with pytest.raises(ConfigError, match="bare @retry"):
        retry(on=Oops)(5)  # type: ignore[type-var]


def test_a_bare_retry_that_can_not_be_told_is_refused_when_it_is_called() -> None:
    """A function that might be a predicate makes a policy, and a policy decorates functions, not arguments."""

    @retry  # type: ignore[arg-type]
    def fetch(url: Any) -> Any:
        return url

    with pytest.raises(ConfigError, match="bare @retry"):
        fetch("http://example.org")


def test_call_and_acall_refuse_each_others_functions() -> None:
    """With a message that says what to use."""

    async def coroutine() -> None: ...

    def items() -> Iterator[int]:
        yield 1

    with pytest.raises(ConfigError, match=r"await policy\.acall"):
        POLICY.call(coroutine)
    with pytest.raises(ConfigError, match="decorate"):
        POLICY.call(items)
    with pytest.raises(ConfigError, match=r"policy\.call"):
        asyncio.run(POLICY.acall(len, "x"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"await policy\.acall"):
        POLICY.call(functools.partial(AsyncAdder(), 1))


def test_what_a_policy_can_not_apply_to_is_refused_at_decoration() -> None:
    """Where the mistake stands, not at the first call."""

    async def hook(event: forbear.Event) -> None: ...

    with pytest.raises(ConfigError, match="attempt_timeout"):
        POLICY.replace(attempt_timeout=1)(lambda: None)
    with pytest.raises(ConfigError, match="attempt_timeout"):
        POLICY.replace(attempt_timeout=1).call(lambda: None)
    with pytest.raises(ConfigError, match="on_retry must be a plain function"):
        POLICY.replace(on_retry=hook)(lambda: None)
    with pytest.raises(ConfigError, match="on_result"):

        @POLICY.replace(on_result=lambda result: True)
        def items() -> Iterator[int]:
            yield 1
