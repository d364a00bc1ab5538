"""
The text that wrappers are compiled from, once a shape.

Law: a shape is how many parameters of which sort there are, and which features the policy has; nothing in it
belongs to one function. The order of events is `_drive`'s; here it only stands in the order of lines.
"""

from __future__ import annotations

import functools
import sys
import types

from . import _drive, _frames, _notes
from ._limits import AttemptCut, CallCut, acut_off, open_cut
from ._run import Run
from ._scope import close_limit, open_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NamedTuple

__all__ = ["CO_VARARGS", "CO_VARKEYWORDS", "inner", "maker", "with_code"]

# The frames of wrappers are found by the file they say they are from.
_frames.callers.add(__file__)

CO_VARARGS, CO_VARKEYWORDS = 0x04, 0x08

# What the compiled shapes reach for once an attempt has failed. They are constants of the code objects, so that
# nothing is looked up, and nothing has to be found in the function's own module.
TOOLS: dict[str, Any] = {name: getattr(_drive, name) for name in _drive.__all__}
TOOLS |= {"Run": Run, "again": Run.again, "pop": Run.pop, "EPOCH": _notes.EPOCH}
TOOLS |= {"open_limit": open_limit, "close_limit": close_limit}
TOOLS |= {
    "open_cut": open_cut,
    "close_cut": CallCut.close,
    "is_over": CallCut.is_over,
    "acut_off": acut_off,
}
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

HAND_ON = """
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

AHAND_ON = """
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
        defaults: tuple[
            int, tuple[bool, ...]
        ]  # of the last positional ones; which keyword-only ones
        flags: int
        features: tuple[bool, bool, bool, bool]


def _indent(text: str, by: int = 1) -> str:
    return "\n".join("    " * by + line if line else "" for line in text.strip("\n").split("\n"))


def _body(kind: str, call: str, features: tuple[bool, bool, bool, bool]) -> str:
    limited, cut, judged, told = features
    is_async = kind in {"async", "async generator"}
    words = {
        "a": "a" if is_async else "",
        "await_": "await " if is_async else "",
        "cut": ", cut" if cut else "",
    }
    # When the call began, for the search for marks; a sync function can't afford to note it, and asks its frames.
    noted = kind != "function"
    words["began"] = "began = @EPOCH.count" if noted else ""
    words["since"] = ", began" if noted else ", None" if cut else ""
    if kind in {"function", "async"}:
        words |= _calls(call, words, cut=cut, looked_at=judged or told)
        text = FUNCTION.format_map(words | {"ok": _ok(words, judged=judged, told=told)})
        tail = ""
    else:
        one = (
            "items = {}; item = next(items)"
            if kind == "generator"
            else "items = {}; item = await anext(items)"
        )
        words["again"] = _cut(one.format(call), 2) if cut else one.format(call)
        words["stop"] = "StopIteration" if kind == "generator" else "StopAsyncIteration"
        words["value"] = " stop.value" if kind == "generator" else ""
        text = ITEMS.format_map(words)
        tail = HAND_ON if kind == "generator" else AHAND_ON
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
    return f"cut = @AttemptCut(policy)\n{'    ' * depth}with cut:\n{inner}{statement}"


def _ok(words: dict[str, str], *, judged: bool, told: bool) -> str:
    """Return the `else` of the first try, where its result is looked at."""
    if not (judged or told):
        return ""
    test = "not on_result(result)" if judged else "True"
    tell = f"        {words['await_']}@{words['a']}succeeded(policy, fn, result)\n" if told else ""
    refuse = f"    if {words['await_']}@{words['a']}refused(run, result):\n        return result\n"
    return f"else:\n    if {test}:\n{tell}        return result\n" + (
        f"    run = @Run(policy, fn{words['since']})\n{refuse}" if judged else ""
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
        text = text.replace(f"@{name}(", f'("@{name}" or 0)(').replace(
            f"@{name}.", f'("@{name}" or 0).'
        )
    space: dict[str, Any] = {}
    exec(compile(text, __file__, "exec", dont_inherit=True), space)  # noqa: S102 (our own text)
    maker: types.CodeType = space["make"].__code__
    code = inner(maker)
    tools = {f"@{name}": tool for name, tool in TOOLS.items()}
    consts = tuple(
        tools.get(const, const) if isinstance(const, str) else const for const in code.co_consts
    )
    lines = _one_line(len(code.co_code) // 2)
    return with_code(
        maker, code.replace(co_consts=consts, co_linetable=lines, co_firstlineno=_CALLS_HERE), {}
    )


def inner(of: types.CodeType) -> types.CodeType:
    """Return the code of the wrapper that a maker makes."""
    return next(const for const in of.co_consts if isinstance(const, types.CodeType))


def with_code(
    maker: types.CodeType, code: types.CodeType, names: dict[object, object]
) -> types.CodeType:
    """Return the code of a maker that makes wrappers of this code, with these names for keyword defaults."""
    consts = (
        code if isinstance(const, types.CodeType) else names.get(const, const)
        for const in maker.co_consts
    )
    return maker.replace(co_consts=tuple(consts))


def _one_line(units: int) -> bytes:
    """Return a line table that puts every instruction on the first line, without columns (PEP 626)."""
    full, rest = divmod(units, 8)
    # An entry: bit 7, code 13 ("no columns"), the number of code units less one; then a line delta of 0.
    return bytes([0x80 | 13 << 3 | 7, 0]) * full + (
        bytes([0x80 | 13 << 3 | rest - 1, 0]) if rest else b""
    )


def _here() -> int:
    return sys._getframe(1).f_lineno


_CALLS_HERE = _here()  # tracebacks show this line: the decorated function is called from here


@functools.cache
def maker(*shape: Any) -> types.CodeType:
    names = ("kind", "parameters", "defaults", "flags", "features")
    return _compile(types.SimpleNamespace(**dict(zip(names, shape, strict=True))))  # type: ignore[arg-type]
