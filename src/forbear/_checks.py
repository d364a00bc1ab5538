"""
Checks of what is handed to a policy.

Law: a mistake is refused where it was written, with the parameter's name, the value, and one that works. Nothing
is called to find out: a predicate is looked at, not tried.
"""

from __future__ import annotations

from ._duration import seconds, shown
from ._kinds import kind_of
from .errors import NEVER, ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["function", "limit", "match", "name", "one_of"]

_CODE_ASYNC_OR_GENERATOR = 0x80 | 0x20 | 0x200  # CO_COROUTINE, CO_GENERATOR, CO_ASYNC_GENERATOR
_HAS_VARARGS = 0x04


def match(name: str, value: object) -> tuple[type[Exception], ...] | None:
    """Return the types that are named, or None for a predicate."""
    works = f"for example {name}=ConnectionError, {name}=(ConnectionError, TimeoutError) or {name}=is_transient"
    if isinstance(value, type):
        value = (value,)
    if isinstance(value, tuple):
        if not value:
            raise ConfigError(f"{name} must name at least one exception type, not (); {works}")
        for kind in value:
            _check_type(name, kind, works)
        return value
    if not callable(value):
        raise ConfigError(
            f"{name} must be an exception type, a tuple of them or a predicate, not {shown(value)}; {works}"
        )
    _check_predicate(name, value, works)
    return None


def _check_type(name: str, kind: object, works: str) -> None:
    if not isinstance(kind, type):
        raise ConfigError(f"{name} must name exception types, not {shown(kind)}; {works}")
    if not issubclass(kind, BaseException):
        raise ConfigError(
            f"{name} must name exception types, not the class {kind.__name__}; {works}"
        )
    if not issubclass(kind, Exception):
        raise ConfigError(
            f"{name} must name types inside Exception, not {kind.__name__}: a cancellation or an exit is no "
            f"failure and is never retried; {works}"
        )
    if issubclass(kind, NEVER):
        raise ConfigError(
            f"{name} must not name {kind.__name__}: it is never retried, whatever {name} says; {works}"
        )


def _check_predicate(name: str, value: object, works: str) -> None:
    """Refuse what can't be a predicate; most often it is a function under a bare `@retry`."""
    code = getattr(value, "__code__", None)
    flags = getattr(code, "co_flags", 0)
    async_or_generator = bool(flags & _CODE_ASYNC_OR_GENERATOR)
    if code is not None and hasattr(code, "co_argcount") and not async_or_generator:
        bound = 1 if getattr(value, "__self__", None) is not None else 0
        takes = code.co_argcount - bound
        needs = takes - len(getattr(value, "__defaults__", None) or ())
        needs_names = code.co_kwonlyargcount > len(getattr(value, "__kwdefaults__", None) or ())
        takes_one = needs <= 1 and (takes >= 1 or flags & _HAS_VARARGS) and not needs_names
        if takes_one and _may_answer_bool(value):
            return
    elif code is None:
        return
    label = getattr(value, "__qualname__", shown(value))
    raise ConfigError(
        f"{name} must be an exception type, a tuple of them or a predicate that takes one exception and "
        f"answers true or false, not the function {label}; if you meant to decorate it, write "
        f"@retry(on=ConnectionError) with parentheses; {works}"
    )


def _may_answer_bool(value: object) -> bool:
    """Tell whether a function's annotations, if it has any, allow it to be a predicate."""
    try:
        notes: dict[str, object] = getattr(value, "__annotations__", None) or {}
        answer = notes.get("return", bool)
    except Exception:  # noqa: BLE001 (annotations that are evaluated late may raise anything)
        return True
    if isinstance(answer, str):
        return answer not in {"None", "str", "bytes", "int", "float", "dict", "list"}
    return answer is not None and answer not in (str, bytes, int, float, list, dict, tuple, set)


def plain(name: str, value: Any, works: str, *, none: bool = True) -> Any:
    """Check a function whose answer is looked at: an async one would answer with a coroutine, which is always true."""
    function(name, value, works, none=none)
    if kind_of(value) != "function":
        raise ConfigError(
            f"{name} must be a plain function, not {kind_of(value)}, because its answer is used at once; "
            f"for example {name}={works}"
        )
    return value


def function(name: str, value: Any, works: str, *, none: bool = True) -> Any:
    if (value is None and none) or (callable(value) and not isinstance(value, type)):
        return value
    or_none = " or None" if none else ""
    raise ConfigError(
        f"{name} must be a function{or_none}, not {shown(value)}; for example {name}={works}"
    )


def limit(name: str, value: Any) -> float | None:
    checked = seconds(name, value, none=True)
    if checked == 0:
        raise ConfigError(
            f"{name} must be more than 0 seconds or None, not {value!r}; for example {name}=2.0"
        )
    return checked


def one_of(name: str, value: object, words: tuple[str, ...]) -> str:
    for word in words:
        if isinstance(value, str) and value == word:
            return word
    listed = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
    raise ConfigError(
        f"{name} must be {listed}, not {shown(value)}; for example {name}={words[0]!r}"
    )


def name(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise ConfigError(
        f"name must be a text that is not empty, or None, not {shown(value)}; for example name='billing'"
    )
