"""
What a policy says: its parameters, checked, and how it matches what happened.

Law: rules are a value. They have no clock, draw no chance, remember nothing of a call, and wait for nobody;
one object serves every call, thread and process. The parameter list is written here once; everything else is
handed the rules. What one call remembers is in `_run.py`.
"""

from __future__ import annotations

from . import _checks
from ._by_type import DEFAULT, ByType
from ._duration import count, number, seconds, shown
from ._groups import leaves, names_group
from ._hints import asks_again
from ._notes import describe as default_describe
from .backoff import Constant, as_backoff

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import timedelta
    from typing import Any, Literal, Self

    from ._events import Event
    from ._protocols import Backoff

    Match = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]
    Hook = Callable[[Event], Awaitable[object] | object]

__all__ = ["Rules"]

NESTED = ("warn", "stop", "allow")
HOOK = "lambda event: print(event.attempt, event.error)"  # one that works

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


_AT_ONCE = Constant(0)


class Rules:
    """The parameters of a policy, checked; what they mean is told by `Policy`."""

    __slots__ = (
        *FIELDS,
        "__weakref__",
        "_asks_giveup",
        "_asks_on",
        "_giveup_types",
        "_on_types",
        "_plain_backoff",
        "at_once",
    )

    def __init__(
        self,
        on: Match,
        *,
        giveup: Match | None = None,
        on_result: Callable[[Any], object] | None = None,
        attempts: int | None = 5,
        total_timeout: float | timedelta | None = None,
        attempt_timeout: float | timedelta | None = None,
        backoff: Backoff
        | float
        | timedelta
        | Mapping[type[Exception], Backoff | float | timedelta] = DEFAULT,
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
        # A copy of the dict: dicts change.
        table = ByType(dict(backoff)) if isinstance(backoff, dict) else backoff
        checked = {
            "on": on,
            "_on_types": _checks.match("on", on),
            "_asks_on": on,
            "giveup": giveup,
            "_giveup_types": None if giveup is None else _checks.match("giveup", giveup),
            "_asks_giveup": giveup,
            "on_result": _checks.plain(
                "on_result", on_result, "lambda response: response.status == 503"
            ),
            "attempts": count("attempts", attempts, none=True),
            "total_timeout": seconds("total_timeout", total_timeout, none=True),
            "attempt_timeout": _checks.limit("attempt_timeout", attempt_timeout),
            "backoff": table if isinstance(table, ByType) else as_backoff("backoff", table),
            "hint": _checks.plain("hint", hint, "lambda error: error.headers.get('x-wait')"),
            "hint_jitter": number("hint_jitter", hint_jitter, low=0.0, high=1.0),
            "max_hint": seconds("max_hint", max_hint, none=True),
            "nested": _checks.one_of("nested", nested, NESTED),
            "name": _checks.name(name),
            "describe": _checks.plain(
                "describe", describe, "lambda error: type(error).__name__", none=False
            ),
            "on_retry": _checks.function("on_retry", on_retry, HOOK),
            "on_giveup": _checks.function("on_giveup", on_giveup, HOOK),
            "on_success": _checks.function("on_success", on_success, HOOK),
        }
        checked["_plain_backoff"] = None if isinstance(table, ByType) else checked["backoff"]
        for field, value in checked.items():
            object.__setattr__(self, field, value)
        object.__setattr__(self, "at_once", self._at_once())

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
        # `on` and `giveup` again, as the predicates they are where types are None.
        _asks_on: Callable[[Exception], object]
        _asks_giveup: Callable[[Exception], object]
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
        return self._key() == other._key() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a policy is frozen; make another one with policy.replace({name}=...)"
        )

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

        A group is matched if its type is named, or if each leaf is matched and none is a giveup. In a group a
        RetryAfter speaks for its own leaf, and as the group's cause for all.
        """
        if isinstance(error, BaseExceptionGroup):
            return self._matches_group(error)
        return self._on(error) and not self.gives_up(error)

    def _on(self, error: Exception) -> bool:
        if self._on_types is not None:
            return isinstance(error, self._on_types)
        return bool(self._asks_on(error))

    def gives_up(self, error: Exception) -> bool:
        """Tell whether `giveup` wins over a failure that counts as matched."""
        if self.giveup is None:
            return False
        if self._giveup_types is not None:
            return isinstance(error, self._giveup_types)
        return bool(self._asks_giveup(error))

    def _matches_group(self, group: BaseExceptionGroup[BaseException]) -> bool:
        assert isinstance(group, Exception)  # noqa: S101 (others are not even caught)
        if names_group(self._giveup_types, group):
            return False
        named = names_group(self._on_types, group)
        if named:
            return not self.gives_up(group)
        # A predicate may say yes to the group itself; and so does its cause, if it asks to try again.
        whole = named is None and self._on(group) and not self.gives_up(group)
        whole = whole or (group.__cause__ is not None and asks_again(group.__cause__))
        return all(
            isinstance(leaf, Exception)
            and (whole or self._on(leaf) or asks_again(leaf))
            and not self.gives_up(leaf)
            for leaf in leaves(group)
        )

    def backoff_for(self, error: BaseException | None) -> Backoff:
        """Return the backoff that says how long to wait after this failure."""
        if self._plain_backoff is not None:
            return self._plain_backoff
        assert isinstance(self.backoff, ByType)  # noqa: S101
        return self.backoff.pick(error)


# What Python says of a missing or unknown parameter names the function, and users know only this class.
Rules.__init__.__qualname__ = "Policy.__init__"


def _rebuild(cls: type[Rules], given: dict[str, Any]) -> Rules:
    return cls(**given)


def _shown(value: object) -> str:
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, tuple):
        inner = ", ".join(map(_shown, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return getattr(value, "__qualname__", None) or shown(value)
