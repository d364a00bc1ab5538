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
from ._limits import AttemptCut, CallCut, acut_off, open_cut
from ._run import Run
from ._scope import close_limit, open_limit
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


# What the compiled shapes reach for once an attempt has failed. They are constants of the code objects, so that
# nothing is looked up, and nothing has to be found in the function's own module.
TOOLS: dict[str, Any] = {name: getattr(_drive, name) for name in _drive.__all__}
TOOLS |= {"Run": Run, "again": Run.again, "pop": Run.pop, "EPOCH": _notes.EPOCH}
TOOLS |= {"open_limit": open_limit, "close_limit": close_limit}
TOOLS |= {"open_cut": open_cut, "close_cut": CallCut.close, "is_over": CallCut.is_over, "acut_off": acut_off}
TOOLS |= {"AttemptCut": AttemptCut}

# -- the shapes, as text. A tool is written `@name`: see `_compile`.
# {a} and {await_} are "a" and "await " in async shapes; {ok} stands where a first result is looked at. The bare
# `except` looks no name up in the function's module; what is no Exception, the drivers let pass.

FUNCTION = """
{began}
try:
    {first}
except:
    run = {await_}@{a}begun(policy, fn{since}{cut})
    if run is None:
        raise
{ok}
while True:
    if run.pending and not {await_}@{a}waited(run):
        raise @pop(run)
    try:
        {again}
    except:
        if not @again(run) and {await_}@{a}failed(run{cut}):
            raise
    else:
        if {await_}@{a}settled(run, result):
            return result
"""

# Up to the first item; what comes then is passed on below.
ITEMS = """
{began}
run = None
while True:
    try:
        {again}
    except {stop} as stop:
        if run is not None:
            {await_}@{a}settled(run, None)
        elif policy.on_success is not None:
            {await_}@{a}succeeded(policy, fn, None)
        return{value}
    except:
        if run is not None:
            if {await_}@{a}failed(run{cut}):
                raise
        else:
            run = {await_}@{a}begun(policy, fn{since}{cut})
            if run is None:
                raise
    else:
        if run is not None:
            {await_}@{a}settled(run, item)
        elif policy.on_success is not None:
            {await_}@{a}succeeded(policy, fn, item)
        break
    if not {await_}@{a}waited(run):
        raise @pop(run)
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
limit = @open_limit(policy.total_timeout)
try:
{body}
finally:
    @close_limit(limit)
"""

ALIMIT = """
limit = @open_cut(policy.total_timeout)
try:
{body}
except:
    if @is_over(limit):
        raise await @acut_off(policy, fn, limit)
    raise
finally:
    @close_cut(limit)
"""


if TYPE_CHECKING:

    class Shape(NamedTuple):
        """What two wrappers must have in common to share compiled text."""

        kind: str
        parameters: tuple[int, int, int]
        defaults: tuple[int, tuple[bool, ...]]  # of the last positional ones; which keyword-only ones
        flags: int
        features: tuple[bool, bool, bool, bool]


def _indent(text: str, by: int = 1) -> str:
    return "\n".join("    " * by + line if line else "" for line in text.strip("\n").split("\n"))


def _body(kind: str, call: str, features: tuple[bool, bool, bool, bool]) -> str:
    limited, cut, judged, told = features
    is_async = kind in {"async", "async generator"}
    words = {"a": "a" if is_async else "", "await_": "await " if is_async else "", "cut": ", cut" if cut else ""}
    # When the call began, for the search for marks; a sync function can't afford to note it, and asks its frames.
    noted = kind != "function"
    words["began"] = 'began = @EPOCH.count' if noted else ""
    words["since"] = ", began" if noted else ", None" if cut else ""
    if kind in {"function", "async"}:
        words |= _calls(call, words, cut=cut, looked_at=judged or told)
        text = FUNCTION.format_map(words | {"ok": _ok(words, judged, told)})
        tail = ""
    else:
        one = "items = {}; item = next(items)" if kind == "generator" else "items = {}; item = await anext(items)"
        words["again"] = _cut(one.format(call), 2) if cut else one.format(call)
        words["stop"] = "StopIteration" if kind == "generator" else "StopAsyncIteration"
        words["value"] = " stop.value" if kind == "generator" else ""
        text = ITEMS.format_map(words)
        tail = PASS_ON if kind == "generator" else APASS_ON
    if limited:
        text = (ALIMIT if is_async else LIMIT).format(body=_indent(text))
    return text + tail


