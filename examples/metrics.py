"""Count what happens in all policies of the process."""

import random
from collections import Counter

from forbear import Event, on_event, retry
from forbear.testing import attempts

counts: Counter[tuple[str, str, str]] = Counter()
chance = random.Random(3)


def measure(event: Event) -> None:
    counts[event.policy, event.kind, event.reason or ""] += 1


def flaky() -> None:
    if chance.random() < 0.6:
        raise ConnectionError("refused")


on_event(measure)
for name in ("payments", "search", "mail") * 20:
    try:
        with attempts(2 if name == "search" else 6):  # no waits
            retry(on=ConnectionError, attempts=6, name=name).call(flaky)
    except ConnectionError:
        pass
print(*(f"{count:4} {' '.join(labels)}" for labels, count in sorted(counts.items())), sep="\n")
