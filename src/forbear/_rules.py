"""
What a policy says: its parameters, checked, and how it matches what happened.

Law: rules are a value. They have no clock, draw no chance, remember nothing of a call, and wait for nobody;
one object serves every call, thread and process. The parameter list is written here once; everything else is
handed the rules. What one call remembers is in `_run.py`.
"""

from __future__ import annotations

from ._duration import count, number, seconds
from ._notes import describe as default_describe
from .backoff import Constant, Exponential, as_backoff, max_of
from .errors import Cancelled, ConfigError, LeaseLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping
    from datetime import timedelta
    from typing import Any, Literal, Self

    from ._events import Event
    from ._protocols import Backoff

    Types = type[Exception] | tuple[type[Exception], ...]
    Match = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
    Hook = Callable[[Event], Awaitable[object] | object]

__all__ = ["NEVER", "ByType", "Rules", "holds_never"]

# Never caught, whatever `on` says. What stands outside Exception (KeyboardInterrupt, CancelledError ...) is
# not even seen.
NEVER = (Cancelled, LeaseLost, ConfigError)

NESTED = ("warn", "stop", "allow")

FIELDS = (
    "on",
    "giveup",
    "on_result",
    "attempts",
    "total_timeout",
    "attempt_timeout",
    "backoff",
    "hint",
    "hint_jitter",
    "max_hint",
    "nested",
    "name",
    "describe",
    "on_retry",
    "on_giveup",
    "on_success",
)

_CODE_ASYNC_OR_GENERATOR = 0x80 | 0x20 | 0x200  # CO_COROUTINE, CO_GENERATOR, CO_ASYNC_GENERATOR
_HAS_VARARGS = 0x04


def retry_after_of(error_or_result: object) -> object:
    """
    Read the hint that an error carries in its `retry_after` attribute; the default of `hint`.

    Results are not looked at: only a `hint` of the user's own does that.
    """
    if not isinstance(error_or_result, BaseException):
        return None
    try:
        return getattr(error_or_result, "retry_after", None)
    except Exception:  # noqa: BLE001 (a property of somebody else's error may raise anything)
        return None


class ByType:
    """
    A backoff for each type of exception; the most special type wins.

    A failure of no type named here (a failed result, say) waits by `Exponential()`, the policy's own default.
    A group waits as long as the longest of its members.
    """

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[type[Exception], Backoff | float | timedelta]) -> None:
        if not table:
            raise ConfigError("backoff must name at least one type, not {}; for example {ConnectionError: 1.0}")
        for kind in table:
            if not (isinstance(kind, type) and issubclass(kind, Exception)):
                raise ConfigError(
                    f"backoff must have exception types as keys, not {_short(kind)}; "
                    "for example {ConnectionError: Exponential(), TimeoutError: 5.0}"
                )
        self._table = {kind: as_backoff(f"backoff[{kind.__name__}]", b) for kind, b in table.items()}

    def pick(self, error: BaseException | None) -> Backoff:
        """Return the backoff of the most special type that the error has; of a group, its members' longest."""
        for kind in type(error).__mro__:
            found = self._table.get(kind)
            # A group is an Exception, but who writes `Exception:` means what no other line is for.
            if found is not None and (kind is not Exception or not isinstance(error, BaseExceptionGroup)):
                return found
        if isinstance(error, BaseExceptionGroup):
            ours = {self.pick(leaf) for leaf in _leaves(error)}
            return ours.pop() if len(ours) == 1 else max_of(*ours)
        return _DEFAULT_BACKOFF

    def items(self) -> Iterator[tuple[type[Exception], Backoff]]:
        """Yield the types and their backoffs, in the order given."""
        return iter(self._table.items())

    def __eq__(self, other: object) -> bool:
        return self._table == other._table if isinstance(other, ByType) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._table.items()))

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{kind.__name__}: {b!r}" for kind, b in self._table.items()) + "}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (ByType, (self._table,))


_DEFAULT_BACKOFF = Exponential()
_AT_ONCE = Constant(0)


