"""
What an exception group is made of.

Law: a group is judged by its leaves. This file looks, and knows nobody's rules.
"""

from __future__ import annotations

from .errors import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["holds_never", "leaves", "names_group"]


def names_group(
    types: tuple[type[Exception], ...] | None, group: BaseExceptionGroup[BaseException]
) -> bool | None:
    """Tell whether one of the types is a type of group that this is; None where a predicate must be asked."""
    if types is None:
        return None
    return any(issubclass(kind, BaseExceptionGroup) and isinstance(group, kind) for kind in types)


def holds_never(error: BaseException) -> bool:
    """Tell whether a group has a member that is never caught."""
    return isinstance(error, BaseExceptionGroup) and any(
        isinstance(leaf, NEVER) for leaf in leaves(error)
    )


def leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Yield the members that are no groups themselves, of all depths."""
    todo: list[BaseException] = [group]
    while todo:
        part = todo.pop()
        if isinstance(part, BaseExceptionGroup):
            todo.extend(part.exceptions)
        else:
            yield part
