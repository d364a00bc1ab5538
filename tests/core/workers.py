"""What worker processes run; a module of its own, because they import what they are sent by name."""

from __future__ import annotations

import multiprocessing

import forbear
from forbear import retry


@retry(on=OSError, attempts=2, backoff=0.001, name="inner")
def work(number: int) -> int:
    """Fail for odd numbers."""
    if number % 2:
        raise OSError(number)
    return number


def main(method: str) -> None:
    """Send a decorated function to workers, and tell what came back."""
    with multiprocessing.get_context(method).Pool(1) as pool:
        calls = []

        @retry(on=OSError, attempts=3, backoff=0.001, nested="stop", name="outer")
        def outer() -> None:
            calls.append(1)
            pool.apply(work, (1,))

        try:
            outer()
        except OSError as error:
            first, *_ = error.__notes__
            print(len(calls), forbear.reason(error), len(error.__notes__), first.split(" in ")[0])
        print(pool.map(work, [0, 2]))
        policy = pool.apply(forbear.policy_of, (work,))
        print(policy == forbear.policy_of(work))
