"""
Wrappers with the function's own signature, made by filling in a shape.

Law: a wrapper costs its function next to nothing until the first failure: it has the same parameters, stands in
the function's own globals, calls it inside its own `try`, and remembers nothing. Text is compiled once a shape
(how many parameters of which sort, which features); for each function only names are patched into the code
object. What happens after a failure is `_drive`'s part; this file must not know it.
"""

from __future__ import annotations

import functools
import sys
import types

from . import _drive, _notes
from ._limits import AttemptCut, CallCut, acut_off
from ._run import Run
from ._scope import Scope
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    from ._rules import Rules

__all__ = ["check", "kind_of", "policy_of", "wrap"]

POLICY = "__forbear_policy__"
_notes.callers.add(__file__)

CO_VARARGS, CO_VARKEYWORDS, CO_GENERATOR = 0x04, 0x08, 0x20
CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR = 0x80, 0x100, 0x200


class Kit:
    """What the compiled shapes reach for once an attempt has failed; one constant in each code object."""

    __slots__ = ()
    Run = Run
    Scope = Scope
    AttemptCut = AttemptCut
    CallCut = CallCut
    cut_off = staticmethod(acut_off)
    failed = staticmethod(_drive.failed)
    settled = staticmethod(_drive.settled)
    refused = staticmethod(_drive.refused)
    succeeded = staticmethod(_drive.succeeded)
    waited = staticmethod(_drive.waited)
    afailed = staticmethod(_drive.afailed)
    asettled = staticmethod(_drive.asettled)
    arefused = staticmethod(_drive.arefused)
    asucceeded = staticmethod(_drive.asucceeded)
    awaited = staticmethod(_drive.awaited)


KIT = Kit()

# -- the shapes, as text. `KIT` is written as a string, which is a constant, and constants can be replaced.
# {a} and {await_} are "a" and "await " in async shapes; {ok} stands where a first result is looked at.

FUNCTION = """
try:
    {first}
except Exception as error:
    run = "KIT".Run(policy, fn)
    if {await_}"KIT".{a}failed(run, error{was_cut}):
        raise
{ok}
try:
    while {await_}"KIT".{a}waited(run):
        try:
            {again}
        except Exception as error:
            if {await_}"KIT".{a}failed(run, error{was_cut}):
                raise
        else:
            if {await_}"KIT".{a}settled(run, result):
                return result
    raise run.pop()
finally:
    run.close()
"""

# Up to the first item; what comes then is passed on below.
ITEMS = """
run = None
try:
    while True:
        try:
            {again}
        except {stop} as stop:
            if run is not None or policy.on_success is not None:
                {await_}"KIT".{a}succeeded(policy, run or fn, None)
            return{value}
        except Exception as error:
            if run is None:
                run = "KIT".Run(policy, fn)
            if {await_}"KIT".{a}failed(run, error{was_cut}):
                raise
        else:
            if run is not None or policy.on_success is not None:
                {await_}"KIT".{a}succeeded(policy, run or fn, item)
            break
        if not {await_}"KIT".{a}waited(run):
            raise run.pop()
finally:
    if run is not None:
        run.close()
"""

PASS_ON = """
while True:
    try:
        sent = yield item
    except GeneratorExit:
        items.close()
        raise
    except BaseException as error:
        try:
            item = items.throw(error)
        except StopIteration as stop:
            return stop.value
    else:
        if sent is None:
            return (yield from items)
        try:
            item = items.send(sent)
        except StopIteration as stop:
            return stop.value
"""

APASS_ON = """
while True:
    try:
        sent = yield item
    except GeneratorExit:
        await items.aclose()
        raise
    except BaseException as error:
        try:
            item = await items.athrow(error)
        except StopAsyncIteration:
            return
    else:
        try:
            item = await items.asend(sent)
        except StopAsyncIteration:
            return
"""

LIMIT = """
with "KIT".Scope(policy.total_timeout):
{body}
"""

# What an async call is cut off by is told when the cut is behind it, because hooks may be awaited.
ALIMIT = """
limit = "KIT".CallCut(policy.total_timeout)
try:
    with limit:
{body}
except TimeoutError as error:
    if limit.over(error):
        await "KIT".cut_off(policy, fn, error, limit)
    raise
"""


if TYPE_CHECKING:

    class Shape(NamedTuple):
        """What two wrappers must have in common to share compiled text."""

        kind: str
        parameters: tuple[int, int, int]
        flags: int
        features: tuple[bool, bool, bool, bool]


def _indent(text: str, by: int = 1) -> str:
    return "\n".join("    " * by + line if line else "" for line in text.strip("\n").split("\n"))


