"""The house: every example runs, says what it is about, and shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pages import ROOT, python

EXAMPLES = sorted(path.name for path in ROOT.glob("examples/*.py"))

# What each prints in the end, as a pattern.
SHOWS = {
    "deadline.py": r"(?:  GET /user with a timeout of \d\.\d s\n){4}gave up after 1\.8 s, reason: timeout\n",
    "first_retry.py": r"Oslo: sunny\n",
    "giving_up.py": r"(?s)Traceback .*forbear: fetch gave up after 3 attempts .*\nthe reason: attempts\n",
    "http_retry_after.py": r"status 200 after waits of \[[456]\.\d+, [456]\.\d+\]\n",
    "many_tasks.py": r"100 of 100 jobs done in \d{3} calls\n",
    "metrics.py": r"(?: +\d+ (?:mail|payments|search) (?:retry|success|giveup attempts) ?\n)+",
    "outage.py": r"(?s)Policy\(on=ConnectionError.*an outage of 15 s: 100\.0 % of calls.*\n",
    "paging.py": r"\[1, 2, 3, 4, 5, 6, 7\] in 6 calls for 3 pages\n",
    "reconnect.py": r"(?: +\d+ s  connection \d: (?:refused|held for 3600 s)\n){6}",
    "shutdown.py": r"a wait of 60 s was ended by SIGTERM after .* s\nthe last failure: ConnectionError\('refused'\)\n",
}
# What goes to standard error: one example shows the log.
LOGS = {
    "first_retry.py": r"(?:WARNING weather: attempt \d of 5 failed, next in .* s: ConnectionError: .*\n){2}"
}


def test_every_example_is_looked_at() -> None:
    """A new example says here what it shows."""
    assert EXAMPLES == sorted(SHOWS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name: str) -> None:
    """An example that is run as it is shows what it is about, without a warning."""
    done = python("-W", "error", str(Path("examples") / name))
    assert 0 == done.returncode, done.stderr
    assert re.fullmatch(SHOWS[name], done.stdout), done.stdout
    assert re.fullmatch(LOGS.get(name, ""), done.stderr), done.stderr


def test_the_reference_to_examples_is_complete() -> None:
    """The page of examples names each of them."""
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert EXAMPLES == sorted(re.findall(r"\]\((\w+\.py)\)", page))
