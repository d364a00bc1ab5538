"""
What importing a library costs, and what it brings along.

Law: every import is timed in an interpreter of its own, from inside, so that starting the interpreter counts for
nothing. The libraries take turns, and the fastest import counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from tempfile import TemporaryDirectory

__all__ = ["brought_along", "import_times"]

TIME = """
import time
began = time.perf_counter_ns()
import {module}
print(time.perf_counter_ns() - began)
"""
# What `site` has loaded before is not the library's doing.
LIST = """
import json, sys
before = set(sys.modules)
import {module}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def import_times(modules: list[str], runs: int) -> dict[str, float]:
    """Return the nanoseconds that importing each module takes; a module that is not there is left out."""
    best: dict[str, float] = {}
    with TemporaryDirectory() as cache:
        for module in modules:
            _python(TIME.format(module=module), cache)  # compiles
        for _ in range(runs):
            for module in modules:
                said = _python(TIME.format(module=module), cache)
                if said is not None:
                    best[module] = min(best.get(module, float("inf")), int(said))
    return best


def brought_along(module: str) -> list[str]:
    """Return the packages that importing it loads and should not: asyncio, and whatever is third-party."""
    said = _python(LIST.format(module=module))
    if said is None:
        return [f"nothing, because {module} can't be imported"]
    packages = {name.partition(".")[0] for name in json.loads(said)}
    light = (sys.stdlib_module_names | {module}) - {"asyncio"}
    return sorted(packages - light)


def _python(text: str, cache: str | None = None) -> str | None:
    """
    Run some lines in a new interpreter, and return what they print, or None if they fail.

    Args:
        text: The lines.
        cache: Where all that is imported lies compiled, also of a library that was installed without.
    """
    told = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env = told | {"PYTHONPYCACHEPREFIX": cache} if cache else None
    done = subprocess.run(
        [sys.executable, "-c", text], env=env, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else None