def _body(kind: str, call: str, features: tuple[bool, bool, bool, bool]) -> str:
    limited, cut, judged, told = features
    is_async = kind in {"async", "async generator"}
    words = {"a": "a" if is_async else "", "await_": "await " if is_async else "", "was_cut": ""}
    if cut:
        words["was_cut"] = ", cut=cut.made(error)"
    if kind in {"function", "async"}:
        words |= _first(call, words, cut=cut, looked_at=judged or told)
        text = FUNCTION.format_map(words | {"ok": _ok(words, judged, told)})
        tail = ""
    else:
        one = "items = {}; item = next(items)" if kind == "generator" else "items = {}; item = await anext(items)"
        words["again"] = _cut(one.format(call), 3) if cut else one.format(call)
        words["stop"] = "StopIteration" if kind == "generator" else "StopAsyncIteration"
        words["value"] = " stop.value" if kind == "generator" else ""
        text = ITEMS.format_map(words)
        tail = PASS_ON if kind == "generator" else APASS_ON
    if limited:
        text = ALIMIT.format(body=_indent(text, 2)) if is_async else LIMIT.format(body=_indent(text))
    return text + tail


def _first(call: str, words: dict[str, str], *, cut: bool, looked_at: bool) -> dict[str, str]:
    call = words["await_"] + call
    first = f"result = {call}" if looked_at else f"return {call}"
    again = f"result = {call}"
    if cut:
        return {"first": _cut(first, 1), "again": _cut(again, 3)}
    return {"first": first, "again": again}


def _cut(statement: str, depth: int) -> str:
    inner = "    " * (depth + 1)
    return f'cut = "KIT".AttemptCut(policy)\n{"    " * depth}with cut:\n{inner}{statement}'


def _ok(words: dict[str, str], judged: bool, told: bool) -> str:
    """Return the `else` of the first try, where its result is looked at."""
    if not (judged or told):
        return ""
    test = "not on_result(result)" if judged else "True"
    tell = f'        {words["await_"]}"KIT".{words["a"]}succeeded(policy, fn, result)\n' if told else ""
    refuse = f'    if {words["await_"]}"KIT".{words["a"]}refused(run, result):\n        return result\n'
    return f"else:\n    if {test}:\n{tell}        return result\n" + (
        f'    run = "KIT".Run(policy, fn)\n{refuse}' if judged else ""
    )


