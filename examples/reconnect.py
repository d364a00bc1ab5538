"""Reconnect for ever; a connection that held for a minute starts the backoff anew. In virtual time."""

from forbear import Exponential, Ticker
from forbear.testing import virtual_time

held = iter([0, 0, 0, 3600, 0, 0])  # seconds that each connection holds

with virtual_time() as clock:
    for tick in Ticker(Exponential(1.0, cap=30.0, jitter="none"), reset_after=60.0):
        seconds = next(held, None)
        if seconds is None:
            break
        outcome = f"held for {seconds} s" if seconds else "refused"
        print(f"{tick.at:6.0f} s  connection {tick.number}: {outcome}")
        clock.advance(seconds)