class Rules:
    """The parameters of a policy, checked; what they mean is told by `Policy`."""

    __slots__ = (*FIELDS, "__weakref__", "_giveup_types", "_on_types", "_plain_backoff", "at_once")

    def __init__(
        self,
        on: Match,
        *,
        giveup: Match | None = None,
        on_result: Callable[[Any], object] | None = None,
        attempts: int | None = 5,
        total_timeout: float | timedelta | None = None,
        attempt_timeout: float | timedelta | None = None,
        backoff: Backoff | float | timedelta | Mapping[type[Exception], Backoff | float | timedelta] = _DEFAULT_BACKOFF,
        hint: Callable[[Any], object] | None = retry_after_of,
        hint_jitter: float = 0.5,
        max_hint: float | timedelta | None = 300.0,
        nested: Literal["warn", "stop", "allow"] = "warn",
        name: str | None = None,
        describe: Callable[[BaseException], object] = default_describe,
        on_retry: Hook | None = None,
        on_giveup: Hook | None = None,
        on_success: Hook | None = None,
    ) -> None:
        give = object.__setattr__
        give(self, "on", on)
        give(self, "_on_types", _match("on", on))
        give(self, "giveup", giveup)
        give(self, "_giveup_types", None if giveup is None else _match("giveup", giveup))
        give(self, "on_result", _callable("on_result", on_result, "lambda response: response.status == 503"))
        give(self, "attempts", count("attempts", attempts, none=True))
        give(self, "total_timeout", seconds("total_timeout", total_timeout, none=True))
        give(self, "attempt_timeout", _limit("attempt_timeout", attempt_timeout))
        table = ByType(dict(backoff)) if isinstance(backoff, dict) else backoff  # a copy: dicts change
        give(self, "backoff", table if isinstance(table, ByType) else as_backoff("backoff", table))
        give(self, "_plain_backoff", None if isinstance(table, ByType) else self.backoff)
        give(self, "hint", _callable("hint", hint, "lambda error: error.headers.get('x-wait')"))
        give(self, "hint_jitter", number("hint_jitter", hint_jitter, low=0.0, high=1.0))
        give(self, "max_hint", seconds("max_hint", max_hint, none=True))
        give(self, "nested", _one_of("nested", nested, NESTED))
        give(self, "name", _name(name))
        give(self, "describe", _callable("describe", describe, "lambda error: type(error).__name__", none=False))
        for hook, value in (("on_retry", on_retry), ("on_giveup", on_giveup), ("on_success", on_success)):
            give(self, hook, _callable(hook, value, "lambda event: print(event.attempt, event.error)"))
        give(self, "at_once", self._at_once())

    if TYPE_CHECKING:
        # Set through object.__setattr__, so that nobody else can.
        on: Match
        giveup: Match | None
        on_result: Callable[[Any], object] | None
        attempts: int | None
        total_timeout: float | None
        attempt_timeout: float | None
        backoff: Backoff | ByType
        hint: Callable[[Any], object] | None
        hint_jitter: float
        max_hint: float | None
        nested: str
        name: str | None
        describe: Callable[[BaseException], object]
        on_retry: Hook | None
        on_giveup: Hook | None
        on_success: Hook | None
        _on_types: tuple[type[Exception], ...] | None
        _giveup_types: tuple[type[Exception], ...] | None
        _plain_backoff: Backoff | None
        at_once: bool

    def _at_once(self) -> bool:
        """Tell whether types alone decide, nobody is asked or told, and nothing is waited for."""
        return (
            self._on_types is not None
            and (self.giveup is None or self._giveup_types is not None)
            and self.backoff == _AT_ONCE
            and self.hint is retry_after_of
            and self.describe is default_describe
            and self.on_retry is None
        )

    def replace(self, **changes: Any) -> Self:
        """
        Return another policy with these parameters changed.

        >>> from forbear import retry
        >>> retry(on=OSError, attempts=5).replace(attempts=3).attempts
        3
        """
        return type(self)(**{**self._given(), **changes})

    def _given(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in FIELDS}

    # -- a value: compared, hashed, copied, pickled and shown as its parameters

    def _key(self) -> tuple[object, ...]:
        def as_set(types: tuple[type[Exception], ...] | None, given: object) -> object:
            return given if types is None else frozenset(types)

        rest = tuple(getattr(self, field) for field in FIELDS[2:])
        return (as_set(self._on_types, self.on), as_set(self._giveup_types, self.giveup), *rest)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if type(other) is type(self) else NotImplemented  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._key())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a policy is frozen; make another one with policy.replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a policy is frozen; {name} can't be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._given()))

    def __copy__(self) -> Self:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        shown = [f"on={_shown(self.on)}"]
        plain = Rules.__init__.__kwdefaults__ or {}
        for field in FIELDS[1:]:
            value = getattr(self, field)
            if value is not plain[field] and value != plain[field]:
                shown.append(f"{field}={_shown(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    # -- matching

    def matches(self, error: Exception) -> bool:
        """
        Tell whether `on` says to retry this error and `giveup` doesn't object.

        A group is matched if its type is named, or if each leaf is matched and none is a giveup.
        """
        if isinstance(error, BaseExceptionGroup):
            return self._matches_group(error)
        return self._on(error) and not self.gives_up(error)

    def _on(self, error: Exception) -> bool:
        if self._on_types is not None:
            return isinstance(error, self._on_types)
        return bool(self.on(error))  # type: ignore[operator,call-arg]

    def gives_up(self, error: Exception) -> bool:
        """Tell whether `giveup` wins over a failure that counts as matched."""
        if self.giveup is None:
            return False
        if self._giveup_types is not None:
            return isinstance(error, self._giveup_types)
        return bool(self.giveup(error))  # type: ignore[operator,call-arg]

    def _matches_group(self, group: BaseExceptionGroup[BaseException]) -> bool:
        assert isinstance(group, Exception)  # noqa: S101 (others are not even caught)
        leaves = list(_leaves(group))
        named = _names_group(self._on_types, group)
        if (self._on(group) if named is None else named) and not self.gives_up(group):
            return True
        if _names_group(self._giveup_types, group):
            return False
        return all(isinstance(leaf, Exception) and self._on(leaf) and not self.gives_up(leaf) for leaf in leaves)

    def backoff_for(self, error: BaseException | None) -> Backoff:
        """Return the backoff that says how long to wait after this failure."""
        if self._plain_backoff is not None:
            return self._plain_backoff
        assert isinstance(self.backoff, ByType)  # noqa: S101
        return self.backoff.pick(error)


def _rebuild(cls: type[Rules], given: dict[str, Any]) -> Rules:
    return cls(**given)


def _names_group(types: tuple[type[Exception], ...] | None, group: BaseExceptionGroup[BaseException]) -> bool | None:
    """Tell whether one of the types is a type of group that this is; None where a predicate must be asked."""
    if types is None:
        return None
    return any(issubclass(kind, BaseExceptionGroup) and isinstance(group, kind) for kind in types)


def holds_never(error: BaseException) -> bool:
    """Tell whether a group has a member that is never caught."""
    return isinstance(error, BaseExceptionGroup) and any(isinstance(leaf, NEVER) for leaf in _leaves(error))


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    todo: list[BaseException] = [group]
    while todo:
        part = todo.pop()
        if isinstance(part, BaseExceptionGroup):
            todo.extend(part.exceptions)
        else:
            yield part


# -- checks of what is handed over


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (a message must come out whatever the value does)
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."


def _match(name: str, value: object) -> tuple[type[Exception], ...] | None:
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
        raise ConfigError(f"{name} must be an exception type, a tuple of them or a predicate, not {_short(value)}; {works}")
    _check_predicate(name, value, works)
    return None


def _check_type(name: str, kind: object, works: str) -> None:
    if not isinstance(kind, type):
        raise ConfigError(f"{name} must name exception types, not {_short(kind)}; {works}")
    if not issubclass(kind, BaseException):
        raise ConfigError(f"{name} must name exception types, not the class {kind.__name__}; {works}")
    if not issubclass(kind, Exception):
        raise ConfigError(
            f"{name} must name types inside Exception, not {kind.__name__}: a cancellation or an exit is no "
            f"failure and is never retried; {works}"
        )
    if issubclass(kind, NEVER):
        raise ConfigError(f"{name} must not name {kind.__name__}: it is never retried, whatever {name} says; {works}")


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
    label = getattr(value, "__qualname__", _short(value))
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


def _callable(name: str, value: Any, works: str, *, none: bool = True) -> Any:
    if (value is None and none) or (callable(value) and not isinstance(value, type)):
        return value
    or_none = " or None" if none else ""
    raise ConfigError(f"{name} must be a function{or_none}, not {_short(value)}; for example {name}={works}")


def _limit(name: str, value: Any) -> float | None:
    checked = seconds(name, value, none=True)
    if checked == 0:
        raise ConfigError(f"{name} must be more than 0 seconds or None, not {value!r}; for example {name}=2.0")
    return checked


def _one_of(name: str, value: object, words: tuple[str, ...]) -> str:
    for word in words:
        if isinstance(value, str) and value == word:
            return word
    listed = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
    raise ConfigError(f"{name} must be {listed}, not {_short(value)}; for example {name}={words[0]!r}")


def _name(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise ConfigError(f"name must be a text that is not empty, or None, not {_short(value)}; for example name='billing'")


def _shown(value: object) -> str:
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, tuple):
        inner = ", ".join(map(_shown, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return getattr(value, "__qualname__", None) or _short(value)
