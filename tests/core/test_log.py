"""The log: one line a retry, one a giving up, nothing on success, nothing where nobody listens."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import forbear
from forbear import Event, retry
from forbear.testing import virtual_time

from drivers import Lines, logged_to
from outcomes import failing
from processes import output_of
from ways import WAYS, Way


class Oops(Exception):
    """What fails here."""


# -- the log


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_one_warning_a_retry_and_one_error_a_giveup(way: Way, log: Lines) -> None:
    """Each line names the policy, the attempt, the delay or the reason, and the error's type and text."""
    policy = retry(on=Oops, attempts=3, backoff=1.5, name="fetch")
    with virtual_time(), pytest.raises(Oops):
        way.run(policy, failing(Oops("e1"), Oops("e2"), Oops("e3")))
    assert [
        "fetch: attempt 1 of 3 failed, next in 1.5 s: Oops: e1",
        "fetch: attempt 2 of 3 failed, next in 1.5 s: Oops: e2",
        "fetch: gave up after 3 attempts in 3 s (attempts: all 3 attempts): Oops: e3",
    ] == log.lines
    assert ["WARNING", "WARNING", "ERROR"] == [record.levelname for record in log.records]
    assert {"forbear"} == {record.name for record in log.records}
    assert [None] * 3 == [record.exc_info for record in log.records]


def test_the_log_of_a_policy_without_a_limit(log: Lines) -> None:
    """`of` is left out where there is no number to give."""
    with virtual_time():
        retry(on=Oops, attempts=None, backoff=1, name="p").call(failing(Oops("e"), "well"))
    assert ["p: attempt 1 failed, next in 1 s: Oops: e"] == log.lines


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"attempts": 1},
            "p: gave up after 1 attempt in 0 s (attempts: its only attempt): Oops: e",
        ),
        (
            {"total_timeout": 3, "backoff": 5},
            (
                "p: gave up after 1 attempt in 0 s "
                "(timeout: waiting 5 s more would pass the time limit): Oops: e"
            ),
        ),
        (
            {"backoff": forbear.Stop()},
            "p: gave up after 1 attempt in 0 s (backoff: the backoff says stop): Oops: e",
        ),
        (
            {"hint": lambda error: 1000},
            (
                "p: gave up after 1 attempt in 0 s "
                "(hint: asked to wait 1000 s, above max_hint=300): Oops: e"
            ),
        ),
    ],
    ids=["attempts", "timeout", "backoff", "hint"],
)
def test_a_giveup_says_why(given: dict[str, Any], line: str, log: Lines) -> None:
    """The reason in one word, and what it means here."""
    with virtual_time(), pytest.raises(Oops):
        retry(on=Oops, name="p", **given).call(failing(Oops("e")))
    assert [line] == log.lines


def test_a_cancellation_is_logged_as_information(log: Lines) -> None:
    """It is no failure, and nobody's pager should ring at a shutdown."""
    with forbear.scope() as scope, pytest.raises(forbear.Cancelled):
        scope.cancel("shutting down")
        retry(on=Oops, name="p").call(failing(Oops("e")))
    assert ["INFO"] == [record.levelname for record in log.records]
    assert log.lines[0].startswith("p: gave up after 1 attempt in ")
    assert log.lines[0].endswith("s (cancelled: shutting down): Oops: e")


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_nothing_is_logged_on_success(way: Way, log: Lines) -> None:
    """Neither at once nor after failures: the retry's own line has said it all."""
    with virtual_time():
        way.run(retry(on=Oops), failing("well"))
        assert [] == log.lines
        way.run(retry(on=Oops, on_success=lambda event: None), failing(Oops(), "well"))
    assert ["WARNING"] == [record.levelname for record in log.records]


@pytest.mark.parametrize(
    ("level", "kinds"),
    [(logging.INFO, "WE"), (logging.WARNING, "WE"), (logging.ERROR, "E"), (logging.CRITICAL, "")],
)
def test_the_level_of_the_logger_counts(level: int, kinds: str) -> None:
    """As with every logger."""
    handler = Lines()
    with logged_to(handler, level), virtual_time(), pytest.raises(Oops):
        retry(on=Oops, attempts=2).call(failing(Oops()))
    assert kinds == "".join(record.levelname[0] for record in handler.records)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.id)
def test_the_arguments_of_a_call_are_told_to_nobody(
    way: Way, log: Lines, told: list[Event]
) -> None:
    """They may be secrets: no line, no note and no event has them."""

    def fetch(password: str, *, token: str) -> None:
        raise Oops("refused")

    policy = retry(on=Oops, attempts=2, backoff=1)
    with virtual_time(), pytest.raises(Oops) as caught:
        if way.form == "decorator" and not way.is_async:
            policy(fetch)("hunter2", token="hunter2")
        elif way.form == "call" and not way.is_async:
            policy.call(fetch, "hunter2", token="hunter2")
        else:
            way.run(policy, lambda: fetch("hunter2", token="hunter2"))
    assert 2 == len(log.lines) == len(told)
    seen = [
        *log.lines,
        *caught.value.__notes__,
        *map(repr, told),
        *(str(r.__dict__) for r in log.records),
    ]
    assert not any("hunter2" in text for text in seen)


def test_a_result_is_not_logged(log: Lines) -> None:
    """A refused result is named by its type; what it holds may be secret, or megabytes."""
    with virtual_time():
        retry(on=Oops, on_result=lambda result: True, attempts=2, name="p").call(failing("hunter2"))
    assert log.lines
    assert all(line.endswith("result refused: str") for line in log.lines)


# -- where nobody listens


def test_without_a_handler_nothing_is_written() -> None:
    """Python's handler of last resort would write to standard error; a library doesn't."""
    program = """
        import logging, forbear
        policy = forbear.retry(on=ZeroDivisionError, attempts=2, backoff=0)
        try:
            policy.call(divmod, 1, 0)
        except ZeroDivisionError as error:
            print(forbear.reason(error))
    """
    assert ["attempts"] == output_of(program)


def test_a_handler_given_later_is_found() -> None:
    """Logging may be imported and configured after the first failures."""
    program = """
        import sys, forbear
        policy = forbear.retry(on=ZeroDivisionError, attempts=2, backoff=0, name="p")
        def fail():
            try:
                policy.call(divmod, 1, 0)
            except ZeroDivisionError:
                pass
        fail()
        assert "logging" not in sys.modules
        import logging
        fail()
        logging.basicConfig(stream=sys.stdout, format="%(levelname)s %(name)s %(message)s")
        fail()
    """
    first, second = output_of(program)
    assert first.startswith(
        "WARNING forbear p: attempt 1 of 2 failed, next in 0 s: ZeroDivisionError"
    )
    assert second.startswith("ERROR forbear p: gave up after 2 attempts")


def test_importing_logs_nothing_and_gives_no_handler() -> None:
    """A logger exists once somebody has failed; its level and handlers are the application's."""
    program = """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)
        import forbear, forbear.presets, forbear.testing
        forbear.retry(on=OSError)(len)("abc")
        logger = logging.getLogger("forbear")
        print(logger.handlers, logger.level, logger.propagate)
    """
    assert ["[] 0 True"] == output_of(program)
