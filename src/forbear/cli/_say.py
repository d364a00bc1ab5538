"""
What forbear's own commands say on standard error, and how they read their arguments.

Law: one line a message, prefixed, and saying it never fails: a closed standard error is no reason
to end a command early. A wrong argument is a ConfigError, as everywhere in the library.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from forbear._notes import one_line
from forbear.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

__all__ = ["Parser", "say"]


def say(text: str) -> None:
    """Write one line of forbear's own to standard error."""
    if sys.stderr is None:  # closed from the start; `print` would take standard output instead
        return
    with suppress(OSError, ValueError):
        sys.stderr.write(f"forbear: {one_line(text)}\n")
        sys.stderr.flush()


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are ConfigErrors, so that each command ends in its own way."""

    def __init__(self, prog: str, description: str, epilog: str, usage: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            allow_abbrev=False,  # `--att 3` would break in the release that adds another --att...
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse itself would not tell that it could not be written."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse complains about."""
        raise ConfigError(f"{message}; see {self.prog} --help")
