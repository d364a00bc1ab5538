"""A handler has two seconds for all it calls; the client three calls down gets what is left."""

import forbear
from forbear import retry
from forbear.testing import virtual_time


def client_get(path: str, timeout: float | None) -> str:
    print(f"  GET {path} with a timeout of {timeout:.1f} s")
    raise TimeoutError("timed out")


@retry(on=TimeoutError, attempts=None, backoff=0.6)
def load_user() -> str:
    return client_get("/user", timeout=forbear.remaining())


def handler() -> str:
    with forbear.scope(timeout=2.0):
        return load_user()


with virtual_time() as clock:
    try:
        handler()
    except TimeoutError as error:
        print(f"gave up after {clock.now():.1f} s, reason: {forbear.reason(error)}")
