"""One failing call to be, to which conditions are added, and which step of the decision has ended it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import forbear
from forbear import Cancelled, Constant, retry
from forbear.testing import virtual_time


class Oops(Exception):
    """The error that the policies here retry."""


@dataclass
class Setting:
    """One failing call to be, to which conditions are added."""

    error: Exception = field(default_factory=lambda: Oops("e"))
    policy: dict[str, Any] = field(
        default_factory=lambda: {
            "on": Oops,
            "name": "outer",
            "attempts": 2,
            "backoff": Constant(1),
            "hint_jitter": 0,
        }
    )
    cancelled: bool = False
    nested: bool = False


def outcome(setting: Setting) -> str:
    """Play it, and say which step has decided; "waits" if trying went on."""

    def operation() -> None:
        raise setting.error

    @retry(**setting.policy)
    def outer() -> None:
        if setting.nested:
            retry(on=Exception, attempts=1, name="inner").call(operation)
        operation()

    with virtual_time() as clock, forbear.scope() as scope:
        if setting.cancelled:
            scope.cancel("from outside")
        try:
            outer()
        except Exception as error:
            if clock.waits:
                return "waits"
            if isinstance(error, Cancelled):
                return "never" if error is setting.error else "cancelled"
            ours = [
                note
                for note in getattr(error, "__notes__", [])
                if note.startswith("forbear: outer ")
            ]
            return ours[0].split("(")[1].split(":")[0] if ours else "passes"
    raise AssertionError("it has not failed")


def failing(*errors: BaseException) -> Callable[[], str]:
    """Make a function that raises these, one after another, then returns."""
    left = list(errors)

    def operation() -> str:
        if left:
            raise left.pop(0)
        return "well"

    return operation


class Hinting(Oops):
    """An error with a hint."""

    def __init__(self, retry_after: object) -> None:
        super().__init__("e")
        self.retry_after = retry_after
