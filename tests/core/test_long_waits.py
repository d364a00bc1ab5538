"""Waits of any length: they are cut into pieces that the platform can sleep, and end in time all the same."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio
import uvloop

import forbear
from forbear import Cancelled, Ticker, retry

from ways import WAYS, Way


class Oops(Exception):
    """What fails here."""


def fail() -> None:
    raise Oops


async def afail() -> None:
    raise Oops


def on_uvloop(coroutine: Any) -> Any:
    """Run on the loop that has limits of its own."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(coroutine)


RUNNERS: dict[str, Callable[[Any], object]] = {
    "threads": lambda policy: policy.call(fail),
    "asyncio": lambda policy: asyncio.run(policy(afail)()),
    "trio": lambda policy: trio.run(policy(afail)),
    "uvloop": lambda policy: on_uvloop(policy(afail)()),
}


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("seconds", [1e7, 1e10, 1e18, 1e300])
def test_a_wait_of_any_length_begins(runner: str, seconds: float) -> None:
    """A century is no OverflowError; it can be cancelled like any other."""
    policy = retry(on=Oops, backoff=seconds)
    with forbear.scope() as scope:

        def cancel() -> None:
            while not forbear._clock.waiting:
                time.sleep(0.0005)
            scope.cancel("long enough")

        thread = threading.Thread(target=cancel)
        thread.start()
        with pytest.raises(Cancelled, match="long enough"):
            RUNNERS[runner](policy)
        thread.join()


@pytest.mark.parametrize("seconds", [1e10, 1e18, 1e300])
@pytest.mark.parametrize("runner", ["asyncio", "trio", "uvloop"])
def test_a_time_limit_of_any_length_is_none_in_practice(runner: str, seconds: float) -> None:
    """Nothing is cut off, and nothing overflows."""
    policy = retry(
        on=Oops, attempts=2, backoff=0.001, total_timeout=seconds, attempt_timeout=seconds
    )
    with pytest.raises(Oops) as caught:
        RUNNERS[runner](policy)
    assert "attempts" == forbear.reason(caught.value)


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_wait_is_made_of_pieces(runner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many short ones last as long as one."""
    monkeypatch.setattr(forbear._clock, "PIECE", 0.002)
    monkeypatch.setattr(forbear._loops, "PIECE", 0.002)
    start = time.monotonic()
    with pytest.raises(Oops):
        RUNNERS[runner](retry(on=Oops, attempts=2, backoff=0.02))
    assert time.monotonic() - start >= 0.02


@pytest.mark.parametrize("way", [way for way in WAYS if way.is_async], ids=lambda way: way.id)
def test_a_time_limit_is_made_of_pieces(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """And isn't over after the first of them."""
    monkeypatch.setattr(forbear._clock, "PIECE", 0.002)
    monkeypatch.setattr(forbear._loops, "PIECE", 0.002)
    calls = []

    def step() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise Oops
        return "well"

    policy = retry(on=Oops, backoff=0.01, total_timeout=3600)
    if way.form != "block":
        policy = policy.replace(attempt_timeout=3600)
    assert "well" == way.run(policy, step)


def test_a_ticker_waits_in_pieces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the same clock."""
    monkeypatch.setattr(forbear._clock, "PIECE", 0.002)
    start = time.monotonic()
    assert 2 == len(list(Ticker(forbear.Constant(0.01).take(1))))
    assert time.monotonic() - start >= 0.01
