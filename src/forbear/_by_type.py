"""
A backoff for each type of exception.

Law: a table and nothing else; which type wins is told by the error's own order of classes.
"""

from __future__ import annotations

from ._duration import shown
from ._groups import leaves
from .backoff import Exponential, as_backoff, max_of
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta
    from typing import Any

    from ._protocols import Backoff

__all__ = ["DEFAULT", "ByType"]

# What waits where a policy says nothing, and where a table has no line for a failure.
DEFAULT = Exponential()


class ByType:
    """
    A backoff for each type of exception; the most special type wins.

    A failure of no type named here (a failed result, say) waits by `Exponential()`, the policy's own default.
    A group waits as long as the longest of its members.
    """

    __slots__ = ("_table",)

    def __init__(self, table: Mapping[type[Exception], Backoff | float | timedelta]) -> None:
        if not table:
            raise ConfigError(
                "backoff must name at least one type, not {}; for example {ConnectionError: 1.0}"
            )
        for kind in table:
            key: object = kind  # as it may come from who has no type checker
            if not (isinstance(key, type) and issubclass(key, Exception)):
                raise ConfigError(
                    f"backoff must have exception types as keys, not {shown(key)}; "
                    "for example {ConnectionError: Exponential(), TimeoutError: 5.0}"
                )
        self._table = {
            kind: as_backoff(f"backoff[{kind.__name__}]", b) for kind, b in table.items()
        }

    def pick(self, error: BaseException | None) -> Backoff:
        """Return the backoff of the most special type that the error has; of a group, its members' longest."""
        for kind in type(error).__mro__:
            found = self._table.get(kind)
            # A group is an Exception, but who writes `Exception:` means what no other line is for.
            if found is not None and (
                kind is not Exception or not isinstance(error, BaseExceptionGroup)
            ):
                return found
        if isinstance(error, BaseExceptionGroup):
            ours: list[Backoff] = []  # no set: a backoff of somebody's own need not be hashable
            for leaf in leaves(error):
                backoff = self.pick(leaf)
                if backoff not in ours:
                    ours.append(backoff)
            return ours[0] if len(ours) == 1 else max_of(*ours)
        return DEFAULT

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
