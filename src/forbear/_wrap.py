"""
Wrappers with the function's own signature, made by filling in a shape.

Law: a wrapper costs its function next to nothing until the first failure: it has the same parameters, stands in
the function's own globals, calls it inside its own `try`, and remembers nothing. Text is compiled once a shape
(how many parameters of which sort, which features); for each function only names are patched into the code
object. The text is in `_shapes`, and what happens after a failure is `_drive`'s part.
"""

from __future__ import annotations

import functools
import sys
import types

from . import _notes
from ._kinds import kind_of
from ._shapes import CO_VARARGS, CO_VARKEYWORDS, inner, maker, with_code
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._policy import Policy
    from ._rules import Rules

__all__ = ["check", "policy_of", "wrap"]

POLICY = "__forbear_policy__"


def wrap(policy: Rules, fn: Any) -> Any:
    """Return a wrapper of the function, with its signature and name, that keeps to the policy."""
    if isinstance(fn, classmethod | staticmethod):
        return type(fn)(wrap(policy, fn.__func__))
    kind = kind_of(fn)
    check(policy, fn, kind)
    features = (
        policy.total_timeout is not None,
        policy.attempt_timeout is not None,
        policy.on_result is not None,
        policy.on_success is not None,
    )
    if not isinstance(fn, types.FunctionType):
        anything = maker(kind, (0, 0, 0), (0, ()), CO_VARARGS | CO_VARKEYWORDS, features)
        made = types.FunctionType(anything, {})(fn, policy, policy.on_result)
        return _dress(made, fn, policy)
    code, defaults, by_name = fn.__code__, fn.__defaults__ or (), fn.__kwdefaults__ or {}
    keywords = _names(code, code.co_argcount, code.co_argcount + code.co_kwonlyargcount)
    shape = maker(
        kind,
        (code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount),
        (len(defaults), tuple(name in by_name for name in keywords)),
        code.co_flags & (CO_VARARGS | CO_VARKEYWORDS),
        features,
    )
    having = tuple(n for n, name in enumerate(keywords) if name in by_name)
    given = (by_name[keywords[n]] for n in having)
    named = _named_maker(shape, code, code.co_qualname, having)
    made = types.FunctionType(named, fn.__globals__)(
        fn, policy, policy.on_result, *defaults, *given
    )
    return _dress(made, fn, policy)


def check(policy: Rules, fn: object, kind: str) -> None:
    """Refuse what the policy can't apply to."""
    if isinstance(fn, type):
        raise ConfigError(
            f"a policy decorates functions, not the class {fn.__name__}; decorate its methods instead"
        )
    if not callable(fn):
        raise ConfigError(
            f"a policy decorates functions, not {fn!r:.80}; was a function decorated with a bare @retry? "
            "Write @retry(on=ConnectionError)"
        )
    if policy.attempt_timeout is not None and not kind.startswith("async"):
        raise ConfigError(
            f"attempt_timeout={policy.attempt_timeout:g} can't cut off a sync function, and {_notes.label(fn)} is one; "
            "make it async, or give its client a timeout of its own"
        )
    if policy.on_result is not None and kind.endswith("generator"):
        raise ConfigError(
            f"on_result can't judge a generator, and {_notes.label(fn)} is one; judge its items instead"
        )
    if not kind.startswith("async"):
        for name in ("on_retry", "on_giveup", "on_success"):
            hook = getattr(policy, name)
            if hook is not None and kind_of(hook) == "async":
                raise ConfigError(
                    f"{name} must be a plain function in sync use, and {_notes.label(fn)} is a sync function"
                )


@functools.lru_cache(maxsize=16)
def _named_maker(
    shape: types.CodeType,
    code: types.CodeType,
    name: str,  # noqa: ARG001 (part of what the cache goes by)
    having: tuple[int, ...],
) -> types.CodeType:
    """
    Return a maker for one function's names; functions of the same code, as factories make them, share it.

    Args:
        name: The function's qualified name, by which code objects are not compared.
        having: Which of the keyword-only parameters have defaults.
    """
    keywords = _names(code, code.co_argcount, code.co_argcount + code.co_kwonlyargcount)
    # How a `def` stores the names of keyword defaults: one by one, or as a tuple.
    names: dict[object, object] = {f"k{n}": name for n, name in enumerate(keywords)}
    names[tuple(f"k{n}" for n in having)] = tuple(keywords[n] for n in having)
    return with_code(shape, _named(inner(shape), code, keywords), names)


def _names(code: types.CodeType, first: int, end: int) -> tuple[str, ...]:
    """Return some of a function's variable names; asking for all would leave a copy in its code object."""
    name: Callable[[int], str] | None = getattr(code, "_varname_from_oparg", None)
    return code.co_varnames[first:end] if name is None else tuple(map(name, range(first, end)))


def _named(
    shape: types.CodeType, code: types.CodeType, keywords: tuple[str, ...]
) -> types.CodeType:
    """Put a function's own names into the code of its shape."""
    flags = code.co_flags
    total = (
        code.co_argcount + len(keywords) + bool(flags & CO_VARARGS) + bool(flags & CO_VARKEYWORDS)
    )
    # The wrapper's own variables get names that no parameter can have.
    own = tuple(sys.intern(f"forbear.{name}") for name in shape.co_varnames[total:])
    consts = shape.co_consts
    if keywords:
        # How a call stores the names of keywords: one by one, or as a tuple.
        named: dict[object, object] = {f"k{n}": name for n, name in enumerate(keywords)}
        named[tuple(named)] = keywords
        consts = tuple(named.get(const, const) for const in consts)
    return shape.replace(
        co_varnames=_names(code, 0, total) + own,
        co_consts=consts,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )


def _dress(made: Any, fn: Any, policy: Rules) -> Any:
    """Give the wrapper the function's name, documentation and attributes."""
    inner = fn
    while isinstance(inner, functools.partial):
        inner = inner.func
    kind = type(inner)
    made.__module__ = getattr(inner, "__module__", None) or kind.__module__
    made.__name__ = getattr(inner, "__name__", None) or kind.__name__
    made.__qualname__ = getattr(inner, "__qualname__", None) or kind.__qualname__
    made.__doc__ = getattr(fn, "__doc__", None)
    notes = getattr(inner, "__annotations__", None)
    if notes and isinstance(fn, types.FunctionType):
        made.__annotations__ = notes
    types_of = getattr(fn, "__type_params__", None)
    if types_of:
        made.__type_params__ = types_of
    if isinstance(fn, types.FunctionType) and fn.__dict__:
        made.__dict__.update(fn.__dict__)
    made.__wrapped__ = fn
    setattr(made, POLICY, policy)
    return made


def policy_of(fn: object) -> Policy | None:
    """
    Return the policy that a function is decorated with, or None.

    >>> from forbear import retry
    >>> @retry(on=OSError, attempts=7)
    ... def read(): ...
    >>> policy_of(read).attempts
    7
    """
    found: Policy | None = getattr(fn, POLICY, None)
    return found
