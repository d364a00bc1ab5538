"""It works the same where others patch time, threads or event loops: each in a process of its own."""

from __future__ import annotations

import pytest

from processes import output_of

# Each begins before forbear is imported, or after.
ENVIRONMENTS = {
    "nothing": "",
    "gevent": "from gevent import monkey; monkey.patch_all()",
    "freezegun": "import freezegun; freezegun.freeze_time('2026-01-01').start()",
    "freezegun with real asyncio": (
        "import freezegun; freezegun.freeze_time('2026-01-01', real_asyncio=True).start()"
    ),
    "time-machine": "import time_machine; time_machine.travel('2026-01-01', tick=False).start()",
}
# gevent puts a loop of its own under threads; asyncio and trio have theirs.
RUNNERS = {"nothing": ["threads", "asyncio", "trio", "uvloop"], "gevent": ["threads"]}
OTHERS = ["threads", "asyncio", "trio", "uvloop"]
ON_THREADS = ["waits", "has_a_limit", "ticks", "is_cancelled", "takes_no_virtual_time"]


CASES = [
    (environment, when)
    for environment in ENVIRONMENTS
    for when in ("before", "after")
    if environment != "nothing" or when == "before"
]


@pytest.mark.parametrize(("environment", "when"), CASES)
def test_waits_limits_and_cancellations_are_the_same(environment: str, when: str) -> None:
    """A clock that somebody has frozen stops no wait, and a thread that is a greenlet waits as one."""
    runners = RUNNERS.get(environment, OTHERS)
    patch, load = ENVIRONMENTS[environment], "import checks_everywhere"
    first, second = (patch, load) if when == "before" else (load, patch)
    lines = output_of(f"{first}\n{second}\nchecks_everywhere.main(*{runners})")
    checks = [
        f"{runner} {check}"
        for runner in runners
        for check in [*ON_THREADS, *([] if runner == "threads" else ["is_cut_off"])]
    ]
    assert checks == lines


# -- gevent: a thread is a greenlet

GREEN = """
    from gevent import monkey; monkey.patch_all()
    import gevent, forbear
    from forbear import retry

    def fail():
        raise OSError

    def reason_of(backoff, on=OSError):
        try:
            retry(on=on, attempts=2, backoff=backoff).call(fail)
        except (OSError, forbear.Cancelled) as error:
            return forbear.reason(error)
"""


def test_a_wait_under_gevent_lets_other_greenlets_run() -> None:
    """The shorter of two waits ends first, and work goes on beside both."""
    assert ["work", "work", "short", "long"] == output_of(
        GREEN
        + """
    def call(name, delay):
        reason_of(delay)
        print(name)

    def work():
        for _ in range(2):
            print("work")
            gevent.sleep(0.001)

    gevent.joinall([gevent.spawn(call, "long", 0.3), gevent.spawn(call, "short", 0.03), gevent.spawn(work)])
    """
    )


def test_scopes_under_gevent_bind_their_own_greenlet() -> None:
    """As with threads; and `cancel_all` is heard by all."""
    lines = output_of(
        GREEN
        + """
    def limited(seconds):
        with forbear.scope(timeout=seconds):
            gevent.sleep(0.001)
            return seconds - 1 < forbear.remaining() <= seconds

    limits = [gevent.spawn(limited, seconds) for seconds in (100, 500)]
    gevent.joinall(limits)
    print([one.value for one in limits], forbear.remaining())

    waits = [gevent.spawn(reason_of, 3600) for _ in range(2)]
    gevent.sleep(0.001)
    forbear.cancel_all()
    gevent.joinall(waits)
    print([one.value for one in waits])
    """
    )
    assert ["[True, True] None", "['cancelled', 'cancelled']"] == lines


def test_a_greenlet_that_is_killed_while_it_waits_ends() -> None:
    """Gevent's own cancellations, GreenletExit and Timeout, are not caught, whatever `on` says."""
    lines = output_of(
        GREEN
        + """
    killed = gevent.spawn(reason_of, 3600, lambda error: True)
    gevent.sleep(0.001)
    killed.kill()
    print(repr(killed.value))
    try:
        with gevent.Timeout(0.01):
            reason_of(3600, lambda error: True)
    except gevent.Timeout:
        print("timeout")
    print(len(forbear._clock.waiting))
    """
    )
    assert ["GreenletExit()", "timeout", "0"] == lines


