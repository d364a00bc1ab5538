"""
What it means to be a value: frozen, compared by its fields, readable, and the same after pickling.

Law: a value remembers nothing of those who use it, so one object may serve every call, thread, key
and process. This file must not know what the values are about. It is not `dataclasses`, because
importing that (and with it `inspect`) takes longer than importing all of forbear.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn, Self

__all__ = ["Value"]


class Value:
    """
    A frozen object that is equal to every other of its type with equal fields.

    A subclass names its fields in `__match_args__`, in the order of its constructor, and has slots
    for them. Slots beyond the fields are for what is worked out from them once: they are no part of
    what is compared, shown or pickled.

    >>> class Point(Value):
    ...     __slots__ = ("x", "y")
    ...     __match_args__ = ("x", "y")
    ...     def __init__(self, x, y=0.0):
    ...         self._set(x=x, y=y)
    >>> Point(1.0), Point(1.0) == Point(1.0, 0.0), {Point(1.0), Point(1.0)}
    (Point(x=1.0, y=0.0), True, {Point(x=1.0, y=0.0)})
    >>> Point(1.0).x = 2.0
    Traceback (most recent call last):
    ...
    AttributeError: Point is frozen, so x can't be set; make another one instead
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def _set(self, **fields: object) -> None:
        """Give the new object its fields; only constructors call this."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what the constructor is given, by position and by name, to make this value."""
        return (), {name: getattr(self, name) for name in self.__match_args__}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(_frozen(self, name, "set"))

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(_frozen(self, name, "deleted"))

    def __eq__(self, other: object) -> bool:
        # Own type only: equal numbers under another formula are another value.
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__match_args__)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__match_args__)))

    def __repr__(self) -> str:
        args, named = self._arguments()
        shown = [*map(repr, args), *(f"{name}={value!r}" for name, value in named.items())]
        return f"{type(self).__name__}({', '.join(shown)})"

    # A copy of a value is the value: there is nothing in it that one holder could change under
    # another.

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), *self._arguments()))


def _rebuild(cls: type[Value], args: tuple[Any, ...], named: dict[str, Any]) -> Value:
    # By the constructor of the class that named the fields, so that what was pickled is checked
    # again and what is worked out from the fields is worked out by the version that reads. A
    # subclass of a user's own may have a constructor of another shape; the one that was inherited
    # still knows the fields.
    shape = next(base for base in cls.__mro__ if "__match_args__" in base.__dict__)
    value = cls.__new__(cls)
    shape.__init__(value, *args, **named)  # type: ignore[misc]  # `shape` is the class that fits
    return value


def _frozen(value: Value, name: str, what: str) -> str:
    return f"{type(value).__name__} is frozen, so {name} can't be {what}; make another one instead"
