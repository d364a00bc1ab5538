"""
What is written about a failure: its text on one line, the note, and the mark that outer policies read.

Law: whatever an error object does (a `str()` that raises, megabytes of text, no room for attributes, a cycle of
causes), writing about it neither fails nor grows. The mark is plain data, so that a marked error pickles for
readers without forbear. This file must not know policies or clocks.
"""

from __future__ import annotations

import _thread
import functools
import os

from . import _frames
from .errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "EPOCH",
    "describe",
    "find_mark",
    "glance",
    "label",
    "mark",
    "mark_inside",
    "may_have_mark",
    "one_line",
    "reason",
]

LONGEST = 500
DEPTH = 64  # groups in groups
WIDTH = 1024  # errors in all: chains can be cyclic, and whoever raised them must not be able to hang a retry
MARK = "__forbear__"


class Epoch:
    """How many times trying has ended in this process; while it stands still, there is no mark to look for."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


EPOCH = Epoch()
_counting = _thread.RLock()  # reentrant, because a signal handler may count too

# Reason, epoch, process, policy, the note's text; and where it was made: thread, forbear's frames (`_frames`).
Mark = tuple[str, int, int, str, str, int, tuple[int, ...]]


def next_epoch() -> int:
    """Count one more end of trying; from any thread, and from a signal handler in the middle of itself."""
    with _counting:
        epoch = EPOCH.count + 1
        if epoch > EPOCH.count:  # noqa: PLR1730 (a signal handler can run inside of max, not between these two)
            EPOCH.count = epoch
    return epoch


def _new_lock() -> None:
    global _counting  # noqa: PLW0603 (in a child, whoever held it is not there)
    _counting = _thread.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


def one_line(text: str, longest: int = LONGEST) -> str:
    r"""
    Return the text on one line of printable characters, cut to a length.

    >>> one_line("  two\n lines\x1b[31m ")
    'two lines\\x1b[31m'
    """
    cut = len(text) > longest * 4
    text = " ".join(text[: longest * 4].split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text[: longest - 3] + "..." if cut or len(text) > longest else text


def describe(error: BaseException) -> str:
    r"""
    Return `Type: message` on one line, at most 500 characters, whatever `str()` does.

    >>> describe(ConnectionError("refused\nby peer"))
    'ConnectionError: refused by peer'
    >>> describe(TimeoutError())
    'TimeoutError'
    """
    name = type(error).__name__
    try:
        text = str.__str__(str(error))  # an exact str: a subclass could misbehave later
    except Exception as failure:  # noqa: BLE001 (somebody else's __str__ may raise anything)
        text = f"<its text can't be had: {type(failure).__name__}>"
    return one_line(f"{name}: {text}" if text else name)


def label(fn: object) -> str:
    """Return a name for a function, a partial or a callable object."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    text = fn if isinstance(fn, str) else getattr(fn, "__qualname__", None) or type(fn).__qualname__
    return one_line(str(text), 200)