def _compile(shape: Shape) -> types.CodeType:
    """Compile the text of one shape, with parameters named p0, p1 and so on."""
    positional_only, positional, keyword_only = shape.parameters
    named = [f"p{n}" for n in range(positional)]
    keywords = [f"k{n}" for n in range(keyword_only)]
    head = [*named[:positional_only], "/"] if positional_only else []
    head += named[positional_only:]
    call = list(named)
    if shape.flags & CO_VARARGS:
        head.append("*args")
        call.append("*args")
    elif keywords:
        head.append("*")
    head += keywords
    call += [f"{k}={k}" for k in keywords]
    if shape.flags & CO_VARKEYWORDS:
        head.append("**kwargs")
        call.append("**kwargs")
    body = _body(shape.kind, f"fn({', '.join(call)})", shape.features)
    prefix = "async " if shape.kind.startswith("async") else ""
    text = (
        f"def make(fn, policy, on_result):\n    {prefix}def wrapper({', '.join(head)}):\n{_indent(body, 2)}\n"
        "    return wrapper\n"
    )
    space: dict[str, Any] = {}
    exec(compile(text, __file__, "exec", dont_inherit=True), space)
    code: types.CodeType = space["make"](None, None, None).__code__
    consts = tuple(KIT if const == "KIT" else const for const in code.co_consts)
    line = _CALLS_HERE
    return code.replace(co_consts=consts, co_linetable=_one_line(len(code.co_code) // 2), co_firstlineno=line)


def _one_line(units: int) -> bytes:
    """Return a line table that puts every instruction on the first line, without columns (PEP 626)."""
    full, rest = divmod(units, 8)
    # An entry: bit 7, code 13 ("no columns"), the number of code units less one; then a line delta of 0.
    return bytes([0x80 | 13 << 3 | 7, 0]) * full + (bytes([0x80 | 13 << 3 | rest - 1, 0]) if rest else b"")


def _here() -> int:
    return sys._getframe(1).f_lineno


_CALLS_HERE = _here()  # tracebacks show this line: the decorated function is called from here


@functools.lru_cache(maxsize=None)
def _shape(kind: str, parameters: tuple[int, int, int], flags: int, features: tuple[bool, ...]) -> types.CodeType:
    return _compile(types.SimpleNamespace(kind=kind, parameters=parameters, flags=flags, features=features))  # type: ignore[arg-type]


# -- what is decorated


def kind_of(fn: object) -> str:
    """
    Tell what calling it gives: `"function"`, `"async"`, `"generator"` or `"async generator"`.

    Partials, bound methods and callable objects are looked into. A plain function that hands back a coroutine
    is a plain function: what it hands back is not looked at.
    """
    seen = 0
    while seen < 64:
        seen += 1
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif not hasattr(fn, "__code__") and isinstance(call := getattr(type(fn), "__call__", None), types.FunctionType):
            fn = call
        else:
            break
    flags = getattr(getattr(fn, "__code__", None), "co_flags", 0)
    if flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE) or _is_marked(fn):
        return "async"
    if flags & CO_ASYNC_GENERATOR:
        return "async generator"
    return "generator" if flags & CO_GENERATOR else "function"


def _is_marked(fn: object) -> bool:
    """Tell whether a plain function was marked as a coroutine function (`inspect.markcoroutinefunction`)."""
    inspect = sys.modules.get("inspect")
    mark = getattr(inspect, "_is_coroutine_mark", None)
    return mark is not None and getattr(fn, "_is_coroutine_mark", None) is mark


def wrap(policy: Rules, fn: Callable[..., Any]) -> Any:
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
    code: types.CodeType | None = getattr(fn, "__code__", None) if isinstance(fn, types.FunctionType) else None
    if code is None:
        made = _make(_shape(kind, (0, 0, 0), CO_VARARGS | CO_VARKEYWORDS, features), fn, policy, {})
    else:
        parameters = (code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount)
        flags = code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
        shape = _shape(kind, parameters, flags, features)
        made = _make(_named(shape, code), fn, policy, fn.__globals__)
        made.__defaults__ = fn.__defaults__
        if fn.__kwdefaults__:
            made.__kwdefaults__ = dict(fn.__kwdefaults__)
    return _dress(made, fn, policy)


def check(policy: Rules, fn: object, kind: str) -> None:
    """Refuse what the policy can't apply to."""
    if isinstance(fn, type):
        raise ConfigError(f"a policy decorates functions, not the class {fn.__name__}; decorate its methods instead")
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
        raise ConfigError(f"on_result can't judge a generator, and {_notes.label(fn)} is one; judge its items instead")
    if not kind.startswith("async"):
        for name in ("on_retry", "on_giveup", "on_success"):
            if kind_of(getattr(policy, name)) == "async":
                raise ConfigError(f"{name} must be a plain function in sync use, and {_notes.label(fn)} is a sync function")


def _named(shape: types.CodeType, code: types.CodeType) -> types.CodeType:
    """Put a function's own names into the code of its shape."""
    count = code.co_argcount + code.co_kwonlyargcount
    has_varargs = bool(code.co_flags & CO_VARARGS)
    total = count + has_varargs + bool(code.co_flags & CO_VARKEYWORDS)
    # The wrapper's own variables get names that no parameter can have.
    own = tuple(f"forbear.{name}" for name in shape.co_varnames[total:])
    consts = shape.co_consts
    if code.co_kwonlyargcount:
        keywords = code.co_varnames[code.co_argcount : count]
        plain = tuple(f"k{n}" for n in range(len(keywords)))
        consts = tuple(keywords if const == plain else const for const in consts)
    return shape.replace(
        co_varnames=code.co_varnames[:total] + own,
        co_consts=consts,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )


def _make(code: types.CodeType, fn: object, policy: Rules, space: dict[str, Any]) -> types.FunctionType:
    given = {"fn": fn, "policy": policy, "on_result": policy.on_result}
    cells = tuple(types.CellType(given[name]) for name in code.co_freevars)
    return types.FunctionType(code, space, None, None, cells)


def _dress(made: types.FunctionType, fn: Any, policy: Rules) -> types.FunctionType:
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
        made.__type_params__ = types_of  # type: ignore[attr-defined]
    if isinstance(fn, types.FunctionType) and fn.__dict__:
        made.__dict__.update(fn.__dict__)
    made.__wrapped__ = fn  # type: ignore[attr-defined]
    setattr(made, POLICY, policy)
    return made


def policy_of(fn: object) -> Any:
    """
    Return the policy that a function is decorated with, or None.

    >>> from forbear import retry
    >>> @retry(on=OSError, attempts=7)
    ... def read(): ...
    >>> policy_of(read).attempts
    7
    """
    return getattr(fn, POLICY, None)
