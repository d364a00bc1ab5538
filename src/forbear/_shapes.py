"""
The text that wrappers are compiled from, once a shape.

Law: a shape is how many parameters of which sort there are, and which features the policy has; nothing in it
belongs to one function. The order of events is `_drive`'s; here it only stands in the order of lines.
"""

from __future__ import annotations

import functools
import re
import sys
import types

from . import _drive, _frames
from ._again import again
from ._limits import AttemptCut, CallCut, acut_off, open_cut
from ._notes import EPOCH
from ._run import Run
from ._scope import close_limit, open_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["CO_VARARGS", "CO_VARKEYWORDS", "inner", "maker", "with_code"]

# The frames of wrappers are found by the file they say they are from.
_frames.callers.add(__file__)

CO_VARARGS, CO_VARKEYWORDS = 0x04, 0x08

# What the compiled shapes reach for once an attempt has failed. They are constants of the code objects, so that
# nothing is looked up, and nothing has to be found in the function's own module.
TOOLS: dict[str, Any] = {name: getattr(_drive, name) for name in _drive.__all__}
TOOLS |= {"Run": Run, "again": again, "pop": Run.pop, "EPOCH": EPOCH}
# Whoever has a `next` of their own in their module means it for themselves.
TOOLS |= {
    "next": next,
    "anext": anext,
    "BaseException": BaseException,
    "GeneratorExit": GeneratorExit,
}
TOOLS |= {"StopIteration": StopIteration, "StopAsyncIteration": StopAsyncIteration}
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
try:
    {first}
except:
    run = @dealt(None, policy, fn)
    if run is None:
        raise
{ok}
while True:
    if run.pending and @waited(run) is None:
        raise @pop(run)
    try:
        {again}
    except:
        if @again(run) is None and @failed(run):
            raise
    else:
        if @settled(run, result) is None:
            return result
"""

# The same with a single place that calls: an `await` is many instructions, and their bytes are paid by each
# decorated function.
AFUNCTION = """
{began}
run = None
while True:
    try:
        {again}
    except:
        if @again(run) is not None:
            continue
        run = await @adealt(run, policy, fn, began{cut})
        if run is None:
            raise
    else:
        if run is None:
            {ok}
        elif await @asettled(run, result) is None:
            return result
    if await @awaited(run) is None:
        raise @pop(run)
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
        run = {await_}@{a}dealt(run, policy, fn, began{cut})
        if run is None:
            raise
    else:
        if run is not None:
            {await_}@{a}settled(run, item)
        elif policy.on_success is not None:
            {await_}@{a}succeeded(policy, fn, item)
        break
    if {await_}@{a}waited(run) is None:
        raise @pop(run)
"""

HAND_ON = """
while True:
    try:
        sent = yield item
    except @GeneratorExit:
        items.close()
        raise
    except @BaseException as error:
        try:
            item = items.throw(error)
        except @StopIteration as stop:
            return stop.value
    else:
        if sent is None:
            return (yield from items)
        try:
            item = items.send(sent)
        except @StopIteration as stop:
            return stop.value
"""

AHAND_ON = """
while True:
    try:
        sent = yield item
    except @GeneratorExit:
        await items.aclose()
        raise
    except @BaseException as error:
        try:
            item = await items.athrow(error)
        except @StopAsyncIteration:
            return
    else:
        try:
            item = await items.asend(sent)
        except @StopAsyncIteration:
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


def _indent(text: str, by: int = 1) -> str:
    return "\n".join("    " * by + line if line else "" for line in text.strip("\n").split("\n"))


def _body(kind: str, call: str, features: tuple[bool, bool, bool, bool]) -> str:
    limited, cut, judged, told = features
    is_async = kind.startswith("async")
    words = {
        "a": "a" if is_async else "",
        "await_": "await " if is_async else "",
        "cut": ", cut" if cut else "",
        # When the call began, for the search for marks; a sync function can't afford to note it, and asks its frames.
        "began": "began = @EPOCH.count",
    }
    if kind == "function":
        first = f"result = {call}" if judged or told else f"return {call}"
        ok = _ok(words, judged=judged, told=told) if judged or told else ""
        text = FUNCTION.format(
            first=first, again=f"result = {call}", ok=ok and f"else:\n{_indent(ok)}"
        )
        tail = ""
    elif kind == "async":
        again = f"result = await {call}"
        words["again"] = _cut(again, 2) if cut else again
        words["ok"] = _indent(_ok(words, judged=judged, told=told), 3).lstrip()
        text = AFUNCTION.format_map(words)
        tail = ""
    else:
        one = f"items = {call}; item = " + ("await @anext(items)" if is_async else "@next(items)")
        words["again"] = _cut(one, 2) if cut else one
        words["stop"] = "@StopAsyncIteration" if is_async else "@StopIteration"
        words["value"] = "" if is_async else " stop.value"
        text = ITEMS.format_map(words)
        tail = AHAND_ON if is_async else HAND_ON
    if limited:
        text = (ALIMIT if is_async else LIMIT).format(body=_indent(text))
    return text + tail


