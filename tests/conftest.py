"""What holds for every test."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import settings

# How fast an example runs says something about the machine and its neighbours, nothing about the rule. Where nobody
# looks at a single run, every run tries the same examples; elsewhere each tries new ones.
settings.register_profile("forbear", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("forbear")


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name a case by its value, without addresses: tests run side by side must have the same names everywhere."""
    if isinstance(val, (str, int, float, bool, type(None))):
        return None
    return re.sub(r" at 0x[0-9a-fA-F]+", "", f"{val!r:.80}")
