"""
What checkers must refuse: each line is an error to mypy and to pyright, and says so to each; never run.

An ignore that is not needed is an error too, so a line that comes to be accepted is noticed.
"""

from __future__ import annotations

import forbear
from forbear import Event, Exponential, Ticker, policy_of, retry

policy = retry(on=ConnectionError)


@policy
def fetch(url: str, *, timeout: float = 1.0) -> bytes:
    return url.encode() * int(timeout)


@policy
async def afetch(url: str) -> bytes:
    return url.encode()


class Client:
    @policy
    def method(self, url: str) -> bytes:
        return url.encode()

    @policy
    @classmethod
    def above_class(cls, url: str) -> bytes:
        return url.encode()

    @classmethod
    @policy
    def below_class(cls, url: str) -> bytes:
        return url.encode()

    @policy
    @staticmethod
    def above_static(url: str) -> bytes:
        return url.encode()


# -- wrong arguments of a decorated function

fetch(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
fetch()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
fetch("x", 2.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
fetch("x", timeout="long")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
fetch("x", unknown=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
number: int = fetch("x")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


async def main() -> None:
    await afetch(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    text: str = ""
    text = await afetch("x")  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    print(text)
    await policy.acall(afetch, 5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await policy.acall(fetch, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


Client().method(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Client().method()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
Client.above_class(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Client.below_class(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Client.above_static(5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

# -- wrong arguments of a call

policy.call(fetch, 5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
policy.call(fetch, "x", timeout="long")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
policy.call(fetch)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
policy.call("fetch")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]

# -- wrong parameters of a policy

retry()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
retry(on="ConnectionError")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=[ConnectionError])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=KeyboardInterrupt)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=(ConnectionError, int))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=int)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=lambda error, more: True)  # type: ignore[arg-type, misc]  # pyright: ignore[reportArgumentType]
retry(on=OSError, attempts="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, attempts=2.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, total_timeout="1s")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, backoff="fast")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, backoff=[1, 2])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, nested="never")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, name=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, on_retry=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
retry(on=OSError, tries=5)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
retry(OSError, 5)  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportCallIssue]


def hook(event: Event) -> None:
    print(event.unknown)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


@retry  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
def bare(url: str) -> bytes:
    return url.encode()


@retry  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
async def abare(url: str) -> bytes:
    return url.encode()


async def awaits_too_much() -> None:
    await fetch("x")  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    for attempt in policy:
        async with attempt:  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues]
            pass
    async for other in policy:
        with other as number:
            print(number + 1)  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue]


# -- the rest

Exponential(jitter="some")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Exponential(base="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
forbear.scope(timeout="1s")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
Ticker()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
forbear.on_event(lambda: None)  # type: ignore[arg-type, misc]  # pyright: ignore[reportArgumentType]
forbear.parse_retry_after("120", now="now")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
policy_of()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
