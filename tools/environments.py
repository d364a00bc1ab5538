"""
Virtual environments for the project's verbs: found, made once, kept until what they are made from changes.

Law: the standard library alone, on any Python the project supports, because this runs before anything is
installed. Versions come from constraints.txt and nothing is installed around it.

    python tools/environments.py .venv demo check        # make or complete a development environment
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
BUILD_TOOLS = ["hatchling", "editables"]

_ASK = """
import ensurepip, sys, venv
assert sys.implementation.name == "cpython"
print(*sys.version_info[:2], sep=".")
print(getattr(sys, "_base_executable", sys.executable))  # not a virtual environment's, which may go away
"""


def project() -> dict[str, Any]:
    """Return what pyproject.toml says of the package: its needs, not the settings of tools."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {"build-system": tables["build-system"], "project": tables["project"]}


def versions() -> list[str]:
    """Return the Python versions that the package promises, by its classifiers: `3.11` and so on."""
    told = project()["project"]["classifiers"]
    last = [line.rpartition(" ")[2] for line in told if "Python :: 3." in line]
    return sorted(last, key=lambda version: int(version.partition(".")[2]))


def find_pythons() -> dict[str, str]:
    """
    Return the promised versions that are installed here, each with its interpreter.

    The first one found of a version wins: on the PATH, then among pyenv's, the newest first. What can't make a
    virtual environment (a pyenv shim without its version, a Python without ensurepip) is passed over.
    """
    wanted = versions()
    names = ["python3", "python", *(f"python{version}" for version in wanted)]
    candidates = [sys.executable, *filter(None, map(shutil.which, names))]
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in wanted:
        patches = kept.glob(f"{version}.*/bin/python")
        candidates += map(str, sorted(patches, key=_patch, reverse=True))
    found: dict[str, str] = {}
    for candidate in dict.fromkeys(candidates):
        answer = subprocess.run(  # noqa: PLW1510 (a failure is an answer)
            [candidate, "-c", _ASK], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        version, _, executable = answer.stdout.strip().partition("\n")
        if answer.returncode == 0 and version in wanted:
            found.setdefault(version, executable)
    return {version: found[version] for version in wanted if version in found}


def _patch(python: Path) -> list[int]:
    version = python.parents[1].name
    return [int(part) if part.isdecimal() else 0 for part in version.split(".")]


def chosen(found: dict[str, str]) -> list[str]:
    """Return the versions that a verb is for: those that PY names, else all that are found."""
    asked = os.environ.get("PY", "").replace(",", " ").split()
    missing = [version for version in asked if version not in found]
    if missing:
        here = ", ".join(found) or "none"
        sys.exit(
            f"PY={' '.join(asked)}: no Python {', '.join(missing)} found here to test on; found: {here}"
        )
    if not found:
        sys.exit(f"no Python of {', '.join(versions())} found on the PATH or among pyenv's")
    return asked or list(found)


def python_of(folder: Path) -> str:
    """Return the interpreter of an environment."""
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def make(
    folder: Path,
    base: str,
    extras: list[str],
    *,
    listed: Path | None = None,
    editable: bool = False,
) -> bool:
    """
    Make an environment with these extras, or complete it; true if there was something to do.

    It is made afresh when pyproject.toml's needs, constraints.txt, the interpreter or its own place have changed: so
    it always is what the files say, and nothing lingers. Settings of tools and descriptions don't matter to it.

    Args:
        folder: Where.
        base: The interpreter to make it from.
        extras: Extras of the package. Those that are there stay, also when it is made afresh.
        listed: A file of further requirements.
        editable: Install the package too, as the source tree.
    """
    stamp = folder / "forbear-made.json"
    more = ["-r", str(listed)] if listed else []
    key = _key(str(folder), base, editable, listed and listed.read_text(encoding="utf-8"))
    try:
        made = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        made = {}
    kept = made.get("key") == key
    there = set(made.get("extras", [])) & set(project()["project"]["optional-dependencies"])
    if kept and set(extras) <= there:
        return False
    if not kept:
        run([base, "-m", "venv", "--clear", str(folder)])
    wanted = sorted(there | set(extras))
    python = python_of(folder)
    pip(python, "-c", str(CONSTRAINTS), *BUILD_TOOLS, *requirements(wanted), *more)
    if editable and not kept:
        pip(python, "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    stamp.write_text(json.dumps({"key": key, "extras": wanted}), encoding="utf-8")
    return True


def _key(*more: object) -> str:
    told = project()
    about = {"description", "keywords", "classifiers", "authors", "readme", "license"}
    told["project"] = {name: value for name, value in told["project"].items() if name not in about}
    needs = told, CONSTRAINTS.read_text(encoding="utf-8"), more
    return hashlib.sha256(json.dumps(needs, sort_keys=True).encode()).hexdigest()


def requirements(extras: list[str]) -> list[str]:
    """Return what the extras ask for, without the package itself."""
    told = project()["project"]["optional-dependencies"]
    return sorted({requirement for extra in extras for requirement in told[extra]})


def build_wheel() -> Path:
    """Build the wheel, with the build tools of the development environment."""
    folder = ROOT / ".venvs" / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    run([python_of(ROOT / ".venv"), "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)])
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> bool:
    """Put the wheel into an environment; true unless the very same was there."""
    stamp = folder / "forbear-wheel"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return False
    pip(python_of(folder), "--no-deps", "--force-reinstall", str(wheel))
    stamp.write_text(digest, encoding="utf-8")
    return True


def pip(python: str, *arguments: str) -> None:
    """Install with an environment's own pip."""
    run(
        [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-input",
            *arguments,
        ]
    )


def run(command: list[str]) -> None:
    """Run a command of which nobody wants to hear, unless it fails."""
    done = subprocess.run(  # noqa: PLW1510 (it is checked below, with all it said)
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\nended with code {done.returncode}")


def main() -> None:
    """Make the environment that the command line asks for, from the Python that runs this."""
    parser = argparse.ArgumentParser(description="Make or complete a development environment.")
    parser.add_argument("folder", help="where, from the top of the repository: .venv")
    parser.add_argument("extras", nargs="*", help="extras of the package: check, demo, docs, test")
    told = parser.parse_args()
    what = ", ".join(told.extras) or "building"
    version = sys.version.split()[0]
    base = getattr(sys, "_base_executable", sys.executable)
    print(f"-- {told.folder}: Python {version}, for {what} ...", end=" ", flush=True)
    made = make(ROOT / told.folder, base, told.extras, editable=True)
    # What an installer does for a wheel: with PYTHONDONTWRITEBYTECODE the tree would be compiled at each import.
    run([python_of(ROOT / told.folder), "-m", "compileall", "-q", str(ROOT / "src")])
    print("made" if made else "is there", flush=True)


if __name__ == "__main__":
    main()
