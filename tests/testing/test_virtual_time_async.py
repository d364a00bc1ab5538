"""Virtual time on asyncio and trio: waits end in the order of their ends, whenever nothing else can run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

import forbear
from forbear import Constant, Ticker, retry
from forbear.testing import VirtualClock, virtual_time

Job = Callable[[], Awaitable[object]]


class Oops(Exception):
    """What fails here."""


async def afail() -> None:
    raise Oops


def give_up(delay: float, **given: Any) -> Awaitable[None]:
    """Fail twice, with a wait in between."""
    return retry(on=Oops, attempts=2, backoff=delay, **given)(afail)()


class Library:
    """What a test needs of the two libraries, under the same names."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, body: Callable[[], Awaitable[Any]]) -> Any:
        return asyncio.run(body()) if self.name == "asyncio" else trio.run(body)  # type: ignore[arg-type]

    async def together(self, *jobs: Job) -> None:
        if self.name == "asyncio":
            async with asyncio.TaskGroup() as group:
                for job in jobs:
                    group.create_task(job())  # type: ignore[arg-type]
        else:
            async with trio.open_nursery() as nursery:
                for job in jobs:
                    nursery.start_soon(job)

    async def sleep(self, seconds: float) -> None:
        if self.name == "asyncio":
            await asyncio.sleep(seconds)
        else:
            await trio.sleep(seconds)

    async def hang(self) -> None:
        if self.name == "asyncio":
            await asyncio.get_running_loop().create_future()
        else:
            await trio.sleep_forever()

    async def to_thread(self, call: Callable[[], object]) -> object:
        if self.name == "asyncio":
            return await asyncio.to_thread(call)
        return await trio.to_thread.run_sync(call)

    async def turns(self, number: int = 30) -> None:
        """Let the others run for a while."""
        for _ in range(number):
            await self.sleep(0)


@pytest.fixture(params=["asyncio", "trio"])
def library(request: pytest.FixtureRequest) -> Library:
    """Each of the two."""
    return Library(request.param)


def waiter(delay: float, story: list[Any], clock: VirtualClock) -> Job:
    """Make a job that waits so long, and tells when it is over."""

    async def job() -> None:
        with pytest.raises(Oops):
            await give_up(delay)
        story.append((delay, clock.now()))

    return job


def test_waits_end_in_the_order_of_their_ends(library: Library) -> None:
    """The clock steps from one end to the next; `waits` has the order in which they began."""
    story: list[Any] = []

    async def main() -> VirtualClock:
        with virtual_time() as clock:
            jobs = [waiter(delay, story, clock) for delay in (3600.0, 60.0, 86400.0, 1.0)]
            await library.together(*jobs)
        return clock

    clock = library.run(main)
    assert [(delay, delay) for delay in (1.0, 60.0, 3600.0, 86400.0)] == story
    # Trio starts its tasks in no particular order.
    assert sorted(clock.waits) == [1.0, 60.0, 3600.0, 86400.0]
    if library.name == "asyncio":
        assert [3600.0, 60.0, 86400.0, 1.0] == clock.waits


@given(
    delays=st.lists(st.floats(0.001, 1e9), min_size=1, max_size=20),
    name=st.sampled_from(["asyncio", "trio"]),
)
def test_any_waits_end_in_the_order_of_their_ends(delays: list[float], name: str) -> None:
    """However many there are, and however long each is."""
    story: list[Any] = []
    library = Library(name)

    async def main() -> VirtualClock:
        with virtual_time() as clock:
            await library.together(*(waiter(delay, story, clock) for delay in delays))
        return clock

    clock = library.run(main)
    assert sorted(delays) == sorted(clock.waits)
    assert sorted((delay, delay) for delay in delays) == story
    assert max(delays) == clock.now()


def test_the_clock_stands_while_something_can_run(library: Library) -> None:
    """A task that works through many turns of the loop is not overtaken by a wait."""
    story: list[str] = []

    async def main() -> None:
        with virtual_time():

            async def wait() -> None:
                with pytest.raises(Oops):
                    await give_up(0.001)
                story.append("waited")

            async def work() -> None:
                await library.turns(200)
                story.append("worked")

            await library.together(wait, work)

    library.run(main)
    assert ["worked", "waited"] == story


def test_a_wait_begun_later_may_end_sooner(library: Library) -> None:
    """Tasks that fail again and again are interleaved as their delays say."""
    story: list[tuple[str, float]] = []

    async def main() -> None:
        with virtual_time() as clock:

            def often(name: str, delay: float) -> Job:
                async def operation() -> None:
                    story.append((name, clock.now()))
                    raise Oops

                async def job() -> None:
                    with pytest.raises(Oops):
                        await retry(on=Oops, attempts=4, backoff=delay)(operation)()

                return job

            await library.together(often("slow", 50.0), often("fast", 20.0))

    library.run(main)
    expected = [
        ("fast", 20.0),
        ("fast", 40.0),
        ("slow", 50.0),
        ("fast", 60.0),
        ("slow", 100.0),
        ("slow", 150.0),
    ]
    assert expected == [one for one in story if one[1]]


