"""The house: the names that users type are a promise, written down here, and the reference has all of them."""

from __future__ import annotations

import inspect
import re

import pytest

import forbear
import forbear.presets
import forbear.testing

from pages import PAGES, ROOT, blocks

REFERENCE = ROOT / "docs" / "reference"

# The ledger. A name may come in any version; one that goes breaks its users.
BACKOFFS = "Constant Decorrelated Delays Exponential Fibonacci Linear Polynomial Stop max_of"
POLICY = "retry Policy policy_of parse_retry_after reason on_event Permanent RetryAfter"
SCOPE = "scope Scope remaining cancel_all Cancelled"
TICKS = "Ticker Tick"
ERRORS = "ForbearError ConfigError Refused AlreadyRunning HeldOff LeaseLost StoreError"
WARNINGS = "NestedRetryWarning BlockingWaitWarning"
FOR_ANNOTATIONS = "Backoff Attempt Event Explanation"
NAMES = {*f"{BACKOFFS} {POLICY} {SCOPE} {TICKS} {ERRORS} {WARNINGS} {FOR_ANNOTATIONS}".split()}

PRESETS = {
    *("CENKALTI", "KUBERNETES", "REDIS_PY", "AWS_2026", "AWS_LEGACY"),
    *("GRPC_CONNECTION", "GOOGLE_CLOUD"),
}
TESTING = {"virtual_time", "VirtualClock", "attempts"}

# What each takes: `*` before what is named, `=` behind what may be left out.
SIGNATURES = {
    "Constant": "seconds",
    "Stop": "",
    "Linear": "start step * cap= jitter=",
    "Fibonacci": "base * cap= jitter=",
    "Polynomial": "base power * cap= jitter=",
    "Exponential": "base= factor= * cap= jitter=",
    "Decorrelated": "base cap",
    "Delays": "*seconds then=",
    "max_of": "*backoffs",
    "Policy": "on * giveup= on_result= attempts= total_timeout= attempt_timeout= backoff= hint= hint_jitter= max_hint= "
    "nested= name= describe= on_retry= on_giveup= on_success=",
    "Policy.call": "self fn *args **kwargs",
    "Policy.acall": "self fn *args **kwargs",
    "Policy.replace": "self **changes",
    "Policy.explain": "self",
    "Permanent": "error=",
    "RetryAfter": "seconds=",
    "parse_retry_after": "header now=",
    "reason": "error",
    "policy_of": "fn",
    "on_event": "listener",
    "scope": "timeout=",
    "Scope.cancel": "self reason=",
    "Scope.check": "self",
    "remaining": "",
    "cancel_all": "reason=",
    "Ticker": "backoff * reset_after=",
    "Ticker.stop": "self",
    "Cancelled": "reason=",
    "Refused": "name retry_after=",
    "LeaseLost": "name token=",
    "StoreError": "name= message=",
    "testing.virtual_time": "start= * auto= everywhere=",
    "testing.attempts": "limit",
    "testing.VirtualClock.advance": "self seconds",
}

ATTRIBUTES = {
    "Event": "kind policy attempt delay elapsed error result reason",
    "Attempt": "number remaining",
    "Tick": "number at",
    "Explanation": "calls waiting rides_out waits complete to_dict summary table",
    "Scope": "cancel cancelled check",
    "Policy": "call acall replace explain matches",
    "Exponential": "delay delays take then",
    "testing.VirtualClock": "now advance",
}


def find(path: str) -> object:
    thing: object = forbear
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


def shape(thing: object) -> str:
    """Return a signature in the words of the ledger."""
    words, named = [], False
    for name, parameter in inspect.signature(thing).parameters.items():  # type: ignore[arg-type]
        if parameter.kind is parameter.VAR_POSITIONAL:
            named = True
            words.append(f"*{name}")
        elif parameter.kind is parameter.VAR_KEYWORD:
            words.append(f"**{name}")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not named:
                named = True
                words.append("*")
            words.append(name if parameter.default is parameter.empty else f"{name}=")
    return " ".join(words)


def test_names_are_those_of_the_ledger() -> None:
    """`from forbear import *` gives what the ledger says, and each name is what it says it is."""
    assert sorted(NAMES) == forbear.__all__
    assert all(hasattr(forbear, name) for name in NAMES)
    assert forbear.retry is forbear.Policy
    assert sorted(PRESETS) == sorted(forbear.presets.__all__)
    assert sorted(TESTING) == sorted(forbear.testing.__all__)


@pytest.mark.parametrize("path", SIGNATURES)
def test_signatures_are_those_of_the_ledger(path: str) -> None:
    """What each takes, in which order, by position or by name."""
    assert SIGNATURES[path] == shape(find(path))


