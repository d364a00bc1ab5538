"""Will a policy survive a restart of 20 s? Ask it, then try it a thousand times in virtual time."""

from forbear import Exponential, retry
from forbear.testing import virtual_time

policy = retry(on=ConnectionError, attempts=9, backoff=Exponential(0.5, cap=8.0, jitter="equal"))
print(policy.explain())


def survives(outage: float) -> bool:
    with virtual_time() as clock:

        def call() -> None:
            if clock.now() < outage:
                raise ConnectionError("refused")

        try:
            policy.call(call)
        except ConnectionError:
            return False
        return True


for outage in (15.0, 20.0, 25.0, 30.0, 35.0):
    survived = sum(survives(outage) for _ in range(1000))
    print(f"an outage of {outage:.0f} s: {survived / 10:.1f} % of calls survive")
