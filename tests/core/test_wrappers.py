"""What decorating leaves of a function: everything. Its signature, its behaviour, its traceback, its pickling."""

from __future__ import annotations

import abc
import asyncio
import copy
import functools
import inspect
import pickle
import traceback
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import forbear
from forbear import ConfigError, Constant, policy_of, retry
from forbear.testing import virtual_time


class Oops(Exception):
    """What fails here."""


POLICY = retry(on=Oops, attempts=3, backoff=0)

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


# -- signatures: every shape that a function can have


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


# -- methods


class Service:
    """Each kind of method."""

    calls = 0

    @POLICY
    def method(self, value: int = 1) -> tuple[Any, int]:
        self.calls += 1
        if self.calls < 3:
            raise Oops
        return self, value

    @POLICY
    @classmethod
    def above_class(cls, value: int) -> tuple[Any, int]:
        return cls, value

    @classmethod
    @POLICY
    def below_class(cls, value: int) -> tuple[Any, int]:
        return cls, value

    @POLICY
    @staticmethod
    def above_static(value: int) -> int:
        return value

    @staticmethod
    @POLICY
    def below_static(value: int) -> int:
        return value

    @property
    @POLICY
    def value(self) -> int:
        return 5

    @POLICY
    async def amethod(self) -> Any:
        return self

    @POLICY
    def items(self) -> Iterator[Any]:
        yield self

    @POLICY
    def __call__(self) -> str:
        return "called"

    def _later(self) -> str:
        return "later"

    later = POLICY(_later)


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


# -- other callables


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
        marked = inspect.markcoroutinefunction(lambda: coroutine())
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
    def fetch(url):  # type: ignore[no-untyped-def]
        return url

    with pytest.raises(ConfigError, match="bare @retry"):
        fetch("http://example.org")


