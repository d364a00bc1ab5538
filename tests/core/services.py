"""A class with each kind of method, decorated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forbear import retry


class Oops(Exception):
    """What fails here."""


POLICY = retry(on=Oops, attempts=3, backoff=0)


class Service:
    """Each kind of method."""

    calls = 0

    @POLICY
    def method(self, value: int = 1) -> tuple[Any, int]:
        self.calls += 1
        if self.calls < 3:
            raise Oops
        return self, value

    @POLICY
    @classmethod
    def above_class(cls, value: int) -> tuple[Any, int]:
        return cls, value

    @classmethod
    @POLICY
    def below_class(cls, value: int) -> tuple[Any, int]:
        return cls, value

    @POLICY
    @staticmethod
    def above_static(value: int) -> int:
        return value

    @staticmethod
    @POLICY
    def below_static(value: int) -> int:
        return value

    @property
    @POLICY
    def value(self) -> int:
        return 5

    @POLICY
    async def amethod(self) -> Any:
        return self

    @POLICY
    def items(self) -> Iterator[Any]:
        yield self

    @POLICY
    def __call__(self) -> str:
        return "called"

    def _later(self) -> str:
        return "later"

    later = POLICY(_later)
