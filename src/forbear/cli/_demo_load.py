"""
The load: threads and tasks that call the server, with a policy and bare, and the count of calls.

Law: everybody makes the same calls at the same pace; the policy is the only difference. Each call
is counted when it begins and when it ends, by the caller and not by the policy, so that calls =
answered + lost can be checked. What only a policy knows (retries, recoveries, givings up) comes
from its hooks. redis-py's own retries are off, else the bare load would be forbear's rival and
not its absence.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from forbear import Cancelled, Constant, Exponential, Ticker, retry

from .._notes import describe
from ._demo_server import HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from forbear import Event, Policy

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["BIN", "POLICY", "RATE", "TASKS", "THREADS", "Figures", "Lane", "Load"]

# The whole difference. The limit is generous, because the server will be back; the cap is low,
# because then everybody is served half a second after it.
POLICY = retry(
    on=(redis.ConnectionError, redis.TimeoutError),
    attempts=None,
    total_timeout=10.0,
    backoff=Exponential(0.05, cap=0.5, jitter="equal"),
)

THREADS, TASKS = 8, 40  # in each of two lanes: one is protected, one is bare
RATE = 160  # calls a second of each lane, while the server is there: much to see, little to do
BIN = 0.1  # seconds that a lane's history counts together
TIMEOUT = 1.0  # of one connect or reply; a server that was killed refuses at once


@dataclass(slots=True)
class Figures:
    """What has become of a lane's calls; a call is lost when it ends in an exception."""

    calls: int = 0
    answered: int = 0
    lost: int = 0
    retries: int = 0
    recovered: int = 0
    given_up: int = 0
    slowest: float = 0.0

    @property
    def waiting(self) -> int:
        """Calls that have begun and not ended."""
        return self.calls - self.answered - self.lost

    def __add__(self, other: Figures) -> Figures:
        return Figures(
            calls=self.calls + other.calls,
            answered=self.answered + other.answered,
            lost=self.lost + other.lost,
            retries=self.retries + other.retries,
            recovered=self.recovered + other.recovered,
            given_up=self.given_up + other.given_up,
            slowest=max(self.slowest, other.slowest),
        )


class Lane:
    """
    Some callers of one kind, and the count of their calls.

    It is counted from many threads, hence the lock.

    Args:
        name: What the callers are.
        workers: How many.
        pace: Seconds from one call of a caller to its next, if it is answered by then.
        policy: What their calls are under, or None.
        now: Seconds since the demo began.
    """

    def __init__(
        self,
        name: str,
        *,
        workers: int,
        pace: float,
        policy: Policy | None,
        now: Callable[[], float],
    ) -> None:
        self.name = name
        self.workers = workers
        self.pace = pace
        self.policy = policy and policy.replace(
            name=name, on_retry=self._retried, on_success=self._succeeded, on_giveup=self._gave_up
        )
        self.last_loss = ""
        self._now = now
        self._lock = threading.Lock()
        self._figures = Figures()
        self._answered: Counter[int] = Counter()
        self._lost: Counter[int] = Counter()

    def protect(self, fn: F) -> F:
        """Return the function, plain or async, under the lane's policy if it has one."""
        return fn if self.policy is None else self.policy(fn)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """
        Count one call: bracket it.

        Its error is swallowed, because a lost call doesn't stop a caller; only Cancelled passes.
        """
        began = monotonic()
        with self._lock:
            self._figures.calls += 1
        try:
            yield
        except Exception as error:  # whatever it is, the call is lost
            self._end(began, error)
            if isinstance(error, Cancelled):
                raise
        else:
            self._end(began, None)

    def figures(self) -> Figures:
        """Return the figures of this moment."""
        with self._lock:
            return copy.copy(self._figures)

    def history(self) -> tuple[Counter[int], Counter[int]]:
        """Return how many calls were answered and lost in each tenth of a second so far."""
        with self._lock:
            return self._answered.copy(), self._lost.copy()

    def _end(self, began: float, error: Exception | None) -> None:
        took = monotonic() - began
        moment = int(self._now() / BIN)
        with self._lock:
            self._figures.slowest = max(self._figures.slowest, took)
            if error is None:
                self._figures.answered += 1
                self._answered[moment] += 1
            else:
                self._figures.lost += 1
                self._lost[moment] += 1
                self.last_loss = describe(error)

    # -- hooks

    def _retried(self, _: Event) -> None:
        with self._lock:
            self._figures.retries += 1

    def _succeeded(self, event: Event) -> None:
        if event.attempt > 1:
            with self._lock:
                self._figures.recovered += 1

    def _gave_up(self, _: Event) -> None:
        with self._lock:
            self._figures.given_up += 1


