"""
Measure what forbear costs, beside a bare call, wrappers that add nothing, a loop by hand, and other libraries.

    python benchmarks/run.py             # everything, about a minute
    python benchmarks/run.py --quick     # a first impression, some ten seconds

The exit code is 1 when a bound is broken or could not be measured. Law: this file runs the processes that
measure. How to measure is in `timing.py` and `worker.py`, what must hold in `bounds.py`, what is printed in
`report.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bounds import BESIDE, BOUNDS, judge
from report import as_json, bounds_table, heading, libraries_table
from subjects import LIBRARIES, YARDSTICKS
from weight import brought_along, import_times
from worker import BLOCKS

if TYPE_CHECKING:
    from bounds import Figures, Outcome

__all__ = ["main"]

OURS, STANDARD = "forbear", "tenacity"
WORKER = Path(__file__).with_name("worker.py")


def main() -> int:
    """Measure, print, and return the exit code."""
    given = _arguments()
    names = given.only or [*YARDSTICKS, *LIBRARIES]
    processes, rounds, imports = (1, 30, 3) if given.quick else (3, 200, 12)
    rounds = given.rounds or rounds

    runs = {name: _run(name, rounds, processes if name == OURS else 1) for name in names}
    imported = import_times([name for name in LIBRARIES if name in {*names, STANDARD}], imports)
    outcomes: list[Outcome] = []
    beside: list[Outcome] = []
    if OURS in names:
        ours = [*runs[OURS], *_run(BLOCKS, rounds, processes), _weight(imported)]
        outcomes = [judge(bound, ours) for bound in BOUNDS]
        beside = [judge(bound, ours) for bound in BESIDE]

    print(heading(runs), end="\n\n")
    if outcomes:
        print(bounds_table(outcomes, beside), end="\n\n")
    print(libraries_table(runs, imported))
    if given.json:
        everything = as_json(runs, imported, [*outcomes, *beside])
        given.json.write_text(json.dumps(everything, indent=1) + "\n")
    return 0 if given.no_fail or all(outcome.word == "OK" for outcome in outcomes) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure what forbear costs, beside other libraries."
    )
    option = parser.add_argument
    option("--only", type=_names, metavar="NAMES", help="libraries to measure, with commas between")
    option("--rounds", type=_count, metavar="N", help="rounds of a millisecond a candidate (200)")
    option("--quick", action="store_true", help="fewer rounds and processes: less sure, sooner")
    option("--json", type=Path, metavar="FILE", help="write all figures there too")
    option("--no-fail", action="store_true", help="exit with 0 also when a bound is broken")
    return parser.parse_args()


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"it must be at least 1, not {count}")
    return count


def _names(text: str) -> list[str]:
    names = text.split(",")
    known = [*YARDSTICKS, *LIBRARIES]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"no {name!r} here; there are {', '.join(known)}")
    return names


def _run(name: str, rounds: int, processes: int) -> list[Figures]:
    """Return the figures of so many processes; one that fails is told of and left out."""
    command = [sys.executable, str(WORKER), name, "--rounds", str(rounds)]
    runs = []
    for _ in range(processes):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            figures: Figures = json.loads(done.stdout.splitlines()[-1])
            runs.append(figures)
        else:
            reason = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            print(f"{name}: not measured: {reason}", file=sys.stderr)
    return runs


def _weight(imported: Figures) -> Figures:
    """Return what importing forbear costs and brings along."""
    unwanted = brought_along(OURS)
    if unwanted:
        print(f"importing {OURS} loads {', '.join(unwanted)}", file=sys.stderr)
    weight: Figures = {"brought_along": len(unwanted)}
    if OURS in imported and STANDARD in imported:
        weight |= {"import": imported[OURS], "import_tenacity": imported[STANDARD]}
    return weight


if __name__ == "__main__":
    sys.exit(main())