def test_call_and_acall_refuse_each_others_functions() -> None:
    """With a message that says what to use."""

    async def coroutine() -> None: ...

    def items() -> Iterator[int]:
        yield 1

    with pytest.raises(ConfigError, match="await policy.acall"):
        POLICY.call(coroutine)
    with pytest.raises(ConfigError, match="decorate"):
        POLICY.call(items)
    with pytest.raises(ConfigError, match="policy.call"):
        asyncio.run(POLICY.acall(len, "x"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="await policy.acall"):
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


# -- generators: until the first item


def test_a_generator_is_retried_until_its_first_item() -> None:
    """Then errors pass, because what was handed out can't be taken back."""
    calls = []

    @POLICY
    def items(*, late: bool) -> Iterator[int]:
        calls.append(1)
        if len(calls) < 3:
            raise Oops("early")
        yield 1
        if late:
            raise Oops("late")
        yield 2

    assert [1, 2] == list(items(late=False))
    assert 3 == len(calls)
    found = []
    with pytest.raises(Oops, match="late") as caught:
        for item in items(late=True):
            found.append(item)
    assert [1] == found
    assert 4 == len(calls)
    assert forbear.reason(caught.value) is None


def test_generators_keep_send_throw_close_and_return() -> None:
    """The whole protocol reaches the function's own generator."""
    story: list[str] = []

    @POLICY
    def items() -> Any:
        try:
            got = yield "first"
            story.append(f"got {got}")
            try:
                yield "second"
            except KeyError:
                story.append("thrown")
                got = yield "third"
                story.append(f"got {got}")
            return "returned"
        finally:
            story.append("closed")

    run = items()
    assert "first" == next(run)
    assert "second" == run.send("x")
    assert "third" == run.throw(KeyError())
    with pytest.raises(StopIteration) as stop:
        run.send("y")
    assert "returned" == stop.value.value
    assert ["got x", "thrown", "got y", "closed"] == story

    story.clear()
    run = items()
    next(run)
    run.close()
    assert ["closed"] == story

    story.clear()
    run = items()
    next(run)
    run.send("x")
    run.close()
    assert ["got x", "closed"] == story

    def outer() -> Any:
        story.append((yield from items()))

    assert ["first", "second"] == list(outer())
    assert "returned" == story[-1]


def test_a_thrown_error_at_the_first_item_passes() -> None:
    """Thrown into the generator after its first item, it is no failed attempt."""
    calls = []

    @POLICY
    def items() -> Any:
        calls.append(1)
        yield 1

    run = items()
    next(run)
    with pytest.raises(Oops):
        run.throw(Oops("thrown"))
    assert 1 == len(calls)


def test_an_empty_generator_returns_its_value() -> None:
    """Without an item there is a success, and the value of `return`."""

    @POLICY
    def items() -> Any:
        return "value"
        yield

    def outer() -> Any:
        return (yield from items())

    with pytest.raises(StopIteration) as stop:
        next(outer())
    assert "value" == stop.value.value


def test_async_generators_keep_asend_athrow_and_aclose() -> None:
    """The same for async generators."""
    story: list[str] = []
    calls = []

    @POLICY
    async def items() -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise Oops
        try:
            got = yield "first"
            story.append(f"got {got}")
            try:
                yield "second"
            except KeyError:
                story.append("thrown")
                yield "third"
        finally:
            story.append("closed")

    async def main() -> None:
        run = items()
        assert "first" == await anext(run)
        assert "second" == await run.asend("x")
        assert "third" == await run.athrow(KeyError())
        assert [] == [item async for item in run]
        run = items()
        await anext(run)
        await run.aclose()

    asyncio.run(main())
    assert ["got x", "thrown", "closed", "closed"] == story


def test_nothing_runs_before_the_first_item_is_asked_for() -> None:
    """A generator function that is called has not begun."""
    calls = []

    @POLICY
    def items() -> Iterator[int]:
        calls.append(1)
        yield 1

    run = items()
    assert [] == calls
    next(run)
    assert [1] == calls


# -- annotations that others resolve


class Order:
    """A type that only this module knows."""


@POLICY
def takes_order(order: Order, many: list[Order] | None = None) -> Order:
    """Its annotations are texts, because this module says so."""
    return order


def test_string_annotations_are_resolved() -> None:
    """The wrapper's globals are the function's."""
    hints = typing.get_type_hints(takes_order)
    assert (Order, Order) == (hints["order"], hints["return"])
    assert inspect.signature(takes_order, eval_str=True).parameters["order"].annotation is Order


def test_pydantic_validates_a_decorated_call() -> None:
    """`validate_call` reads the signature and the annotations."""
    pydantic = pytest.importorskip("pydantic")

    @pydantic.validate_call
    @POLICY
    def double(value: int, *, times: int = 2) -> int:
        return value * times

    assert 6 == double("3")  # type: ignore[arg-type]
    with pytest.raises(pydantic.ValidationError):
        double("x")  # type: ignore[arg-type]


def test_fastapi_reads_a_decorated_endpoint() -> None:
    """Parameters and their types are found, also for async endpoints."""
    fastapi = pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    testclient = pytest.importorskip("fastapi.testclient")
    app = fastapi.FastAPI()
    failures = [Oops(), Oops()]

    @app.get("/plain/{number}")
    @POLICY
    def plain(number: int, word: str = "x") -> list[Any]:
        if failures:
            raise failures.pop()
        return [number, word]

    @app.get("/async/{number}")
    @POLICY
    async def coroutine(number: int, word: str = "x") -> list[Any]:
        return [number, word]

    client = testclient.TestClient(app)
    assert [5, "y"] == client.get("/plain/5?word=y").json()
    assert [5, "x"] == client.get("/async/5").json()
    assert 422 == client.get("/async/five").status_code


# -- pickling and copying


@POLICY
def of_the_module(x: int) -> int:
    """Pickle by name."""
    return x + 1


def test_a_decorated_function_of_a_module_pickles_by_name() -> None:
    """What comes back is the decorated function itself."""
    assert pickle.loads(pickle.dumps(of_the_module)) is of_the_module
    assert copy.deepcopy(of_the_module) is of_the_module
    assert pickle.loads(pickle.dumps(Service.method)) is Service.method


def test_policies_pickle_compare_and_copy_by_value() -> None:
    """`on` counts as a set; what is not equal has another hash, as a rule."""
    one = retry(on=(OSError, KeyError), attempts=3, backoff=Constant(2))
    other = retry(on=(KeyError, OSError), attempts=3, backoff=2)
    assert one == other
    assert hash(one) == hash(other)
    assert one == pickle.loads(pickle.dumps(one))
    assert copy.copy(one) is one
    assert copy.deepcopy(one) is one
    assert one != one.replace(attempts=4)
    assert one == one.replace(attempts=4).replace(attempts=3)
    assert f"Policy(on=(OSError, KeyError), attempts=3, backoff={Constant(2)!r})" == repr(one)


def test_a_policy_is_frozen() -> None:
    """It is shared by everybody."""
    with pytest.raises(AttributeError, match="frozen"):
        POLICY.attempts = 7  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del POLICY.attempts
    with pytest.raises(AttributeError):
        POLICY.other = 1  # type: ignore[attr-defined]


# -- tracebacks


def frames_of(error: BaseException) -> list[tuple[str, str]]:
    """Return file and function of each frame, forbear's files by their last part."""
    home = forbear.__file__.rsplit("/", 1)[0]
    return [
        ("forbear" if frame.filename.startswith(home) else "test", frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    ]


def raises_oops() -> None:
    """Fail."""
    raise Oops


async def araises_oops() -> None:
    """Fail."""
    raise Oops


def _shape_of(call: Callable[[], object]) -> list[tuple[str, str]]:
    with virtual_time():
        try:
            call()
        except Oops as error:
            return frames_of(error)
    raise AssertionError("it has not failed")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("attempts", [1, 3])
def test_the_traceback_of_a_decorated_call(policy: str, attempts: int) -> None:
    """The caller, one frame of forbear at the most, the function."""
    decorated = POLICIES[policy].replace(attempts=attempts)(raises_oops)

    def caller() -> None:
        decorated()

    shape = _shape_of(caller)
    assert [("test", "_shape_of"), ("test", "caller")] == shape[:2]
    assert [("forbear", "raises_oops"), ("test", "raises_oops")] == shape[2:]


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("limit", [None, 3600])
def test_the_traceback_of_a_call(attempts: int, limit: float | None) -> None:
    """The same for `.call`."""
    policy = POLICY.replace(attempts=attempts, total_timeout=limit)

    def caller() -> None:
        policy.call(raises_oops)

    shape = _shape_of(caller)
    assert [("test", "caller"), ("forbear", "call"), ("test", "raises_oops")] == shape[1:]


@pytest.mark.parametrize("form", ["decorator", "acall"])
@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize("limits", [{}, {"total_timeout": 3600}, {"attempt_timeout": 3600}])
def test_the_traceback_of_an_async_call(limits: dict[str, float], attempts: int, form: str) -> None:
    """The same for async functions."""
    policy = POLICY.replace(attempts=attempts, **limits)

    async def caller() -> None:
        if form == "acall":
            await policy.acall(araises_oops)
        else:
            await policy(araises_oops)()

    shape = _shape_of(lambda: asyncio.run(caller()))
    ours = [name for where, name in shape if where == "forbear"]
    assert ["acall" if form == "acall" else "araises_oops"] == ours
    assert [("test", "caller"), ("forbear", ours[0]), ("test", "araises_oops")] == shape[-3:]


def test_the_traceback_is_not_longer_for_errors_that_pass() -> None:
    """What the policy doesn't match passes with the same shape."""

    def raises_key_error() -> None:
        raise KeyError

    decorated = POLICY(raises_key_error)
    with pytest.raises(KeyError) as caught:
        decorated()
    assert [("test", "raises_key_error")] == frames_of(caught.value)[-1:]
    assert 1 == sum(where == "forbear" for where, _ in frames_of(caught.value))


def test_an_error_raised_again_keeps_only_its_last_frames() -> None:
    """One object raised by every attempt: its traceback doesn't grow with the attempts."""
    kept = Oops("kept")

    def operation() -> None:
        raise kept

    def length(attempts: int) -> int:
        kept.__traceback__ = None
        with pytest.raises(Oops):
            POLICY.replace(attempts=attempts, nested="allow")(operation)()
        return len(frames_of(kept))

    # Python itself adds a frame for every time an object is raised again; forbear adds none of its own.
    assert length(3) - length(2) <= 2


def test_no_context_is_left_by_a_retry() -> None:
    """Each attempt's error stands alone: the one before is not its context."""
    errors: list[Exception] = []

    @POLICY
    def operation() -> None:
        errors.append(Oops(len(errors)))
        raise errors[-1]

    with pytest.raises(Oops):
        operation()
    assert [None] * 3 == [error.__context__ for error in errors]
    assert [None] * 3 == [error.__cause__ for error in errors]


def test_the_context_of_the_caller_stays() -> None:
    """A call made while handling an error has that error as the context, as without forbear."""

    @POLICY
    def operation() -> None:
        raise Oops

    with pytest.raises(Oops) as caught:
        try:
            raise KeyError("before")
        except KeyError:
            operation()
    assert isinstance(caught.value.__context__, KeyError)