@pytest.mark.parametrize("path", ATTRIBUTES)
def test_attributes_are_those_of_the_ledger(path: str) -> None:
    """What each has; more may come."""
    thing = find(path)
    there = {*dir(thing), *getattr(thing, "__annotations__", {})}
    assert set() == set(ATTRIBUTES[path].split()) - there


def test_defaults_are_those_that_are_promised() -> None:
    """What applies where nothing is said is a promise as the names are."""
    policy = forbear.retry(on=OSError)
    assert (5, "warn") == (policy.attempts, policy.nested)
    assert (None, None) == (policy.total_timeout, policy.attempt_timeout)
    assert (0.5, 300.0) == (policy.hint_jitter, policy.max_hint)
    assert forbear.Exponential(0.1, 2.0, cap=20.0, jitter="full") == policy.backoff
    assert forbear.Exponential() == policy.backoff
    assert forbear.ConfigError.__bases__ == (forbear.ForbearError, ValueError)


# -- the reference


def documented() -> dict[str, set[str]]:
    """Return what each page of the reference takes from docstrings."""
    found = {}
    for page in REFERENCE.glob("*.md"):
        text = "".join(block.text for block in blocks(page) if block.language == "{eval-rst}")
        found[page.name] = set(re.findall(r"auto\w+:: forbear\.([\w.]+)", text))
    return found


def listed() -> dict[str, set[str]]:
    """Return what the table of the reference says stands on each page."""
    text = (REFERENCE / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| \[.+\]\((.+)\) \|$", text, re.MULTILINE)
    return {page: set(re.findall(r"`(\w+)`", names)) for names, page in rows}


# They are named in a sentence of their page, because nothing raises them yet.
IN_WORDS = {"Refused", "AlreadyRunning", "HeldOff", "LeaseLost", "StoreError"}


def test_the_reference_has_every_name() -> None:
    """Each public name stands in the table of the reference, and its docstring on the page that the table says."""
    table = listed()
    assert NAMES | {"presets", "testing"} == set().union(*table.values())
    taken = documented()
    for page, names in table.items():
        text = (REFERENCE / page).read_text(encoding="utf-8")
        for name in names - {"presets", "testing", "retry"}:
            assert f"`{name}`" in text if name in IN_WORDS else name in taken[page], (page, name)
    policy = (REFERENCE / "policy.md").read_text(encoding="utf-8")
    assert "`forbear.retry` is `forbear.Policy`" in policy
    assert {f"testing.{name}" for name in TESTING} <= taken["testing.md"]
    presets = (REFERENCE / "presets.md").read_text(encoding="utf-8")
    assert PRESETS == set(re.findall(r"^\| `(\w+)` \|", presets, re.MULTILINE))


def test_the_reference_has_every_parameter_of_a_policy() -> None:
    """The table of parameters is complete, and so is the signature above it."""
    text = (REFERENCE / "policy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| .+ \| .+ \|$", text, re.MULTILINE)
    parameters = inspect.signature(forbear.Policy).parameters
    assert list(parameters) == [name for row in rows for name in re.findall(r"\w+", row)]
    (signature,) = re.findall(r"autoclass:: forbear\.Policy\((.+)\)", text)
    assert list(parameters) == [
        part.partition("=")[0] for part in signature.split(", ") if part != "*"
    ]


# -- links


def headings(text: str) -> set[str]:
    """Return the anchors of a page's headings, as the sites that show Markdown make them."""
    bare = re.sub(r"^(```+).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", bare, re.MULTILINE)
    }


def test_links_lead_somewhere() -> None:
    """A link to a file of the repository leads to one that is there, and to a heading that it has."""
    dead = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"https?:|mailto:", target):
                continue
            name, _, anchor = target.partition("#")
            file = page if not name else (page.parent / name).resolve()
            is_there = file.exists() and (
                not anchor or anchor in headings(file.read_text(encoding="utf-8"))
            )
            if not is_there:
                dead.append(f"{page.relative_to(ROOT)}: {target}")
    assert [] == dead


def test_pages_name_what_there_is() -> None:
    """A page names nothing of forbear's that this version doesn't have."""
    unknown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        dotted = re.findall(r'(?<![\w./"-])forbear\.([A-Za-z]\w*(?:\.[A-Za-z]\w*)?)', text)
        imported = re.findall(r"^ *from forbear import ([\w, ]+)$", text, re.MULTILINE)
        named = [*dotted, *(name for line in imported for name in line.split(", "))]
        for name in set(named):
            try:
                find(name)
            except AttributeError:
                unknown.append(f"{page.relative_to(ROOT)}: forbear.{name}")
    assert [] == unknown


def test_files_that_pages_name_are_there() -> None:
    """A file that a page names by its path is one of the repository."""
    named = r"`((?:tests|docs|src|tools|benchmarks|examples)/[\w./-]+)`"
    gone = {
        f"{page.relative_to(ROOT)}: {path}"
        for page in PAGES
        for path in re.findall(named, page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists()
    }
    assert set() == gone
