"""One layer of three attempts."""

from __future__ import annotations

from typing import Any

from forbear import retry


def layer(nested: str, name: str = "layer") -> Any:
    """Make one layer of three attempts."""
    return retry(on=Exception, attempts=3, backoff=0, nested=nested, name=name)  # type: ignore[arg-type]


class Wrapped(Exception):
    """What a layer between makes of it."""
