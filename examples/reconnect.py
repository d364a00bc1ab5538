"""Reconnect for ever; a connection that held for a minute starts the backoff anew. In virtual time."""

from forbear import Exponential, Ticker
from forbear.testing import virtual_time

held = iter([0, 0, 0, 3600, 0, 0])  # seconds that each connection holds

with virtual_time() as clock:
    for tick in Ticker(Exponential(1.0, cap=30.0, jitter="none"), reset_after=60.0):
        seconds = next(held, None)
        if seconds is None:
            break
        print(f"{tick.at:6.0f} s  connect, number {tick.number}", f"... held for {seconds} s" if seconds else "... refused")
        clock.advance(seconds)
