"""
What must be the same in every environment: real waits, limits and cancellations, and how long they took.

Not a test: `test_environments.py` runs it in processes of its own, under libraries that patch time, threads or event
loops. Durations are read from the system, past all patches; a wait is never too short, and none hangs.
"""

from __future__ import annotations

import asyncio
import faulthandler
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

import trio

import forbear
from forbear import Cancelled, Ticker, retry
from forbear.testing import virtual_time

# Nobody patches this one; and it was bound before whoever patches could.
system_time = time.clock_gettime
MONOTONIC = time.CLOCK_MONOTONIC

SHORT = 0.01
FOR_EVER = 3600.0


class Oops(Exception):
    """What fails here."""


def fail() -> None:
    raise Oops("e")


async def afail() -> None:
    raise Oops("e")


async def hang() -> None:
    await asyncio.get_running_loop().create_future()


async def hang_on_trio() -> None:
    await trio.sleep_forever()


def reason_of(call: Callable[[], object]) -> str | None:
    """Run it, and return why trying ended."""
    try:
        call()
    except (Oops, Cancelled, TimeoutError) as error:
        return forbear.reason(error)
    raise AssertionError("it has not failed")


def lasts(seconds: float, call: Callable[[], object]) -> None:
    """Check that a call lasts so long at least."""
    start = system_time(MONOTONIC)
    call()
    took = system_time(MONOTONIC) - start
    assert took >= seconds, f"{took} s are less than {seconds} s"


# -- the same on threads and in both libraries; `run` runs an async function


def waits(run: Any) -> None:
    """Two waits last as long as the backoff says."""
    policy = retry(on=Oops, attempts=3, backoff=SHORT)

    def call() -> None:
        if run is None:
            assert "attempts" == reason_of(lambda: policy.call(fail))
        else:
            assert "attempts" == reason_of(lambda: run(policy(afail)))

    lasts(2 * SHORT, call)


def has_a_limit(run: Any) -> None:
    """A wait that would end after the time limit is not begun, and time counts although clocks stand still."""
    policy = retry(on=Oops, attempts=None, total_timeout=3.5 * SHORT, backoff=SHORT)
    if run is None:
        assert "timeout" == reason_of(lambda: policy.call(fail))
    else:
        assert "timeout" == reason_of(lambda: run(policy(afail)))


def ticks(run: Any) -> None:
    """A ticker's delays are real."""
    ticker = Ticker(forbear.Constant(SHORT).take(2))

    async def consume() -> list[int]:
        return [tick.number async for tick in ticker]

    def call() -> None:
        numbers = [tick.number for tick in ticker] if run is None else run(consume)
        assert [1, 2, 3] == numbers

    lasts(2 * SHORT, call)


def is_cancelled(run: Any) -> None:
    """A wait is woken from another thread, by its scope."""
    import threading  # noqa: PLC0415 (after whoever patches it)

    policy = retry(on=Oops, backoff=FOR_EVER)
    with forbear.scope() as scope:

        def cancel() -> None:
            while not forbear._clock.waiting:
                time.sleep(0.001)
            scope.cancel("from a thread")

        thread = threading.Thread(target=cancel)
        thread.start()
        assert "cancelled" == reason_of(
            (lambda: policy.call(fail)) if run is None else (lambda: run(policy(afail)))
        )
        thread.join()


def takes_no_virtual_time(run: Any) -> None:
    """Virtual time is the same too: an hour passes at once, and is recorded."""
    policy = retry(on=Oops, attempts=3, backoff=FOR_EVER)
    with virtual_time() as clock:
        assert "attempts" == reason_of(
            (lambda: policy.call(fail)) if run is None else (lambda: run(policy(afail)))
        )
    assert [FOR_EVER, FOR_EVER] == clock.waits


# -- async alone


def is_cut_off(run: Any) -> None:
    """Attempts, calls and scopes are cut off when their time is over."""
    hanging = hang_on_trio if run is on_trio else hang

    def call() -> None:
        assert "attempts" == reason_of(
            lambda: run(retry(on=Oops, attempt_timeout=SHORT, attempts=2, backoff=0)(hanging))
        )
        assert "timeout" == reason_of(lambda: run(retry(on=Oops, total_timeout=SHORT)(hanging)))

        async def in_a_scope() -> None:
            async with forbear.scope(timeout=SHORT):
                await hanging()

        assert reason_of(lambda: run(in_a_scope)) is None

    lasts(4 * SHORT, call)


def on_asyncio(fn: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(fn())


def on_trio(fn: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return trio.run(fn)


def on_uvloop(fn: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    import uvloop  # noqa: PLC0415 (not on every system)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(fn())


RUNNERS = {"threads": None, "asyncio": on_asyncio, "trio": on_trio, "uvloop": on_uvloop}
CHECKS = (waits, has_a_limit, ticks, is_cancelled, takes_no_virtual_time, is_cut_off)


def main(*runners: str) -> None:
    """Make every check with these runners, and say so; a check that hangs says where."""
    faulthandler.dump_traceback_later(30, exit=True)
    for name in runners:
        for check in CHECKS:
            if check is not is_cut_off or name != "threads":
                check(RUNNERS[name])
                print(name, check.__name__)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(*sys.argv[1:])