def glance(error: BaseException) -> str:
    """Return the raw text of an error, cut but not yet made one line: cheap enough for every failure."""
    try:
        text = str(error)[: LONGEST * 4]
    except Exception:  # noqa: BLE001 (somebody else's __str__)
        return describe(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def glance_at(kind: type, arguments: tuple[object, ...]) -> str:
    """Return the raw text of an error of which only type and arguments are left."""
    try:
        text = (
            str(arguments[0] if len(arguments) == 1 else arguments)[: LONGEST * 4]
            if arguments
            else ""
        )
    except Exception as failure:  # noqa: BLE001 (somebody else's __str__)
        text = f"<its text can't be had: {type(failure).__name__}>"
    return f"{kind.__name__}: {text}" if text else kind.__name__


def text_of(kind: type | None, entry: str | tuple[object, ...]) -> str:
    """Return the text of a remembered failure on one line: it was kept, or its type and arguments were."""
    if isinstance(entry, str) or kind is None:
        return one_line(str(entry))
    # The error itself was let go, because its traceback keeps frames alive.
    return one_line(glance_at(kind, entry))


def name_of(name: str | None, fn: object) -> str:
    """Return a policy's name, else the function's."""
    return label(fn) if name is None else one_line(name, 200)


def described(error: BaseException, how: Callable[[BaseException], object]) -> str:
    """Return the text of an error by the user's own `describe`, or by ours where theirs fails."""
    if how is not describe:
        try:
            text = how(error)
        except Exception:  # noqa: BLE001 (a broken describe must not hide the failure it describes)
            text = None
        if isinstance(text, str):
            return one_line(text)
    return describe(error)


def mark(error: BaseException, why: str, policy: str, note: str, *, own: bool) -> None:
    """
    Leave one note and one mark on an error; an older one of ours is replaced.

    An object that takes neither is left alone.

    Args:
        own: Whether the innermost of our frames belongs to the very call that gives up. It is left out: only
            calls around it can ask for it.
    """
    old = _mark_of(error)
    made: Mark = (
        why,
        next_epoch(),
        os.getpid(),
        policy,
        note,
        _thread.get_ident(),
        _frames.here()[own:],
    )
    try:
        notes = getattr(error, "__notes__", None)
        if old is not None and isinstance(notes, list) and old[4] in notes:
            notes[notes.index(old[4])] = note
        else:
            error.add_note(note)
    except Exception:  # noqa: BLE001, S110 (its own add_note may raise anything)
        pass
    try:
        setattr(error, MARK, made)
    except Exception:  # noqa: BLE001, S110 (frozen by its own __setattr__)
        pass


def _mark_of(error: BaseException) -> Mark | None:
    """Return the mark on this very object; what is not ours to the letter is no mark."""
    try:
        found = getattr(error, MARK, None)
    except Exception:  # noqa: BLE001 (a __getattr__ of its own)
        return None
    if type(found) is not tuple or tuple(map(type, found)) != (str, int, int, str, str, int, tuple):
        return None
    return found


def _made_inside(found: Mark, since: int | None) -> bool:
    """
    Tell whether a mark was made during the call that asks.

    A decorated sync function notes nothing when it is called, because success costs nothing; so it asks whether
    its own frame was on the stack when the mark was made. A mark from another thread or process came with
    something that this call waited for. All others know their beginning by the count.
    """
    if found[2] != os.getpid():
        return True
    if since is not None:
        return found[1] > since
    return found[5] != _thread.get_ident() or _frames.own() in found[6]


def may_have_mark(error: BaseException) -> bool:
    """Tell whether a closer look for a mark is worth its time."""
    if (
        error.__context__ is not None
        or error.__cause__ is not None
        or isinstance(error, BaseExceptionGroup)
    ):
        return True
    return _mark_of(error) is not None


def find_mark(
    error: BaseException | None, counts: Callable[[Mark], bool] | None = None
) -> Mark | None:
    """
    Return the mark of an error, of what caused it, or of all members of a group, or None.

    Looked for along `__cause__`, else along a `__context__` that is not suppressed.

    Args:
        counts: Which marks count; all if left out.
    """
    return _find(error, counts, [WIDTH], 0)


def mark_inside(error: BaseException, since: int | None) -> Mark | None:
    """
    Return the mark that was made during the call that asks, from within its own frame.

    Args:
        since: The count of `EPOCH` when the call began, or None where it is not known.
    """
    return find_mark(error, lambda found: _made_inside(found, since))


def _find(
    error: BaseException | None,
    counts: Callable[[Mark], bool] | None,
    budget: list[int],
    depth: int,
) -> Mark | None:
    while error is not None and budget[0] > 0:
        budget[0] -= 1
        found = _mark_of(error)
        if found is not None and (counts is None or counts(found)):
            return found
        if isinstance(error, BaseExceptionGroup) and depth < DEPTH:
            marks = [
                _find(member, counts, budget, depth + 1) for member in error.exceptions[:WIDTH]
            ]
            if all(marks):
                return marks[0]
        if error.__cause__ is not None:
            error = error.__cause__
        else:
            error = None if error.__suppress_context__ else error.__context__
    return None


def reason(error: BaseException) -> str | None:
    """
    Return why trying ended with this error, or None if no policy gave it up.

    One of `"attempts"`, `"timeout"`, `"backoff"`, `"budget"`, `"permanent"`, `"hint"`, `"nested"` and
    `"cancelled"`. An error raised from such an error has its reason, and so has a group of them.

    >>> from forbear import retry, Constant
    >>> try:
    ...     retry(on=ZeroDivisionError, attempts=2, backoff=Constant(0)).call(divmod, 1, 0)
    ... except ZeroDivisionError as error:
    ...     print(reason(error))
    attempts
    """
    if isinstance(error, Cancelled):
        return "cancelled"
    found = find_mark(error)
    return None if found is None else found[0]
