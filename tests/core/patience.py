"""Calls that wait until somebody cancels them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import forbear
from forbear import retry


class Oops(Exception):
    """What fails here."""


def fail() -> None:
    raise Oops("e")


async def afail() -> None:
    raise Oops("e")


FOR_EVER = 3600.0  # a wait that only a cancellation ends; the test hangs if it doesn't


PATIENT = retry(on=Oops, backoff=FOR_EVER, hint=None)


def soon(action: Callable[[], object]) -> threading.Thread:
    """Do it from another thread as soon as somebody waits."""

    def run() -> None:
        while not forbear._clock.waiting:
            time.sleep(0.001)
        action()

    thread = threading.Thread(target=run)
    thread.start()
    return thread
