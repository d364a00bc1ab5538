"""Errors that do all that an error should not do to who looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Oops(Exception):
    """What fails here."""


class Unshowable:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError


class NoText(Oops):
    """Its str raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class NotAText(Oops):
    """Its str is no text."""

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307 (that is the case)


class NoNote(Oops):
    """It takes no note."""

    def add_note(self, note: str) -> None:
        raise RuntimeError("no notes")


class Frozen(Oops):
    """It takes no attribute."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("frozen")


class Slotted(Oops):
    """It has slots; as every exception, it has a dict beside them."""

    __slots__ = ("field",)


class BadNotes(Oops):
    """Its notes are no list."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.__notes__ = "text"


class BadHint(Oops):
    """Reading its hint raises."""

    @property
    def retry_after(self) -> float:
        raise RuntimeError("no hint")


class EvilGetattr(Oops):
    """Every unknown attribute raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class Unequal(Oops):
    """It can't be compared, hashed or tested for truth."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


class EvilText(str):
    """A text that raises at whatever is done to it."""

    __slots__ = ()

    def evil(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError("no text either")

    __len__ = __getitem__ = __iter__ = __contains__ = __add__ = split = isprintable = evil
    __str__ = __repr__ = __format__ = __eq__ = __hash__ = evil


class EvilStr(Oops):
    """Its str is such a text."""

    def __str__(self) -> str:
        return EvilText("evil")


class NoArgs(Oops):
    """Its arguments can't be had."""

    @property
    def args(self) -> Any:
        raise RuntimeError("no arguments")

    @args.setter
    def args(self, value: object) -> None:
        raise RuntimeError("no arguments")


class Endless(Oops):
    """Its str never comes back."""

    def __str__(self) -> str:
        return str(self)


class EvilHint(Oops):
    """Its hint can't be read as a number."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.retry_after = EvilNumber()


class EvilNumber:
    """No number, and it raises when it is asked to be one."""

    def __float__(self) -> float:
        raise RuntimeError("no number")

    total_seconds = __index__ = __bool__ = __float__


class LockedNotes(Oops):
    """Its notes can be neither had nor given."""

    @property
    def __notes__(self) -> Any:
        raise RuntimeError("no notes")


class Nameless(Oops):
    """Its class has a name that is no line."""


Nameless.__name__ = "two\nlines" * 100


def cyclic() -> Exception:
    """Make an error whose causes and contexts point at each other."""
    first, second = Oops("first"), Oops("second")
    first.__cause__, second.__cause__ = second, first
    first.__context__, second.__context__ = second, first
    return first


def deep() -> Exception:
    """Make an error with ten thousand causes."""
    error = Oops("bottom")
    for _ in range(10_000):
        outer = Oops("outer")
        outer.__cause__ = error
        error = outer
    return error


def deep_group() -> Exception:
    """Make a group in a group in a group ..."""
    error: Exception = Oops("bottom")
    for _ in range(500):
        error = ExceptionGroup("g", [error])
    return error


MISBEHAVING: list[Callable[[], Exception]] = [
    lambda: NoText("x"),
    lambda: NotAText("x"),
    lambda: NoNote("x"),
    lambda: Frozen("x"),
    lambda: Slotted("x"),
    lambda: BadNotes("x"),
    lambda: BadHint("x"),
    lambda: EvilGetattr("x"),
    lambda: Unequal("x"),
    lambda: EvilStr("x"),
    NoArgs,
    lambda: Endless("x"),
    lambda: EvilHint("x"),
    lambda: LockedNotes("x"),
    lambda: Nameless("x"),
    lambda: Oops(EvilText("x")),
    lambda: Oops(NoText("inside")),
    lambda: Oops(Unshowable()),
    cyclic,
    deep,
    deep_group,
    lambda: ExceptionGroup("wide", [Oops(n) for n in range(5000)]),
]
IDS = [
    "NoText",
    "NotAText",
    "NoNote",
    "Frozen",
    "Slotted",
    "BadNotes",
    "BadHint",
    "EvilGetattr",
    "Unequal",
    "EvilStr",
    "NoArgs",
    "Endless",
    "EvilHint",
    "LockedNotes",
    "Nameless",
    "Oops-EvilText",
    "Oops-NoText",
    "Oops-Unshowable",
    "cyclic",
    "deep",
    "deep-group",
    "wide-group",
]
