"""
How time and memory are measured: in turns, in short rounds, and the best round counts.

Law: nothing here knows a library. A round takes about a millisecond, so that many of them pass between two
interruptions of a busy machine; what is compared takes turns, so that a slow minute slows both sides of a
ratio; and every candidate is called from a loop of its own, because the interpreter adapts a call site to the
function it sees there, and a shared one would be adapted to somebody else.
"""

from __future__ import annotations

import gc
import itertools
import time
import tracemalloc
import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    # Calls the candidate so many times and returns the nanoseconds that took.
    Timed = Callable[[int], int]

__all__ = ["bytes_a_function", "fastest", "in_task", "plain"]

Name = TypeVar("Name")

ROUND_NS = 1_000_000
FUNCTIONS = 200

_numbers = itertools.count()


def plain(fn: Callable[[int], object]) -> Timed:
    """Return a timed loop that calls the function."""
    loop = _own(_loop)
    return lambda times: loop(fn, times)


def in_task(fn: Callable[[int], Any], runner: asyncio.Runner) -> Timed:
    """Return a timed loop that awaits the function, in a task of asyncio."""
    loop = _own(_aloop)
    return lambda times: runner.run(loop(fn, times))


def _own(loop: Any) -> Any:
    """Return the loop with a code object of its own, which the interpreter adapts by itself."""
    return types.FunctionType(loop.__code__.replace(), loop.__globals__)


def _loop(fn: Callable[[int], object], times: int) -> int:
    now = time.perf_counter_ns
    turns = itertools.repeat(None, times)
    began = now()
    for _ in turns:
        fn(1)
    return now() - began


async def _aloop(fn: Callable[[int], Any], times: int) -> int:
    now = time.perf_counter_ns
    turns = itertools.repeat(None, times)
    began = now()
    for _ in turns:
        await fn(1)
    return now() - began


def _empty(times: int) -> int:
    now = time.perf_counter_ns
    turns = itertools.repeat(None, times)
    began = now()
    for _ in turns:
        pass
    return now() - began


def fastest(candidates: dict[Name, Timed], rounds: int) -> dict[Name, float]:
    """
    Return the nanoseconds of one call of each candidate, in its fastest round, without the loop around it.

    Args:
        candidates: Timed loops by name; they take turns.
        rounds: How many turns each of them gets.
    """
    times = {name: _times_a_round(timed) for name, timed in candidates.items()}
    best = dict.fromkeys(candidates, float("inf"))
    empty = float("inf")
    with _no_collections():
        for _ in range(rounds):
            empty = min(empty, _empty(20_000) / 20_000)
            for name, timed in candidates.items():
                best[name] = min(best[name], timed(times[name]) / times[name])
    return {name: spent - empty for name, spent in best.items()}


def _times_a_round(timed: Timed) -> int:
    """Grow the number of calls until they can be timed, and return how many fill a round."""
    times = 8
    while (spent := timed(times)) < ROUND_NS / 4:
        times *= 4
    return max(4, int(times * ROUND_NS / spent))


@contextmanager
def _no_collections() -> Iterator[None]:
    # A collection in the middle of a round would be charged to whoever happens to run, not to who left cycles.
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()


def bytes_a_function(
    decorate: Callable[[Any], object], source: str = "def f{n}(x): return x"
) -> float:
    """
    Return the bytes that decorating adds to one function.

    No two functions are alike, as in a program: each has a name and a code object of its own, so what a
    decorator keeps once for all functions of the same code doesn't hide what it adds to each. They are
    decorated by one policy, where the library has such a thing.

    Args:
        decorate: Decorates one function.
        source: The text of a function named `f{n}`.
    """
    for fn in _functions(source, 8):  # what the library keeps once is filled in here
        decorate(fn)
    bare = _functions(source, FUNCTIONS)
    decorated: list[object] = [None] * FUNCTIONS
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for place, fn in enumerate(bare):
        decorated[place] = decorate(fn)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return grown / FUNCTIONS


def _functions(source: str, count: int) -> list[Any]:
    made = []
    for number in itertools.islice(_numbers, count):
        space: dict[str, Any] = {"__name__": "made"}
        exec(compile(source.format(n=number), "made", "exec"), space)  # noqa: S102 (our own text)
        made.append(space.pop(f"f{number}"))
    return made