def test_other_sleeps_stay_real(library: Library) -> None:
    """They can't be run on, so they don't hold the clock either."""

    async def main() -> float:
        with virtual_time() as clock:

            async def sleep() -> None:
                await library.sleep(0.005)
                assert 3600.0 == clock.now()

            async def wait() -> None:
                with pytest.raises(Oops):
                    await give_up(3600)

            await library.together(sleep, wait)
            return clock.now()

    assert 3600.0 == library.run(main)


def test_limits_fire_when_virtual_time_has_passed_them(library: Library) -> None:
    """A task that hangs is cut off as soon as others have waited long enough."""
    story: list[Any] = []

    async def main() -> None:
        with virtual_time() as clock:

            async def hang() -> None:
                with pytest.raises(TimeoutError):
                    await retry(on=Oops, total_timeout=3600)(library.hang)()
                story.append(("cut off", clock.now()))

            await library.together(hang, waiter(3000.0, story, clock), waiter(5000.0, story, clock))

    library.run(main)
    assert [(3000.0, 3000.0), ("cut off", 3600.0), (5000.0, 5000.0)] == story


def test_a_limit_fires_in_real_time_too(library: Library) -> None:
    """An attempt that hangs alone is still cut off; and then the clock shows the limit."""

    async def main() -> float:
        with virtual_time() as clock:
            with pytest.raises(TimeoutError):
                await retry(on=Oops, total_timeout=0.01)(library.hang)()
            return clock.now()

    assert 0.01 == library.run(main)


def test_at_one_moment_a_wait_ends_before_a_limit_fires(library: Library) -> None:
    """Equal still waits."""

    async def main() -> tuple[list[float], str | None]:
        with virtual_time() as clock, pytest.raises(Oops) as caught:
            await retry(on=Oops, attempts=None, backoff=5, total_timeout=10)(afail)()
        return clock.waits, forbear.reason(caught.value)

    assert ([5.0, 5.0], "timeout") == library.run(main)


def test_tasks_and_threads_of_the_loop_inherit_it(library: Library) -> None:
    """As they inherit every context variable."""

    def in_a_thread() -> None:
        with pytest.raises(Oops):
            retry(on=Oops, attempts=2, backoff=60).call(_fail)

    async def main() -> list[float]:
        with virtual_time() as clock:
            await library.to_thread(in_a_thread)
        return clock.waits

    assert [60.0] == library.run(main)


def _fail() -> None:
    raise Oops


def test_a_ticker_in_a_task(library: Library) -> None:
    """Its delays are waits like others."""

    async def main() -> list[float]:
        with virtual_time():
            return [tick.at async for tick in Ticker(Constant(3600).take(3))]

    assert [0.0, 3600.0, 7200.0, 10800.0] == library.run(main)


def test_one_clock_serves_one_loop_after_another() -> None:
    """A test may run several; nothing of a loop that has ended is in the way of the next."""
    with virtual_time() as clock:
        for name in ("asyncio", "trio", "asyncio", "trio"):
            with pytest.raises(Oops):
                Library(name).run(lambda: give_up(10))
    assert [10.0] * 4 == clock.waits
    assert 40.0 == clock.now()


def test_a_task_cancelled_while_it_waits_leaves_nothing(library: Library) -> None:
    """The clock doesn't go where nobody waits any more."""

    async def main() -> float:
        with virtual_time() as clock:
            if library.name == "asyncio":
                task = asyncio.ensure_future(give_up(3600))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
            else:
                with trio.move_on_after(0):
                    await give_up(3600)
            with pytest.raises(Oops):
                await give_up(1)
            return clock.now()

    assert 1.0 == library.run(main)


# -- auto=False


def test_by_hand_waits_end_when_the_clock_has_passed_them(library: Library) -> None:
    """What was waiting goes on when it is let run."""
    story: list[Any] = []

    async def main() -> None:
        with virtual_time(auto=False) as clock:

            async def test() -> None:
                await library.turns()
                assert [] == story
                clock.advance(9.999)
                await library.turns()
                assert [] == story
                clock.advance(0.001)
                await library.turns()
                assert [(10.0, 10.0)] == story
                clock.advance(100)

            await library.together(waiter(10.0, story, clock), waiter(20.0, story, clock), test)
            assert 110.0 == clock.now()

    library.run(main)
    assert [10.0, 20.0] == [delay for delay, _ in story]


def test_by_hand_limits_fire_when_the_clock_has_passed_them(library: Library) -> None:
    """And not in real time."""
    story: list[str] = []

    async def main() -> None:
        with virtual_time(auto=False) as clock:

            async def hang() -> None:
                with pytest.raises(TimeoutError):
                    await retry(on=Oops, total_timeout=0.001)(library.hang)()
                story.append("cut off")

            async def test() -> None:
                await library.sleep(0.01)
                assert [] == story
                clock.advance(0.001)

            await library.together(hang, test)

    library.run(main)
    assert ["cut off"] == story
