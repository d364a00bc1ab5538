"""Policies and decorated functions as values: annotations, pickling, comparing."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import typing
from typing import Any

import fastapi
import httpx
import pydantic
import pytest

from forbear import Constant, retry

from processes import output_of


class Oops(Exception):
    """What fails here."""


POLICY = retry(on=Oops, attempts=3, backoff=0)


class Service:
    """A class with a decorated method."""

    @POLICY
    def method(self) -> None: ...


class Order:
    """A type that only this module knows."""


@POLICY
def takes_order(order: Order, many: list[Order] | None = None) -> Order:
    """Its annotations are texts, because this module says so."""
    return order


# -- annotations that others resolve


def test_string_annotations_are_resolved() -> None:
    """The wrapper's globals are the function's."""
    hints = typing.get_type_hints(takes_order)
    assert (Order, Order) == (hints["order"], hints["return"])
    assert inspect.signature(takes_order, eval_str=True).parameters["order"].annotation is Order


def test_pydantic_validates_a_decorated_call() -> None:
    """`validate_call` reads the signature and the annotations."""

    @pydantic.validate_call
    @POLICY
    def double(value: int, *, times: int = 2) -> int:
        return value * times

    assert 6 == double("3")  # type: ignore[arg-type]
    with pytest.raises(pydantic.ValidationError):
        double("x")  # type: ignore[arg-type]


def test_fastapi_reads_a_decorated_endpoint() -> None:
    """Parameters and their types are found, also for async endpoints."""
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

    async def main() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            paths = ("/plain/5?word=y", "/async/5", "/async/five")
            return [await client.get(path) for path in paths]

    plainly, awaited, refused = asyncio.run(main())
    assert [5, "y"] == plainly.json()
    assert [5, "x"] == awaited.json()
    assert 422 == refused.status_code


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


def test_a_table_of_backoffs_is_a_value_too() -> None:
    """A dict is copied: what becomes of it later is nothing to the policy."""
    table: dict[type[Exception], Any] = {OSError: 1, KeyError: Constant(2)}
    policy = retry(on=Oops, backoff=table)
    other = retry(on=Oops, backoff={KeyError: 2.0, OSError: Constant(1)})
    table[ValueError] = 3
    assert policy == other
    assert hash(policy) == hash(other)
    assert policy == pickle.loads(pickle.dumps(policy))
    assert policy != policy.replace(backoff={OSError: 1})
    assert policy != policy.replace(backoff=1)
    shown = f"{{OSError: {Constant(1)!r}, KeyError: {Constant(2)!r}}}"
    assert f"Policy(on=Oops, backoff={shown})" == repr(policy)


def test_a_policy_is_frozen() -> None:
    """It is shared by everybody."""
    with pytest.raises(AttributeError, match="frozen"):
        POLICY.attempts = 7  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del POLICY.attempts
    with pytest.raises(AttributeError):
        POLICY.other = 1  # type: ignore[attr-defined]


def test_what_is_not_free_is_imported_when_it_is_asked_for() -> None:
    """The front door knows the names of its rooms, and no others."""
    program = """
        import sys, forbear
        print([name for name in ("forbear.testing", "forbear.presets") if name in sys.modules])
        print(forbear.presets.KUBERNETES.cap, forbear.testing.attempts.__name__)
        print(isinstance(forbear.Stop(), forbear.Backoff))
        try:
            forbear.nonsense
        except AttributeError as error:
            print(error)
    """
    assert [
        "[]",
        "122.0 attempts",
        "True",
        "module 'forbear' has no attribute 'nonsense'",
    ] == output_of(program)
