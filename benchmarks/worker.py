"""
Measure one library in a process of its own, and print the figures as JSON.

Law: figures are nanoseconds of one call, or bytes; ratios are made by the reader. Yardsticks are timed in turn
with the library, never in another process.

Run by `run.py`; by hand: `python benchmarks/worker.py forbear --rounds 100`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import time
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

import yardsticks as y
from subjects import LIBRARIES, YARDSTICKS, Subject, subject
from timing import bytes_a_function, fastest, in_task, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from yardsticks import Fn

__all__ = ["measure"]

FEW, MANY = 2, 12


def measure(name: str, rounds: int) -> dict[str, float]:
    """Return the figures of one subject."""
    with asyncio.Runner() as runner:
        told = subject(name)
        figures = _success(told, runner, rounds) | _block(told, rounds) | _memory(told)
        figures |= _one_more_attempt(told, rounds)
        if name == "forbear":
            figures |= _features(runner, rounds) | _whole_failures(told, rounds)
        return figures


def _success(told: Subject, runner: asyncio.Runner, rounds: int) -> dict[str, float]:
    return fastest(
        {
            "bare": plain(y.own(y.ok)),
            "pass": plain(y.passing(y.own(y.ok))),
            "sync": plain(_checked(told.decorate(y.own(y.ok)))),
        },
        rounds,
    ) | fastest(
        {
            "abare": in_task(y.own(y.aok), runner),
            "apass": in_task(y.apassing(y.own(y.aok)), runner),
            "async": in_task(_achecked(told.adecorate(y.own(y.aok)), runner), runner),
        },
        rounds,
    )


def _checked(fn: Fn) -> Fn:
    if fn(1) != 1:
        raise AssertionError("a call that succeeds must return what the function returns")
    return fn


def _achecked(fn: Fn, runner: asyncio.Runner) -> Fn:
    async def call() -> Any:
        return await fn(1)

    if runner.run(call()) != 1:
        raise AssertionError("a call that succeeds must return what the function returns")
    return fn


def _block(told: Subject, rounds: int) -> dict[str, float]:
    if told.block is None:
        return {}
    return fastest({"block_bare": plain(y.own(y.ok)), "block": plain(_checked(told.block))}, rounds)


def _memory(told: Subject) -> dict[str, float]:
    if not told.has_decorator:
        return {}
    return {
        "bytes": bytes_a_function(told.decorate),
        "abytes": bytes_a_function(told.adecorate, "async def f{n}(x): return x"),
    }


def _one_more_attempt(told: Subject, rounds: int) -> dict[str, float]:
    if told.failing is None:
        return {}
    retry, by_hand = _slopes([told.failing, y.by_hand], rounds)
    return {"retry": retry, "retry_hand": by_hand}


def _slopes(failing: list[Callable[[int], Any]], rounds: int) -> list[float]:
    """
    Return what one more failing attempt costs each of them.

    It is the difference between two calls that give up, after so many attempts each: what is done once for a
    failing call doesn't count in it.
    """
    candidates = {}
    for place, decorator in enumerate(failing):
        for attempts in (FEW, MANY):
            _check_attempts(decorator, attempts)
            candidates[f"{place} {attempts}"] = plain(y.gives_up(decorator(attempts)(y.own(y.bad))))
    spent = fastest(candidates, rounds)
    return [(spent[f"{place} {MANY}"] - spent[f"{place} {FEW}"]) / (MANY - FEW) for place in range(len(failing))]


def _check_attempts(failing: Callable[[int], Any], attempts: int) -> None:
    calls = 0

    def counted(x: int) -> int:
        nonlocal calls
        calls += 1
        return y.bad(x)

    y.gives_up(failing(attempts)(counted))(1)
    if calls != attempts:
        raise AssertionError(f"asked for {attempts} attempts, saw {calls}")


# -- what only forbear is asked for


def _features(runner: asyncio.Runner, rounds: int) -> dict[str, float]:
    """Time what a policy may ask for besides, each beside a wrapper that does the same and no more."""
    retry = import_module("forbear").retry
    judged = retry(on=y.Boom, on_result=y.own(y.is_refused))
    limited = retry(on=y.Boom, total_timeout=y.LIMIT)
    return fastest(
        {
            "judge_pass": plain(y.judging(y.own(y.ok), y.own(y.is_refused))),
            "judge": plain(judged(y.own(y.ok))),
            "limit_pass": plain(y.limiting(y.own(y.ok))),
            "limit": plain(limited(y.own(y.ok))),
        },
        rounds,
    ) | fastest(
        {
            "ajudge_pass": in_task(y.ajudging(y.own(y.aok), y.own(y.is_refused)), runner),
            "ajudge": in_task(judged(y.own(y.aok)), runner),
            "alimit_pass": in_task(y.alimiting(y.own(y.aok)), runner),
            "alimit": in_task(limited(y.own(y.aok)), runner),
            "slow_standard": in_task(y.astandard_limit(y.own(y.asuspends)), runner),
            "slow_limit": in_task(limited(y.own(y.asuspends)), runner),
        },
        rounds,
    )


def _whole_failures(told: Subject, rounds: int) -> dict[str, float]:
    """Time whole calls that fail, with what is done once for each of them, and retries that have a delay."""
    failing = told.failing
    assert failing is not None  # noqa: S101 (forbear retries)
    whole = fastest(
        {
            "recover_hand": plain(y.by_hand(3)(y.fails_once())),
            "recover": plain(failing(3)(y.fails_once())),
            "giveup_hand": plain(y.gives_up(y.by_hand(3)(y.own(y.bad)))),
            "giveup": plain(y.gives_up(failing(3)(y.own(y.bad)))),
        },
        rounds,
    )
    # The wait itself is left out, as `time.sleep` is for everybody else.
    import_module("forbear._clock").SystemClock.sleep = lambda _clock, _seconds, _waiter: None
    retry = import_module("forbear").retry
    waits, by_hand = _slopes(
        [lambda attempts: retry(on=y.Boom, attempts=attempts), y.by_hand_with_waits], rounds
    )
    return whole | {"waits": waits, "waits_hand": by_hand}


def main() -> None:
    """Measure what the command line names, and print it."""
    parser = argparse.ArgumentParser(description="Measure one library.")
    parser.add_argument("name", choices=[*YARDSTICKS, *LIBRARIES])
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    # Libraries call it also for no time at all, and then the system's timer would be measured.
    time.sleep = lambda _seconds: None
    warnings.simplefilter("ignore")
    if given.name != "forbear":
        logging.disable()  # forbear has to find out for itself that nobody listens
    print(json.dumps(measure(given.name, given.rounds)))


if __name__ == "__main__":
    main()
