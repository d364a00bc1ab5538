"""A function whose outcomes are given."""

from __future__ import annotations

from collections.abc import Callable


def failing(*outcomes: object) -> Callable[..., object]:
    """Make a function that raises or returns these, one a call; the last for ever."""
    left = list(outcomes)

    def operation(*args: object, **kwargs: object) -> object:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    return operation
