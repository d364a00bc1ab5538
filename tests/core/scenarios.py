"""The scenarios: what each attempt does, the policy, and the story that must come of it."""

from __future__ import annotations

import asyncio

import forbear
from forbear import Constant, Delays, Exponential, Permanent, RetryAfter, Stop

from drivers import (
    Scenario,
    again,
    call,
    cancels,
    fail,
    fails,
    give,
    over,
    raises,
    takes,
    told,
    well,
)

FUNCTIONS = ("decorator", "call")
DOUBLING = Exponential(1.0, factor=2.0, cap=100.0, jitter="none")
PLAIN = {"on": ConnectionError, "backoff": DOUBLING, "hint_jitter": 0}


class Busy(ConnectionError):
    """An error that says how long to wait."""

    def __init__(self, text: str, retry_after: object) -> None:
        super().__init__(text)
        self.retry_after = retry_after


def busy(text: str, retry_after: object) -> ConnectionError:
    return Busy(text, retry_after)


SCENARIOS = (
    Scenario(
        "success at once",
        (give(42),),
        PLAIN,
        told(call(1), well(1)),
        result=42,
    ),
    Scenario(
        "success at the last attempt allowed",
        (*fails("e1", "e2"), give(7)),
        PLAIN | {"attempts": 3},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), well(3)),
        result=7,
    ),
    Scenario(
        "attempts used up",
        fails("e1", "e2", "e3"),
        PLAIN | {"attempts": 3},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "attempts")),
        error="ConnectionError: e3",
        reason="attempts",
    ),
    Scenario(
        "one attempt only",
        fails("e1"),
        PLAIN | {"attempts": 1},
        told(call(1), over(1, "attempts")),
        error="ConnectionError: e1",
        reason="attempts",
    ),
    Scenario(
        "no limit of attempts",
        (*fails(*(f"e{n}" for n in range(1, 12))), give("at last")),
        PLAIN | {"attempts": None, "backoff": Constant(1)},
        told(*(told(call(n), again(n, 1)) for n in range(1, 12)), call(12), well(12)),
        result="at last",
    ),
    Scenario(
        "an error that is not matched passes",
        (fail("e1"), fail("other", KeyError)),
        PLAIN,
        told(call(1), again(1, 1), call(2)),
        error="KeyError: 'other'",
    ),
    Scenario(
        "giveup wins over on",
        (fail("gone", ConnectionResetError),),
        PLAIN | {"giveup": ConnectionResetError},
        told(call(1)),
        error="ConnectionResetError: gone",
    ),
    Scenario(
        "predicates",
        (fail("yes"), fail("no")),
        PLAIN | {"on": lambda error: "yes" in str(error)},
        told(call(1), again(1, 1), call(2)),
        error="ConnectionError: no",
    ),
    Scenario(
        "permanent: the error it carries comes out",
        (fail("e1"), raises(lambda: Permanent(KeyError("p")))),
        PLAIN,
        told(call(1), again(1, 1), call(2), over(2, "permanent")),
        error="KeyError: 'p'",
        reason="permanent",
    ),
    Scenario(
        "permanent: else its cause comes out",
        (raises(lambda: Permanent("text"), lambda: KeyError("p")),),
        PLAIN,
        told(call(1), over(1, "permanent")),
        error="KeyError: 'p'",
        reason="permanent",
    ),
    Scenario(
        "permanent in the chain: the outer error comes out",
        (raises(lambda: ConnectionError("outer"), lambda: Permanent("p")),),
        PLAIN,
        told(call(1), over(1, "permanent")),
        error="ConnectionError: outer",
        cause="Permanent: p",
        reason="permanent",
    ),
    Scenario(
        "retry-after counts as matched, and takes the place of the delay",
        (fail("e1"), raises(lambda: RetryAfter(5)), fail("e3"), give(1)),
        PLAIN | {"on": ConnectionError},
        told(call(1), again(1, 1), call(2), again(2, 5), call(3), again(3, 1), call(4), well(4)),
        result=1,
    ),
    Scenario(
        "giving up on a retry-after raises its cause",
        (raises(lambda: RetryAfter(5), lambda: KeyError("busy")),),
        PLAIN | {"attempts": 2},
        told(call(1), again(1, 5), call(2), over(2, "attempts")),
        error="KeyError: 'busy'",
        reason="attempts",
    ),
    Scenario(
        "a retry-after without a cause comes out itself",
        (raises(lambda: RetryAfter(5)),),
        PLAIN | {"attempts": 1},
        told(call(1), over(1, "attempts")),
        error="RetryAfter: retry after 5 s",
        reason="attempts",
    ),
    Scenario(
        "a hint in an attribute",
        (raises(lambda: busy("e1", 3)), raises(lambda: busy("e2", 0)), fail("e3"), give(1)),
        PLAIN,
        told(call(1), again(1, 3), call(2), again(2, 0), call(3), again(3, 1), call(4), well(4)),
        result=1,
    ),
    Scenario(
        "a hint above max_hint",
        (raises(lambda: busy("e1", 301)),),
        PLAIN,
        told(call(1), over(1, "hint")),
        error="Busy: e1",
        reason="hint",
    ),
    Scenario(
        "the backoff stops",
        fails("e1", "e2", "e3"),
        PLAIN | {"backoff": Delays(1, 2), "attempts": None},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "backoff")),
        error="ConnectionError: e3",
        reason="backoff",
    ),
    Scenario(
        "stop beats a hint",
        (raises(lambda: busy("e1", 1)),),
        PLAIN | {"backoff": Stop()},
        told(call(1), over(1, "backoff")),
        error="Busy: e1",
        reason="backoff",
    ),
    Scenario(
        "the time limit: no wait begins that would pass it",
        fails("e1", "e2", "e3"),
        PLAIN | {"total_timeout": 6.5, "attempts": None},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "timeout")),
        error="ConnectionError: e3",
        reason="timeout",
    ),
    Scenario(
        "the time limit: equal still waits",
        (*fails("e1", "e2"), give("in time")),
        PLAIN | {"total_timeout": 3.0, "attempts": None},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), well(3)),
        result="in time",
    ),
    Scenario(
        "the time limit counts the attempt's own time",
        (takes(8.5, fail("e1")), takes(1.0, fail("e2"))),
        PLAIN | {"total_timeout": 10.0},
        told(call(1), again(1, 1), call(2), over(2, "timeout")),
        error="ConnectionError: e2",
        reason="timeout",
    ),
    Scenario(
        "a time limit of zero allows what need not wait",
        (*fails("e1", "e2"), give("at once")),
        PLAIN | {"total_timeout": 0, "backoff": Constant(0)},
        told(call(1), again(1, 0), call(2), again(2, 0), call(3), well(3)),
        result="at once",
        forms=("decorator", "call", "block", "generator"),
    ),
    Scenario(
        "the scope's time limit",
        fails("e1", "e2", "e3"),
        PLAIN | {"attempts": None},
        told(call(1), again(1, 1), call(2), over(2, "timeout")),
        error="ConnectionError: e2",
        reason="timeout",
        timeout=2.5,
    ),
    Scenario(
        "zero delays call no sleep",
        (*fails("e1", "e2"), give(1)),
        PLAIN | {"backoff": 0},
        told(call(1), again(1, 0), call(2), again(2, 0), call(3), well(3)),
        result=1,
    ),
    Scenario(
        "cancelled before it began: it still runs once",
        fails("e1"),
        PLAIN,
        told(call(1), over(1, "cancelled")),
        error="Cancelled: before",
        cause="ConnectionError: e1",
        reason="cancelled",
        cancelled="before",
    ),
    Scenario(
        "cancelled before it began: its success stands",
        (give(5),),
        PLAIN,
        told(call(1), well(1)),
        result=5,
        cancelled="before",
    ),
    Scenario(
        "cancelled in an attempt",
        (fail("e1"), cancels("stop it", fail("e2"))),
        PLAIN,
        told(call(1), again(1, 1), call(2), over(2, "cancelled")),
        error="Cancelled: stop it",
        cause="ConnectionError: e2",
        reason="cancelled",
    ),
    Scenario(
        "cancelled in a wait",
        fails("e1", "e2", "e3"),
        PLAIN,
        told(call(1), again(1, 1), call(2), again(2, 2), over(2, "cancelled")),
        error="Cancelled: while waiting",
        cause="ConnectionError: e2",
        reason="cancelled",
        during_wait=2,
    ),
    Scenario(
        "attempts outrank cancellation",
        (cancels("stop it", fail("e1")),),
        PLAIN | {"attempts": 1},
        told(call(1), over(1, "attempts")),
        error="ConnectionError: e1",
        reason="attempts",
    ),
    *(
        Scenario(
            f"{kind.__name__} is never caught",
            (fail("e1"), raises(kind)),
            PLAIN | {"on": Exception},
            told(call(1), again(1, 1), call(2)),
            error=f"{kind.__name__}: {kind()}",
            reason="cancelled" if kind is forbear.Cancelled else None,
        )
        for kind in (
            KeyboardInterrupt,
            SystemExit,
            asyncio.CancelledError,
            forbear.Cancelled,
            forbear.ConfigError,
        )
    ),
    Scenario(
        "LeaseLost is never caught",
        (raises(lambda: forbear.LeaseLost("volume")),),
        PLAIN | {"on": lambda error: True},
        told(call(1)),
        error="LeaseLost: the lease of operation 'volume' was lost (token None)",
    ),
    Scenario(
        "a backoff for each type",
        (
            fail("e1", TimeoutError),
            fail("e2", ConnectionResetError),
            fail("e3", ConnectionError),
            give(1),
        ),
        PLAIN
        | {
            "on": (ConnectionError, TimeoutError),
            "backoff": {TimeoutError: 5, ConnectionError: DOUBLING, ConnectionResetError: 0.5},
        },
        told(call(1), again(1, 5), call(2), again(2, 0.5), call(3), again(3, 4), call(4), well(4)),
        result=1,
    ),
    Scenario(
        "a group is matched if every leaf is",
        (
            raises(
                lambda: ExceptionGroup(
                    "g", [ConnectionError("a"), ExceptionGroup("h", [ConnectionError("b")])]
                )
            ),
            raises(lambda: ExceptionGroup("g", [ConnectionError("a"), KeyError("b")])),
        ),
        PLAIN,
        told(call(1), again(1, 1), call(2)),
        error="ExceptionGroup: g (2 sub-exceptions)",
    ),
    Scenario(
        "results that are failures",
        (give("bad"), give("worse"), give("good")),
        PLAIN | {"on_result": lambda result: result != "good"},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), well(3)),
        result="good",
        forms=FUNCTIONS,
    ),
    Scenario(
        "the last result is returned when trying ends",
        (give("bad"), fail("e2"), give("worse")),
        PLAIN | {"on_result": lambda result: True, "attempts": 3},
        told(call(1), again(1, 1), call(2), again(2, 2), call(3), over(3, "attempts")),
        result="worse",
        forms=FUNCTIONS,
    ),
    Scenario(
        "cancelled after a refused result: there is no last failure to name",
        (cancels("stop it", give("bad")),),
        PLAIN | {"on_result": lambda result: True},
        told(call(1), over(1, "cancelled")),
        error="Cancelled: stop it",
        reason="cancelled",
        forms=FUNCTIONS,
    ),
)
