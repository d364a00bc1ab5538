"""The house: how files look, what each must say at its top, and what none may say."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import forbear

from pages import ROOT

HOME = Path(forbear.__file__).parent
SOURCE = sorted(HOME.rglob("*.py"))
SCRIPTS = [
    file
    for folder in ("tools", "benchmarks", "examples")
    for file in sorted(ROOT.glob(f"{folder}/*.py"))
]
TESTS = sorted(ROOT.glob("tests/**/test_*.py"))

MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 40  # without its docstring

# A longer one says here why it is better so.
LONG_FUNCTIONS = {
    "_rules.__init__": "the parameter list of a policy and its checks, once and in one place",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(file: Path) -> list[Function]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def lines(function: Function) -> int:
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    of_docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - of_docstring


def where(file: Path) -> str:
    return str(file.relative_to(HOME.parent if HOME in file.parents else ROOT))


@pytest.mark.parametrize("file", SOURCE, ids=where)
def test_a_file_opens_with_its_law(file: Path) -> None:
    """A file of the package says at its top what lives there, and what it must do or must not know."""
    told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert re.search(r"^Law: [A-Za-z`]", told, re.MULTILINE), "no paragraph that begins with `Law:`"


@pytest.mark.parametrize("file", SCRIPTS, ids=where)
def test_a_script_says_what_it_is_for(file: Path) -> None:
    """A script opens with a docstring, so that its first line tells a reader whether to read on."""
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("file", [*SOURCE, *SCRIPTS], ids=where)
def test_files_are_short(file: Path) -> None:
    """No file of the package or of its tools has more than 400 lines."""
    assert MOST_LINES >= len(file.read_text(encoding="utf-8").splitlines())


def test_functions_are_short() -> None:
    """No function has more than 40 lines, its docstring not counted, but those that say here why."""
    long = {
        f"{file.stem}.{function.name}"
        for file in [*SOURCE, *SCRIPTS]
        for function in functions(file)
        if lines(function) > MOST_LINES_OF_A_FUNCTION
    }
    assert set(LONG_FUNCTIONS) == long


@pytest.mark.parametrize("file", sorted(ROOT.glob("examples/*.py")), ids=where)
def test_examples_are_short(file: Path) -> None:
    """An example fits on a screen: at most 30 lines, blank ones not counted."""
    assert 30 >= sum(1 for line in file.read_text(encoding="utf-8").splitlines() if line.strip())


@pytest.mark.parametrize("file", TESTS, ids=where)
def test_a_test_says_its_rule(file: Path) -> None:
    """Each test states in a sentence the rule it checks, and no two of a file have the same name."""
    assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    tests = [function for function in functions(file) if function.name.startswith("test_")]
    assert [] == [test.name for test in tests if not (ast.get_docstring(test) or "").endswith(".")]
    assert len(tests) == len({test.name for test in tests})


# -- what no file may say


def tracked() -> list[Path]:
    """Return the files of the repository: what git knows, or everything where there is no git."""
    answer = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if answer.returncode == 0:
        return [
            ROOT / name for name in answer.stdout.split("\0") if name and (ROOT / name).is_file()
        ]
    made = {"docs/_build", "dist", "build"}
    return [
        file
        for file in ROOT.rglob("*")
        if file.is_file()
        and not any(
            part.startswith(".") or part == "__pycache__" for part in file.relative_to(ROOT).parts
        )
        and not any(file.is_relative_to(ROOT / folder) for folder in made)
    ]


# The words are put together here, so that this file doesn't say them either.
MUST_NOT_SAY = {
    "a folder of some machine": r"(?<![\w.:/~}])/(?:home|root|Users|work|workspace|mnt|srv|builds)/\w",
    "an index of packages": r"files\.python" + r"hosted\.org|py" + r"pi\.org/simple",
    "an index of packages, for pip": r"--(?:extra-)?index-" + "url",
    "a hash of a download": r"--ha" + r"sh\b|sha" + r"256[:=][0-9a-f]{8}",
    "a promise to come back": r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b",
    "a merge gone wrong": r"^(?:<<<<" + r"<<<|>>>>" + r">>>) ",
}


def test_files_say_nothing_of_a_machine() -> None:
    """No tracked file names a folder of a machine, an address or hash of a download, or something left undone."""
    said = []
    for file in tracked():
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # no text
        for what, pattern in MUST_NOT_SAY.items():
            for found in re.finditer(pattern, text, re.MULTILINE):
                line = text.count("\n", 0, found.start()) + 1
                said.append(f"{file.relative_to(ROOT)}:{line}: {what}: {found.group()}")
    assert [] == said


def test_no_lock_file() -> None:
    """No file that a package manager writes to remember where it has downloaded from (docs/decisions/0011)."""
    locks = re.compile(r"(?:.*\.lock|.*-lock\.(?:json|yaml)|pylock.*\.toml|requirements.*\.txt)")
    assert [] == [file.name for file in tracked() if locks.fullmatch(file.name)]


def test_what_tools_make_is_ignored() -> None:
    """What the verbs of the Makefile make is told to git, so that nobody commits it."""
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"/.venv/", "/.venvs/", "/dist/", "/docs/_build/"} <= set(ignored)


def test_the_floors_are_told_as_they_are() -> None:
    """CONTRIBUTING names every module on a floor, in the order that import-linter keeps."""
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (words|values|decision|drivers|neighbours) \| (.+?) \|", table, re.MULTILINE
    )
    told = [re.findall(r"`(\w+)/?`", names) for _, names in rows]
    modules = {path.stem for path in HOME.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert modules - {"__init__", "__pycache__"} == {name for names in told for name in names}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    height = {
        name: floor for floor, layer in enumerate(reversed(layers)) for name in layer.split(" | ")
    }
    for lower, upper in itertools.pairwise(told):
        assert max(height[name] for name in lower) < min(height[name] for name in upper)