def test_cancel_all_reaches_an_attempt_of_another_greenlet() -> None:
    """A call that is in its attempt when all is cancelled doesn't wait after it, in any form."""
    lines = output_of(
        GREEN
        + """
    import faulthandler
    faulthandler.dump_traceback_later(10, exit=True)
    policy = retry(on=OSError, backoff=3600)

    def attempt():
        gevent.sleep(0.02)
        raise OSError

    def block():
        for one in policy:
            with one:
                attempt()

    def told(call):
        try:
            call()
        except forbear.Cancelled as error:
            return error.reason

    calls = [lambda: policy.call(attempt), block, policy(attempt)]
    running = [gevent.spawn(told, call) for call in calls]
    gevent.sleep(0.005)
    forbear.cancel_all("bye")
    gevent.joinall(running)
    print([one.value for one in running])
    """
    )
    assert ["['bye', 'bye', 'bye']"] == lines


# -- one library of event loops as the guest of the other


def test_trio_as_a_guest_of_asyncio() -> None:
    """Each side waits and is cut off in its own way, at the same time, on the same thread."""
    lines = output_of("""
        import asyncio, trio, forbear
        from forbear import retry
        from forbear.testing import virtual_time

        async def fail():
            raise OSError

        async def waits(name):
            try:
                await retry(on=OSError, attempts=3, backoff=0.01)(fail)()
            except OSError as error:
                return [name, forbear.reason(error)]

        async def guest():
            told = await waits("trio")
            try:
                await retry(on=OSError, total_timeout=0.01)(trio.sleep_forever)()
            except TimeoutError as error:
                told.append(forbear.reason(error))
            with virtual_time() as clock:
                await waits("virtual")
            return told + clock.waits

        async def host():
            loop = asyncio.get_running_loop()
            ended = loop.create_future()
            trio.lowlevel.start_guest_run(
                guest, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=ended.set_result
            )
            print(await waits("asyncio"))
            print((await ended).unwrap())

        asyncio.run(host())
    """)
    assert ["['asyncio', 'attempts']", "['trio', 'attempts', 'timeout', 0.01, 0.01]"] == lines


# -- signals


@pytest.mark.parametrize("runner", ["on_asyncio", "on_trio", "on_uvloop", None])
@pytest.mark.parametrize("how", ["scope.cancel", "forbear.cancel_all"])
def test_a_signal_handler_may_cancel(how: str, runner: str | None) -> None:
    """`signal.signal` with a handler that cancels: what a service does on SIGTERM, whatever it runs on."""
    call = "policy.call(fail)" if runner is None else f"{runner}(policy(afail))"
    lines = output_of(f"""
        import signal, forbear
        from checks_everywhere import afail, fail, on_asyncio, on_trio, on_uvloop
        from processes import signalled

        policy = forbear.retry(on=Exception, backoff=3600)
        with forbear.scope() as scope:
            signal.signal(signal.SIGTERM, lambda number, frame: {how}("SIGTERM"))
            try:
                with signalled(signal.SIGTERM):
                    {call}
            except forbear.Cancelled as error:
                print(error.reason, repr(error.__cause__))
    """)
    assert ["SIGTERM Oops('e')"] == lines


@pytest.mark.parametrize("runner", ["on_asyncio", "on_uvloop"])
def test_a_signal_handler_of_the_event_loop_may_cancel(runner: str) -> None:
    """`loop.add_signal_handler` is the other way, and `async with scope` then cuts off what runs."""
    lines = output_of(f"""
        import asyncio, os, signal, forbear
        from checks_everywhere import on_asyncio, on_uvloop

        async def main():
            loop = asyncio.get_running_loop()
            scope = forbear.scope()
            loop.add_signal_handler(signal.SIGTERM, scope.cancel, "SIGTERM")
            async with scope:
                os.kill(os.getpid(), signal.SIGTERM)
                await asyncio.sleep(3600)

        try:
            {runner}(main)
        except forbear.Cancelled as error:
            print(error.reason)
    """)
    assert ["SIGTERM"] == lines
