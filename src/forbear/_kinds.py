"""
What a function is: plain, async, a generator, or an async generator.

Law: it is told by looking at the code, never by calling it.
"""

from __future__ import annotations

import functools
import sys
import types

__all__ = ["kind_of"]

CO_GENERATOR, CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200


def kind_of(fn: object) -> str:
    """
    Tell what calling it gives: `"function"`, `"async"`, `"generator"` or `"async generator"`.

    Partials, bound methods and callable objects are looked into. A plain function that hands back a coroutine
    is a plain function: what it hands back is not looked at.
    """
    if type(fn) is not types.FunctionType:
        if _is_marked(fn):
            return "async"
        fn = _function_in(fn)
    flags = getattr(getattr(fn, "__code__", None), "co_flags", 0)
    if not flags & _SPECIAL:
        return "async" if _is_marked(fn) else "function"
    if flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE):
        return "async"
    return "async generator" if flags & CO_ASYNC_GENERATOR else "generator"


_SPECIAL = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR


def _function_in(fn: object) -> object:
    """Return the function inside partials, bound methods and callable objects."""
    for _ in range(64):  # a bound: somebody's `func` may point in a circle
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif not hasattr(fn, "__code__") and isinstance(
            call := getattr(type(fn), "__call__", None),  # noqa: B004 (what it is, not whether)
            types.FunctionType,
        ):
            fn = call
        else:
            break
    return fn


def _is_marked(fn: object) -> bool:
    """Tell whether a plain function was marked as a coroutine function (`inspect.markcoroutinefunction`)."""
    mark = getattr(fn, "_is_coroutine_marker", None)  # of a function or a callable object
    inspect = sys.modules.get("inspect")
    # The sentinel is called one thing in 3.12 and another in 3.13.
    names = ("_is_coroutine_mark", "_is_coroutine_marker")
    return mark is not None and any(mark is getattr(inspect, name, None) for name in names)
