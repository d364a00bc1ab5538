"""
Draw what jitter does to a herd: docs/_static/herd.svg, and the same as text for the README.

    python docs/pictures/herd.py

The model. 10,000 clients lose their server at 0 s and all retry for ever with the same backoff. For 10 s each
attempt fails; then the server admits 1,000 calls a second (a token bucket with a burst of 100) and turns the
rest away at once. An attempt takes 10 ms. The waits come from the backoffs that ship; chance is seeded, so
the picture is the same each time it is drawn.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from forbear import Exponential

if TYPE_CHECKING:
    from collections.abc import Callable

    from forbear import Backoff

CLIENTS = 10_000
OUTAGE = 10.0
CAPACITY = 1_000.0
BURST = 100.0
ATTEMPT = 0.01
SLOTS = 10  # a second: calls are counted per 100 ms
SECONDS = 60  # of the picture

HERDS = {
    "no jitter": Exponential(base=0.1, factor=2.0, cap=20.0, jitter="none"),
    "full jitter": Exponential(base=0.1, factor=2.0, cap=20.0, jitter="full"),
}


class Hinted:
    """All clients are told 5 s, and wait up to a share of it longer, as a policy's `hint_jitter` says."""

    def __init__(self, jitter: float) -> None:
        self.jitter = jitter

    def delay(self, failures: int, previous: float, random: Callable[[], float]) -> float:
        """Return the wait that a policy makes of the hint."""
        return 5.0 * (1.0 + self.jitter * random())


HINTS = {f"Retry-After: 5, hint_jitter={jitter}": Hinted(jitter) for jitter in (0.0, 0.1, 0.5)}


def herd(backoff: Backoff, seed: str) -> tuple[Counter[int], list[float]]:
    """Return the calls of each 100 ms, and when each client was served."""
    chance = random.Random(seed).random
    calls: Counter[int] = Counter()
    served: list[float] = []
    bucket, filled = BURST, OUTAGE
    due = [(0.0, client, 0, 0.0) for client in range(CLIENTS)]
    ticket = CLIENTS
    while due:
        now, _, failures, previous = heapq.heappop(due)
        calls[int(now * SLOTS + 1e-9)] += 1
        if now >= OUTAGE:
            bucket, filled = min(BURST, bucket + (now - filled) * CAPACITY), now
            if bucket >= 1.0:
                bucket -= 1.0
                served.append(now + ATTEMPT)
                continue
        failures += 1
        delay = backoff.delay(failures, previous, chance) or 0.0
        heapq.heappush(due, (now + ATTEMPT + delay, ticket, failures, delay))
        ticket += 1
    return calls, served


def peak(calls: Counter[int], first: float, last: float) -> int:
    """Return the calls of the busiest 100 ms between two moments."""
    return max((n for slot, n in calls.items() if first * SLOTS <= slot < last * SLOTS), default=0)


def sparkline(calls: Counter[int]) -> str:
    """Return one character a second: its busiest 100 ms, as an eighth of all clients at once."""
    line = ""
    for second in range(SECONDS):
        most = peak(calls, second, second + 1)
        line += " ▁▂▃▄▅▆▇█"[min(8, -(-most * 8 // CLIENTS))]
    return line


def text(herds: dict[str, Counter[int]]) -> str:
    """Return the picture as text."""
    axis = "".join(f"{f'{s} s':<10}" for s in range(0, SECONDS, 10))
    lines = [f"{name:>12}  {sparkline(calls).rstrip()}" for name, calls in herds.items()]
    marks = " " * 14 + "|" + " down ".center(9, "-") + "|" + " back, for 100 calls per 100 ms"
    return "\n".join([*lines, " " * 14 + axis.rstrip(), marks])


WIDTH, HEIGHT, LEFT, TOP, GAP = 720, 130, 70, 34, 40


def panel(name: str, calls: Counter[int], top: float) -> list[str]:
    """Draw one herd: a bar for each 100 ms."""
    scale_x = (WIDTH - LEFT - 20) / (SECONDS * SLOTS)
    base = top + HEIGHT
    after = peak(calls, OUTAGE, 1e9)
    title = f"{name}: at most {after:,} calls in 100 ms once the server is back"
    parts = [
        f'<rect x="{LEFT}" y="{top}" width="{OUTAGE * SLOTS * scale_x:.1f}" height="{HEIGHT}" fill="#e8e8e8"/>',
        f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{title}</text>',
        f'<text x="{LEFT - 8}" y="{top + 10}" text-anchor="end">{CLIENTS:,}</text>',
        f'<text x="{LEFT - 8}" y="{base}" text-anchor="end">0</text>',
        f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - 20}" y2="{base}" stroke="#555"/>',
    ]
    for slot, n in sorted(calls.items()):
        if slot < SECONDS * SLOTS:
            # In the first 100 ms each client calls more than once.
            height = min(1.0, n / CLIENTS) * HEIGHT
            x, y, width = LEFT + slot * scale_x, base - height, scale_x + 0.6
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
            )
    return parts


def svg(herds: dict[str, Counter[int]]) -> str:
    """Return the picture as SVG, with a background of its own so that it can be read on a dark page."""
    height = TOP + len(herds) * (HEIGHT + GAP) + 10
    style = 'font-family="sans-serif" font-size="13" fill="#224"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {style}>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    top = TOP
    for name, calls in herds.items():
        parts += panel(name, calls, top)
        top += HEIGHT + GAP
    for second in range(0, SECONDS + 1, 10):
        x = LEFT + (WIDTH - LEFT - 20) * second / SECONDS
        y = top - GAP + 18
        parts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{second} s</text>')
    parts.append(f'<text x="{LEFT + 28}" y="{top - HEIGHT - GAP + 16}">server is down</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Draw the picture and print the numbers that the documentation gives."""
    drawn = {}
    for name, backoff in (HERDS | HINTS).items():
        calls, served = herd(backoff, name)
        if name in HERDS:
            drawn[name] = calls
        served.sort()
        print(
            f"{name}: {sum(calls.values()) / CLIENTS:.1f} attempts a client; busiest 100 ms: "
            f"{peak(calls, 1, OUTAGE):,} during the outage (after its first second), "
            f"{peak(calls, OUTAGE, 1e9):,} after it; all served {served[-1] - OUTAGE:,.0f} s after the server was back"
        )
    target = Path(__file__).parents[1] / "_static" / "herd.svg"
    target.write_text(svg(drawn), encoding="utf-8")
    print()
    print(text(drawn))


if __name__ == "__main__":
    main()