class Load:
    """
    The four lanes and their callers.

    The callers are bound by the scope that `start` is called in: when it is cancelled, they end.

    Args:
        port: The server's, on the loopback interface.
        now: Seconds since the demo began.
    """

    def __init__(self, port: int, now: Callable[[], float]) -> None:
        def lane(name: str, policy: Policy | None, workers: int) -> Lane:
            return Lane(name, workers=workers, pace=workers / RATE, policy=policy, now=now)

        self._port = port
        self._threaded = lane("threads", POLICY, THREADS), lane("bare threads", None, THREADS)
        self._tasked = lane("tasks", POLICY, TASKS), lane("bare tasks", None, TASKS)
        self.protected = self._threaded[0], self._tasked[0]
        self.bare = self._threaded[1], self._tasked[1]
        self._tickers: list[Ticker] = []
        self._clients: list[redis.Redis] = []
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start all callers."""
        for lane in self._threaded:
            client = redis.Redis(
                host=HOST,
                port=self._port,
                socket_timeout=TIMEOUT,
                socket_connect_timeout=TIMEOUT,
                retry=Retry(NoBackoff(), 0),
            )
            self._clients.append(client)
            for number, ticker in enumerate(self._new_tickers(lane)):
                self._spawn(_call_from_thread, lane, client, ticker, f"thread-{number}")
        callers = [(lane, self._new_tickers(lane)) for lane in self._tasked]
        self._spawn(asyncio.run, self._call_from_tasks(callers))

    def stop(self) -> None:
        """Let every caller finish the call it is in, and begin no other."""
        for ticker in self._tickers:
            ticker.stop()

    def join(self, timeout: float) -> None:
        """
        Wait until all have ended, so many seconds at the most.

        A call that hasn't ended by then stays in its lane's `waiting`.
        """
        end = monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, end - monotonic()))
        for client in self._clients:
            client.close()

    def _new_tickers(self, lane: Lane) -> list[Ticker]:
        """Make a ticker a caller; their second ticks are spread evenly, so that they take turns."""
        steps = [lane.pace * number / lane.workers for number in range(lane.workers)]
        tickers = [Ticker(Constant(step).take(1).then(Constant(lane.pace))) for step in steps]
        self._tickers += tickers
        return tickers

    def _spawn(self, target: Callable[..., object], *args: object) -> None:
        # Plain threads don't inherit a scope; one that runs in a copy of this context does.
        # Daemons, so that not even a caller that hangs keeps the demo from ending.
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(target, *args), daemon=True)
        self._threads.append(thread)
        thread.start()

    async def _call_from_tasks(self, callers: list[tuple[Lane, list[Ticker]]]) -> None:
        async with asyncio.TaskGroup() as group:
            for lane, tickers in callers:
                group.create_task(self._call_from_lane(lane, tickers))

    async def _call_from_lane(self, lane: Lane, tickers: list[Ticker]) -> None:
        client = redis.asyncio.Redis(
            host=HOST,
            port=self._port,
            socket_timeout=TIMEOUT,
            socket_connect_timeout=TIMEOUT,
            retry=AsyncRetry(NoBackoff(), 0),
        )
        async with client, asyncio.TaskGroup() as group:
            for number, ticker in enumerate(tickers):
                group.create_task(_call_from_task(lane, client, ticker, f"task-{number}"))


# SET and GET by turns. Both may run twice without harm, and a retried call may: where only the
# reply was lost, the server has done it already.


def _touch(client: redis.Redis, key: str, number: int) -> object:
    return client.set(key, number) if number % 2 else client.get(key)


async def _atouch(client: redis.asyncio.Redis, key: str, number: int) -> object:
    return await (client.set(key, number) if number % 2 else client.get(key))


def _call_from_thread(lane: Lane, client: redis.Redis, ticker: Ticker, key: str) -> None:
    call = lane.protect(_touch)
    with suppress(Cancelled):
        for tick in ticker:
            with lane.counted():
                call(client, key, tick.number)


async def _call_from_task(
    lane: Lane, client: redis.asyncio.Redis, ticker: Ticker, key: str
) -> None:
    call = lane.protect(_atouch)
    with suppress(Cancelled):
        async for tick in ticker:
            with lane.counted():
                await call(client, key, tick.number)
