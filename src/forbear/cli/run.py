"""
`forbear run -- command`: a command under a policy, with the exit codes of coreutils' `timeout`.

Law: the policy decides, as everywhere; a failed attempt is an exception that it is given. This file
reads the options, writes a line a retry, and turns the outcome into an exit code:

    0            the command succeeded
    124          the last attempt was cut off by a time limit; 137 if it had to be killed
    125          forbear run itself failed
    126, 127     the command can't be run, or is not found
    128 + n      signal n ended the command, or came while none ran
    130          Ctrl-C, however the command took it, unless it succeeded
    else         what the command's last attempt ended with
"""

from __future__ import annotations

import argparse
import signal

from forbear import Cancelled, reason, remaining, retry, scope
from forbear._explain import duration
from forbear.errors import ConfigError

from ._attempt import BY_SIGNAL, CANT_RUN, NOT_FOUND, CommandFailed, Watch, start
from ._input import Input
from ._say import Parser, say
from ._signals import Signals, name_of
from ._spec import Spec, attempts_of, limit_of, seconds_of
from ._terminal import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from forbear import Event, Policy, Scope

__all__ = ["run"]

FAILED = 125

NOT_RETRIED = (CANT_RUN, NOT_FOUND)  # unless `--on-exit` names them: no second try finds a command

REASONS = {
    "timeout": "; --total-timeout leaves no time for another",
    "backoff": "; the backoff stops here",
}

EPILOG = """\
BACKOFF is a name and its parameters, seconds, or a preset; forbear explain shows what it does:
  exponential:base=0.1,factor=2,cap=20,jitter=full      2      kubernetes
Seconds may have a unit: 500ms, 20s, 2min, 1h.

A time limit that is over ends the command's whole process group. So does --kill-after after a
TERM, HUP, QUIT or INT that was passed on to it; after a Ctrl-C at a terminal only if it is
pressed again. What is left of a failed attempt is ended before the next.

exit codes: 124 a time limit, 125 forbear run itself failed, 126 the command can't be run, 127 it
is not found, 128+n ended by signal n, 130 Ctrl-C; else the command's own last exit code.

example:
  forbear run --attempts 5 --attempt-timeout 10min --on-exit 75 -- rsync -a source/ host:target/
"""


