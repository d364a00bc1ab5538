"""
The command `forbear`: which word leads where, and how each of them ends.

Law: a command is imported only when it was asked for, so `forbear explain` pays for no server and
no event loop. A wrong argument is told in one line, never in a traceback; commands raise
ConfigError, and here it becomes that line and the exit code.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from forbear.errors import ConfigError

from ._say import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]

FAILED, MISUSED, RUN_FAILED, INTERRUPTED, PIPE_CLOSED = 1, 2, 125, 130, 141

HELP = """\
usage: forbear COMMAND ...

Retries with backoff, from the command line.

commands:
  explain    what a policy does at worst: its waits as a table and a picture
  run        retry a command, with the exit codes of coreutils' timeout
  demo       a real server that is killed and comes back (extra: forbear[demo])

options:
  -h, --help     this text; `forbear COMMAND --help` has more
  --version      the version

example:
  forbear run --attempts 5 --on-exit 75 -- rsync -a source/ host:target/
"""


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run one command, and return the exit code.

    Args:
        argv: The arguments after `forbear`; those of the process if left out.
    """
    word, *rest = [*(sys.argv[1:] if argv is None else argv)] or [""]
    try:
        return _ended(word, rest)
    except ConfigError as error:
        say(str(error))
        # 2 would pass for an exit code of the command that `run` was to run.
        return RUN_FAILED if word == "run" else MISUSED
    except BrokenPipeError:
        _close_stdout()
        return PIPE_CLOSED
    except OSError as error:  # a full disk, say
        _close_stdout()
        say(f"can't write: {error.strerror}")
        return RUN_FAILED if word == "run" else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if word != "run":
            raise
        # A defect of ours; exit code 1 would pass for one of the command's.
        sys.excepthook(type(error), error, error.__traceback__)
        return RUN_FAILED


def _ended(word: str, rest: list[str]) -> int:
    """Run one command until all it has printed is written, because that may fail as well."""
    try:
        code = _command(word)(rest)
    except SystemExit as end:  # how argparse ends after a help text
        code = end.code if isinstance(end.code, int) else 0
    if sys.stdout is not None:  # None: it was closed from the start
        sys.stdout.flush()
    return code


def _command(word: str) -> Callable[[list[str]], int]:
    if word == "explain":
        from .explain import explain  # noqa: PLC0415 (see the law)

        return explain
    if word == "run":
        if os.name != "posix":
            raise ConfigError("forbear run needs process groups and signals, so a POSIX system")
        from .run import run  # noqa: PLC0415

        return run
    if word == "demo":
        from .demo import demo  # noqa: PLC0415

        return demo
    if word in {"-h", "--help", "help"}:
        return _help
    if word in {"-V", "--version"}:
        return _version
    if not word:
        return _no_command
    raise ConfigError(
        f"the command must be explain, run or demo, not {word!r:.80}; for example forbear explain"
    )


def _help(_: list[str]) -> int:
    print(HELP, end="")
    return 0


def _no_command(_: list[str]) -> int:
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(HELP)
    return MISUSED


def _version(_: list[str]) -> int:
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (rare, and slow)

    try:
        print(f"forbear {version('forbear')}")
    except PackageNotFoundError:
        print("forbear (from a source tree that is not installed)")
    return 0


def _close_stdout() -> None:
    """Replace a pipe that `| head` has closed, because Python flushes it once more at its end."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
