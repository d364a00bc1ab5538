"""
Jitter: the share of a delay that is left to chance, so that those who failed together don't return
together.

Law: a jitter is given a delay that is already capped. So chance never dies at the cap: with the cap
applied last, all but a few delays of a long outage are exactly the cap, and the herd is back in
step. This file must not know how the delay came about.
"""

from __future__ import annotations

import sys

from ._duration import number, shown
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    Jitter = Literal["none", "full", "equal"] | float

__all__ = ["EQUAL", "FULL", "MAX", "NONE", "check_jitter", "jittered"]

MAX = sys.float_info.max

# What `delay` branches on: comparing small ints is cheaper than comparing words.
NONE, FULL, EQUAL, SHARE = range(4)
_WORDS: dict[Literal["none", "full", "equal"], int] = {"none": NONE, "full": FULL, "equal": EQUAL}


def check_jitter(jitter: object) -> tuple[Jitter, int, float]:
    """
    Return a jitter as it is to be shown, its code, and its share.

    >>> check_jitter("full"), check_jitter(1)
    (('full', 1, 0.0), (1.0, 3, 1.0))
    >>> check_jitter(2)
    Traceback (most recent call last):
    ...
    forbear.errors.ConfigError: jitter must be "none", "full", "equal" or a number above 0 and at \
most 1, not 2; for example jitter="full"
    """
    if isinstance(jitter, str):
        for word, code in _WORDS.items():
            if jitter == word:
                return word, code, 0.0
    else:
        try:
            share = number("jitter", jitter, low=0.0, high=1.0, above=True)
        except ConfigError:
            pass
        else:
            return share, SHARE, share
    # A share above 1 would make delays negative. A share of 0 is a way to say "none", but who
    # computes it should see that nothing is spread any more.
    zero = isinstance(jitter, int | float) and not isinstance(jitter, bool) and jitter == 0
    works = 'jitter="none"' if zero else 'jitter="full"'
    raise ConfigError(
        'jitter must be "none", "full", "equal" or a number above 0 and at most 1, '
        f"not {shown(jitter)}; for example {works}"
    )


def jittered(delay: float, code: int, share: float, random: Callable[[], float]) -> float:
    """
    Return a delay with its share of chance.

    A share is a number r for `delay * U(1 - r, 1 + r)`: the only jitter that may pass the cap.
    Without jitter no random number is drawn.

    >>> [jittered(8.0, code, 0.25, lambda: 0.75) for code in (NONE, FULL, EQUAL, SHARE)]
    [8.0, 6.0, 7.0, 9.0]
    """
    if code == FULL:
        return delay * random()
    if code == NONE:
        return delay
    if code == EQUAL:
        return delay * (0.5 + 0.5 * random())
    # In this order of operations no rounding can carry the result out of [1 - share, 1 + share].
    delay *= 1.0 + share * (2.0 * random() - 1.0)
    return min(delay, MAX)