def _cut(statement: str, depth: int) -> str:
    inner = "    " * (depth + 1)
    return f"cut = @AttemptCut(policy)\n{'    ' * depth}with cut:\n{inner}{statement}"


def _ok(words: dict[str, str], *, judged: bool, told: bool) -> str:
    """Return what is done with a first result."""
    tell = f"{words['await_']}@{words['a']}succeeded(policy, fn, result)\n" if told else ""
    if not judged:
        return tell + "return result"
    began = ", began" if words["a"] else ""
    return (
        f"if not on_result(result):\n{_indent(tell + 'return result')}\n"
        f"run = @Run(policy, fn{began})\n"
        f"if {words['await_']}@{words['a']}refused(run, result) is None:\n    return result"
    )


@functools.lru_cache(maxsize=256)
def maker(
    kind: str,
    parameters: tuple[int, int, int],
    defaults: tuple[int, tuple[bool, ...]],
    flags: int,
    features: tuple[bool, bool, bool, bool],
) -> types.CodeType:
    """
    Compile the text of one shape, with parameters named p0, p1 and so on.

    What comes back is the code of a maker: called with the function, the policy and the defaults, it makes the
    wrapper. A wrapper that is made by running a `def`, defaults and all, is one that the interpreter can call
    without detours; one that is put together from parts is not (CPython 3.13).
    """
    head, call, given = _signature(parameters, defaults, flags)
    body = _body(kind, f"fn({call})", features)
    prefix = "async " if kind.startswith("async") else ""
    text = (
        f"def make({', '.join(['fn', 'policy', 'on_result', *given])}):\n"
        f"    {prefix}def wrapper({head}):\n{_indent(body, 2)}\n    return wrapper\n"
    )
    # `("@name" or 0)` is compiled to the constant alone, and doesn't look like the mistake of calling a text.
    text = re.sub(r"@(\w+)", r'("@\1" or 0)', text)
    space: dict[str, Any] = {}
    exec(compile(text, __file__, "exec", dont_inherit=True), space)  # noqa: S102 (our own text)
    made: types.CodeType = space["make"].__code__
    return with_code(made, _equipped(inner(made)), {})


def _signature(
    parameters: tuple[int, int, int], defaults: tuple[int, tuple[bool, ...]], flags: int
) -> tuple[str, str, list[str]]:
    """Return the wrapper's parameters and the arguments of its call, as text, and the names of the defaults."""
    positional_only, positional, keyword_only = parameters
    some, which = defaults
    named = [f"p{n}" for n in range(positional)]
    keywords = [f"k{n}" for n in range(keyword_only)]
    given = [f"d{n}" for n in range(some)] + [f"e{n}" for n, has in enumerate(which) if has]
    first = positional - some
    head = [name if n < first else f"{name}=d{n - first}" for n, name in enumerate(named)]
    if positional_only:
        head.insert(positional_only, "/")
    call = list(named)
    if flags & CO_VARARGS:
        head.append("*args")
        call.append("*args")
    elif keywords:
        head.append("*")
    head += [f"{name}=e{n}" if which[n] else name for n, name in enumerate(keywords)]
    call += [f"{name}={name}" for name in keywords]
    if flags & CO_VARKEYWORDS:
        head.append("**kwargs")
        call.append("**kwargs")
    return ", ".join(head), ", ".join(call), given


def _equipped(code: types.CodeType) -> types.CodeType:
    """Put the tools in the place of their names, and every instruction on the line that tracebacks are to show."""
    tools = {f"@{name}": tool for name, tool in TOOLS.items()}
    consts = tuple(
        tools.get(const, const) if isinstance(const, str) else const for const in code.co_consts
    )
    lines = _one_line(len(code.co_code) // 2)
    return code.replace(co_consts=consts, co_linetable=lines, co_firstlineno=_CALLS_HERE)


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
