"""SIGTERM ends every wait of the process at once."""

import os
import signal
import threading
import time

import forbear
from forbear import Cancelled, retry

signal.signal(signal.SIGTERM, lambda _number, _frame: forbear.cancel_all("SIGTERM"))


@retry(on=ConnectionError, attempts=None, backoff=60.0)
def connect() -> None:
    raise ConnectionError("refused")


threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGTERM]).start()  # somebody stops the process
began = time.monotonic()
try:
    connect()
except Cancelled as cancelled:
    took = time.monotonic() - began
    print(f"a wait of 60 s was ended by {cancelled.reason} after {took:.1f} s")
    print("the last failure:", repr(cancelled.__cause__))