def _calls(call: str, words: dict[str, str], *, cut: bool, looked_at: bool) -> dict[str, str]:
    call = words["await_"] + call
    first = f"result = {call}" if looked_at else f"return {call}"
    again = f"result = {call}"
    if cut:
        return {"first": _cut(first, 1), "again": _cut(again, 2)}
    return {"first": first, "again": again}


def _cut(statement: str, depth: int) -> str:
    inner = "    " * (depth + 1)
    return f'cut = @AttemptCut(policy)\n{"    " * depth}with cut:\n{inner}{statement}'


def _ok(words: dict[str, str], judged: bool, told: bool) -> str:
    """Return the `else` of the first try, where its result is looked at."""
    if not (judged or told):
        return ""
    test = "not on_result(result)" if judged else "True"
    tell = f'        {words["await_"]}@{words["a"]}succeeded(policy, fn, result)\n' if told else ""
    refuse = f'    if {words["await_"]}@{words["a"]}refused(run, result):\n        return result\n'
    return f"else:\n    if {test}:\n{tell}        return result\n" + (
        f'    run = @Run(policy, fn{words["since"]})\n{refuse}' if judged else ""
    )


def _compile(shape: Shape) -> types.CodeType:
    """
    Compile the text of one shape, with parameters named p0, p1 and so on.

    What comes back is the code of a maker: called with the function, the policy and the defaults, it makes the
    wrapper. A wrapper that is made by running a `def`, defaults and all, is one that the interpreter can call
    without detours; one that is put together from parts is not (CPython 3.13).
    """
    positional_only, positional, keyword_only = shape.parameters
    some, which = shape.defaults
    named = [f"p{n}" for n in range(positional)]
    keywords = [f"k{n}" for n in range(keyword_only)]
    given = [f"d{n}" for n in range(some)] + [f"e{n}" for n, has in enumerate(which) if has]
    first = positional - some
    head = [name if n < first else f"{name}=d{n - first}" for n, name in enumerate(named)]
    if positional_only:
        head.insert(positional_only, "/")
    call = list(named)
    if shape.flags & CO_VARARGS:
        head.append("*args")
        call.append("*args")
    elif keywords:
        head.append("*")
    head += [f"{name}=e{n}" if which[n] else name for n, name in enumerate(keywords)]
    call += [f"{name}={name}" for name in keywords]
    if shape.flags & CO_VARKEYWORDS:
        head.append("**kwargs")
        call.append("**kwargs")
    body = _body(shape.kind, f"fn({', '.join(call)})", shape.features)
    prefix = "async " if shape.kind.startswith("async") else ""
    text = (
        f"def make({', '.join(['fn', 'policy', 'on_result', *given])}):\n"
        f"    {prefix}def wrapper({', '.join(head)}):\n{_indent(body, 2)}\n    return wrapper\n"
    )
    # `("@name" or 0)` is compiled to the constant alone, and doesn't look like the mistake of calling a text.
    for name in TOOLS:
        text = text.replace(f"@{name}(", f'("@{name}" or 0)(').replace(f"@{name}.", f'("@{name}" or 0).')
    space: dict[str, Any] = {}
    exec(compile(text, __file__, "exec", dont_inherit=True), space)
    maker: types.CodeType = space["make"].__code__
    code = _inner(maker)
    tools = {f"@{name}": tool for name, tool in TOOLS.items()}
    consts = tuple(tools.get(const, const) if isinstance(const, str) else const for const in code.co_consts)
    lines = _one_line(len(code.co_code) // 2)
    return _with(maker, code.replace(co_consts=consts, co_linetable=lines, co_firstlineno=_CALLS_HERE), {})


def _inner(maker: types.CodeType) -> types.CodeType:
    """Return the code of the wrapper that a maker makes."""
    return next(const for const in maker.co_consts if isinstance(const, types.CodeType))


def _with(maker: types.CodeType, code: types.CodeType, names: dict[object, object]) -> types.CodeType:
    """Return the code of a maker that makes wrappers of this code, with these names for keyword defaults."""
    consts = (code if isinstance(const, types.CodeType) else names.get(const, const) for const in maker.co_consts)
    return maker.replace(co_consts=tuple(consts))


def _one_line(units: int) -> bytes:
    """Return a line table that puts every instruction on the first line, without columns (PEP 626)."""
    full, rest = divmod(units, 8)
    # An entry: bit 7, code 13 ("no columns"), the number of code units less one; then a line delta of 0.
    return bytes([0x80 | 13 << 3 | 7, 0]) * full + (bytes([0x80 | 13 << 3 | rest - 1, 0]) if rest else b"")


def _here() -> int:
    return sys._getframe(1).f_lineno


_CALLS_HERE = _here()  # tracebacks show this line: the decorated function is called from here


@functools.lru_cache(maxsize=None)
def _maker(*shape: Any) -> types.CodeType:
    names = ("kind", "parameters", "defaults", "flags", "features")
    return _compile(types.SimpleNamespace(**dict(zip(names, shape, strict=True))))  # type: ignore[arg-type]


# -- what is decorated


def kind_of(fn: object) -> str:
    """
    Tell what calling it gives: `"function"`, `"async"`, `"generator"` or `"async generator"`.

    Partials, bound methods and callable objects are looked into. A plain function that hands back a coroutine
    is a plain function: what it hands back is not looked at.
    """
    if type(fn) is not types.FunctionType:
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
        elif not hasattr(fn, "__code__") and isinstance(call := getattr(type(fn), "__call__", None), types.FunctionType):
            fn = call
        else:
            break
    return fn


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
    if not isinstance(fn, types.FunctionType):
        maker = _maker(kind, (0, 0, 0), (0, ()), CO_VARARGS | CO_VARKEYWORDS, features)
        made = types.FunctionType(maker, {})(fn, policy, policy.on_result)
        return _dress(made, fn, policy)
    code, defaults, by_name = fn.__code__, fn.__defaults__ or (), fn.__kwdefaults__ or {}
    keywords = _names(code, code.co_argcount, code.co_argcount + code.co_kwonlyargcount)
    maker = _maker(
        kind,
        (code.co_posonlyargcount, code.co_argcount, code.co_kwonlyargcount),
        (len(defaults), tuple(name in by_name for name in keywords)),
        code.co_flags & (CO_VARARGS | CO_VARKEYWORDS),
        features,
    )
    having = tuple(n for n, name in enumerate(keywords) if name in by_name)
    given = (by_name[keywords[n]] for n in having)
    named = _named_maker(maker, code, code.co_qualname, having)
    made = types.FunctionType(named, fn.__globals__)(fn, policy, policy.on_result, *defaults, *given)
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
            hook = getattr(policy, name)
            if hook is not None and kind_of(hook) == "async":
                raise ConfigError(f"{name} must be a plain function in sync use, and {_notes.label(fn)} is a sync function")


@functools.lru_cache(maxsize=16)
def _named_maker(maker: types.CodeType, code: types.CodeType, name: str, having: tuple[int, ...]) -> types.CodeType:
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
    return _with(maker, _named(_inner(maker), code, keywords), names)


def _names(code: types.CodeType, first: int, end: int) -> tuple[str, ...]:
    """Return some of a function's variable names; asking for all would leave a copy in its code object."""
    name: Callable[[int], str] | None = getattr(code, "_varname_from_oparg", None)
    return code.co_varnames[first:end] if name is None else tuple(map(name, range(first, end)))


def _named(shape: types.CodeType, code: types.CodeType, keywords: tuple[str, ...]) -> types.CodeType:
    """Put a function's own names into the code of its shape."""
    flags = code.co_flags
    total = code.co_argcount + len(keywords) + bool(flags & CO_VARARGS) + bool(flags & CO_VARKEYWORDS)
    # The wrapper's own variables get names that no parameter can have.
    own = tuple(sys.intern(f"forbear.{name}") for name in shape.co_varnames[total:])
    consts = shape.co_consts
    if keywords:
        plain = tuple(f"k{n}" for n in range(len(keywords)))
        consts = tuple(keywords if const == plain else const for const in consts)
    return shape.replace(
        co_varnames=_names(code, 0, total) + own,
        co_consts=consts,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )


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
