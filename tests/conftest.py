"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import settings

# How fast an example runs says something about the machine and its neighbours, nothing about the rule. Where nobody
# looks at a single run, every run tries the same examples; elsewhere each tries new ones.
settings.register_profile("forbear", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("forbear")
