"""What comes out when trying ends: the function's own error, with a note."""

import sys
import traceback

import forbear
from forbear import Exponential, retry


@retry(on=ConnectionError, attempts=3, backoff=Exponential(base=0.1))
def fetch(url: str) -> bytes:
    raise ConnectionError(f"{url}: connection refused")


try:
    fetch("https://example.com/")
except ConnectionError as error:
    traceback.print_exc(file=sys.stdout)
    print("the reason:", forbear.reason(error))