def run(argv: list[str]) -> int:
    """
    Run a command until it succeeds or the policy gives up, and return the exit code.

    Args:
        argv: The arguments after `forbear run`.

    Raises:
        ConfigError: The arguments can't work.
    """
    options = _parse(argv)
    try:
        return Command(options).run()
    except OSError as error:  # no process to be had, no room for the input
        say(f"forbear run failed: {error}")
        return FAILED


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = Parser(
        "forbear run",
        "Run a command, and run it again while it fails.",
        EPILOG,
        usage="forbear run [options] -- COMMAND [ARGUMENT ...]",
    )
    add = parser.add_argument
    add("--attempts", metavar="N", help="runs in all, the first included, or none (default: 5)")
    add("--total-timeout", metavar="S", help="seconds for all attempts and waits, or none")
    add("--attempt-timeout", metavar="S", help="seconds for one attempt, or none")
    add("--backoff", metavar="BACKOFF", default="exponential", help="how long to wait (see below)")
    add("--on-exit", metavar="N,N", help="exit codes to retry (default: all but 0, 126 and 127)")
    add("--kill-after", metavar="S", default="5", help="seconds from TERM to KILL (default: 5)")
    add(
        "--stdin",
        choices=("auto", "spool"),
        default="auto",
        help="spool reads a pipe to its end first, so that each attempt gets all of it; a file is "
        "always rewound",
    )
    add("-q", "--quiet", action="store_true", help="no lines of forbear's own")
    add("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command:
        parser.error("a command is missing; for example forbear run --attempts 3 -- make fetch")
    return options


def _codes(text: str | None) -> frozenset[int] | None:
    """Read the exit codes of `--on-exit`; None: it was not given."""
    if text is None:
        return None
    codes = [int(part) if part.strip().isdecimal() else 0 for part in text.split(",")]
    if not all(1 <= code <= 255 for code in codes):
        raise ConfigError(
            "--on-exit must name exit codes from 1 to 255, with commas between them, "
            f"not {text!r:.80}; for example --on-exit 1,75"
        )
    return frozenset(codes)


class Command:
    """A command and how it is to be tried."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._command: list[str] = options.command
        self._on_exit = _codes(options.on_exit)
        self._limit = limit_of("--attempt-timeout", options.attempt_timeout)
        self._kill_after = seconds_of("--kill-after", options.kill_after, example="--kill-after 5")
        self._spools: bool = options.stdin == "spool"
        self._quiet: bool = options.quiet
        self._tries = 0
        self._input = Input()
        self._policy: Policy = retry(
            on=self._is_retried,
            attempts=attempts_of(options.attempts),
            total_timeout=limit_of("--total-timeout", options.total_timeout),
            backoff=Spec.read(options.backoff).backoff(),
            hint=None,
            name=self._command[0].rpartition("/")[2] or "forbear run",
            describe=_text,
            on_retry=self._tell_retry,
        )

    def run(self) -> int:
        """Try until it succeeds or the policy gives up, and return the exit code."""
        with scope() as around, Signals(around) as signals, Terminal() as terminal:
            failure: BaseException | None
            try:
                if self._spools:
                    self._input.spool(around, signals)
                self._policy.call(lambda: self._attempt(around, signals, terminal))
            except CommandFailed as error:
                failure = error
            except Cancelled as error:
                failure = error.__cause__
            else:
                return 0
            known = failure if isinstance(failure, CommandFailed) else None
            self._tell_end(known, signals.first)
            return _code(known, signals.first)

    def _attempt(self, around: Scope, signals: Signals, terminal: Terminal) -> None:
        signals.take()  # those that came while no command ran were for nobody
        around.check()
        self._tries += 1
        self._input.rewind()
        limits = [limit for limit in (self._limit, remaining()) if limit is not None]
        with signals.no_stop():
            watch = Watch(
                start(self._command),
                signals,
                terminal,
                limit=min(limits, default=None),
                kill_after=self._kill_after,
            )
        watch.to_end()

    def _is_retried(self, error: Exception) -> bool:
        if not isinstance(error, CommandFailed):
            return False
        if error.timed_out:
            return True  # as with a policy's own `attempt_timeout`, whatever else is named
        if self._on_exit is not None:
            # 126 and 127 too: who names them means them (a command on a mount that comes and goes).
            return error.code in self._on_exit
        return error.code not in NOT_RETRIED

    # -- what is told

    def _tell_retry(self, event: Event) -> None:
        if self._quiet:
            return
        of_all = "" if self._policy.attempts is None else f" of {self._policy.attempts}"
        say(f"attempt {event.attempt}{of_all}: {event.error}; {_next(event.delay)}")
        if self._input.is_pipe and event.attempt == 1:
            say(
                "standard input is a pipe: the next attempt gets what is left of it; "
                "--stdin spool keeps it for each"
            )

    def _tell_end(self, failure: CommandFailed | None, first: int | None) -> None:
        if self._quiet and (failure is None or failure.started):
            return
        times = f"{self._tries} attempt{'s' * (self._tries != 1)}"
        if first is not None:
            say(f"{name_of(first)} after {times}: nothing is tried again")
            return
        if failure is None:
            return
        why = reason(failure)
        if why is not None:
            say(f"gave up after {times}: {failure}{REASONS.get(why, '')}")
        elif self._tries > 1 or not failure.started:
            say(f"{failure}; this is not tried again")


def _next(delay: float | None) -> str:
    return f"next in {duration(delay)}" if delay else "next at once"


def _text(error: BaseException) -> str:
    return str(error)


def _code(failure: CommandFailed | None, first: int | None) -> int:
    """
    Return the exit code that stands for the last failure, and for the signal that asked for an end.

    A supervisor that sends TERM wants to see how the command took it. Who presses Ctrl-C wants an
    end of everything, and 130 is what shells and `make` end on.
    """
    if first is not None and (first == signal.SIGINT or failure is None or not failure.asked):
        return BY_SIGNAL + first
    return FAILED if failure is None else failure.code
