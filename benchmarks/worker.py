"""
Measure one library in a process of its own, and print the figures as JSON.

Law: figures are nanoseconds of one call, or bytes; ratios are made by the reader. What a ratio is made of is
timed in turns, in one process.

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
from yardsticks import fresh

if TYPE_CHECKING:
    from collections.abc import Callable

    from yardsticks import Fn

    Failing = Callable[[int], Any]

__all__ = ["BLOCKS", "blocks", "measure"]

# Not a library: the block forms of all of them.
BLOCKS = "blocks"

FEW, MANY = 2, 12


def measure(name: str, rounds: int) -> dict[str, float]:
    """Return the figures of one subject."""
    with asyncio.Runner() as runner:
        told = subject(name)
        figures = _success(told, runner, rounds) | _block(told, rounds) | _memory(told)
        if told.failing is not None:
            figures |= _failure(told.failing, rounds)
        if name == "forbear":
            figures |= _features(rounds) | _async_features(runner, rounds) | _whole_failures(rounds)
            figures |= _waits(rounds)
        return figures


def _success(told: Subject, runner: asyncio.Runner, rounds: int) -> dict[str, float]:
    decorated = told.decorate(fresh(y.ok)())
    adecorated = told.adecorate(fresh(y.aok)())
    _check(decorated(1) == 1 and runner.run(_await(adecorated)) == 1)
    return fastest(
        {
            "bare": plain(fresh(y.ok)()),
            "pass": plain(fresh(y.passing)(fresh(y.ok)())),
            "sync": plain(decorated),
        },
        rounds,
    ) | fastest(
        {
            "abare": in_task(fresh(y.aok)(), runner),
            "apass": in_task(fresh(y.apassing)(fresh(y.aok)()), runner),
            "async": in_task(adecorated, runner),
        },
        rounds,
    )


async def _await(fn: Fn) -> Any:
    return await fn(1)


def _check(is_right: bool) -> None:  # noqa: FBT001 (what else would it be)
    if not is_right:
        raise AssertionError("a call that succeeds must return what the function returns")


def _block(told: Subject, rounds: int) -> dict[str, float]:
    if told.block is None:
        return {}
    _check(told.block(1) == 1)
    return fastest({"block_bare": plain(fresh(y.ok)()), "block": plain(told.block)}, rounds)


def _memory(told: Subject) -> dict[str, float]:
    if not told.has_decorator:
        return {}
    return {
        "bytes": bytes_a_function(told.decorate),
        "abytes": bytes_a_function(told.adecorate, "async def f{n}(x): return x"),
    }


def _failure(failing: Failing, rounds: int) -> dict[str, float]:
    retry, by_hand = _slopes(failing, y.by_hand, rounds)
    return {"retry": retry, "retry_hand": by_hand}


def _slopes(failing: Failing, by_hand: Failing, rounds: int) -> tuple[float, float]:
    """
    Return what one more failing attempt costs in a library, and in a loop by hand.

    It is the difference between two calls that give up, after so many attempts each: what is done once for a
    failing call doesn't count in it.
    """
    candidates = {}
    for attempts in (FEW, MANY):
        library, hand = _counted(failing, attempts), _counted(fresh(by_hand), attempts)
        candidates["library", attempts] = plain(fresh(y.gives_up)(library(fresh(y.bad)())))
        candidates["hand", attempts] = plain(fresh(y.gives_up)(hand(fresh(y.bad)())))
    spent = fastest(candidates, rounds)

    def slope(who: str) -> float:
        return (spent[who, MANY] - spent[who, FEW]) / (MANY - FEW)

    return slope("library"), slope("hand")


def _counted(failing: Failing, attempts: int) -> Any:
    """Return the decorator, after a look whether it makes as many attempts as it was told."""
    calls = 0

    def bad(_x: int) -> int:
        nonlocal calls
        calls += 1
        raise y.Boom

    y.gives_up(failing(attempts)(bad))(1)
    if calls != attempts:
        raise AssertionError(f"told to make {attempts} attempts, it made {calls}")
    return failing(attempts)


def blocks(rounds: int) -> dict[str, float]:
    """Return what a block that succeeds costs in forbear, and in the fastest of the others, in one process."""
    candidates = {}
    for name in LIBRARIES:
        try:
            block = subject(name).block
        except ModuleNotFoundError:
            continue  # the process that measures it says so
        if block is not None:
            candidates[name] = plain(block)
    spent = fastest(candidates, rounds)
    ours = spent.pop("forbear")
    return {"blocks": ours, "blocks_peer": min(spent.values())} if spent else {}


# -- what only forbear is asked for


def _features(rounds: int) -> dict[str, float]:
    """Time what a policy may ask for besides, each beside a wrapper that does the same and no more."""
    retry = import_module("forbear").retry
    judge, limit = fresh(y.judging), fresh(y.limiting)
    return fastest(
        {
            "judge_pass": plain(judge(fresh(y.ok)(), fresh(y.refuses)())),
            "judge": plain(retry(on=y.Boom, on_result=fresh(y.refuses)())(fresh(y.ok)())),
            "limit_pass": plain(limit(fresh(y.ok)())),
            "limit": plain(retry(on=y.Boom, total_timeout=y.LIMIT)(fresh(y.ok)())),
        },
        rounds,
    )


def _async_features(runner: asyncio.Runner, rounds: int) -> dict[str, float]:
    retry = import_module("forbear").retry
    judge, limit, standard = fresh(y.ajudging), fresh(y.alimiting), fresh(y.astandard_limit)
    judged = retry(on=y.Boom, on_result=fresh(y.refuses)())
    limited = retry(on=y.Boom, total_timeout=y.LIMIT)
    return fastest(
        {
            "ajudge_pass": in_task(judge(fresh(y.aok)(), fresh(y.refuses)()), runner),
            "ajudge": in_task(judged(fresh(y.aok)()), runner),
            "alimit_pass": in_task(limit(fresh(y.aok)()), runner),
            "alimit": in_task(limited(fresh(y.aok)()), runner),
            "suspends_standard": in_task(standard(fresh(y.asuspends)()), runner),
            "suspends": in_task(limited(fresh(y.asuspends)()), runner),
        },
        rounds,
    )


def _whole_failures(rounds: int) -> dict[str, float]:
    """Time whole calls that fail, with what is done once for each of them."""
    forbear = import_module("forbear")
    decorate = forbear.retry(on=y.Boom, attempts=3, backoff=forbear.Constant(0))
    give_up = fresh(y.gives_up)(decorate(fresh(y.bad)()))
    return fastest(
        {
            "recover_hand": plain(fresh(y.by_hand)(3)(fresh(y.fails_once)())),
            "recover": plain(decorate(fresh(y.fails_once)())),
            "giveup_hand": plain(fresh(y.gives_up)(fresh(y.by_hand)(3)(fresh(y.bad)()))),
            "giveup": plain(give_up),
        },
        rounds,
    )


def _waits(rounds: int) -> dict[str, float]:
    """Time retries with the default backoff; the wait itself is left out, as `time.sleep` is for the others."""
    import_module("forbear._clock").SystemClock.sleep = lambda _clock, _seconds, _waiter: None
    retry = import_module("forbear").retry
    waits, by_hand = _slopes(
        lambda attempts: retry(on=y.Boom, attempts=attempts), y.by_hand_with_waits, rounds
    )
    return {"waits": waits, "waits_hand": by_hand}


def main() -> None:
    """Measure what the command line names, and print it."""
    parser = argparse.ArgumentParser(description="Measure one library.")
    parser.add_argument("name", choices=[*YARDSTICKS, *LIBRARIES, BLOCKS])
    parser.add_argument("--rounds", type=int, default=100)
    given = parser.parse_args()
    # Libraries call it also for no time at all, and then the system's timer would be measured.
    time.sleep = lambda _seconds: None
    warnings.simplefilter("ignore")
    if given.name != "forbear":
        logging.disable()  # forbear has to find out for itself that nobody listens
    figures = blocks(given.rounds) if given.name == BLOCKS else measure(given.name, given.rounds)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
