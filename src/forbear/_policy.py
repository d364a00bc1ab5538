"""
The face of the library: a policy and the ways to use it.

Law: each way means the same, and none of them decides anything: what follows a failure is `_run`'s part. `call`
and `acall` are written out here, and are the plainest form of what `_wrap` compiles for each signature.
"""

from __future__ import annotations

from . import _explain, _frames, _notes
from ._block import AsyncAttempts, Attempts
from ._drive import (
    adealt,
    arefused,
    asettled,
    asucceeded,
    awaited,
    dealt,
    refused,
    settled,
    succeeded,
    waited,
)
from ._kinds import kind_of
from ._limits import AttemptCut, acut_off, open_cut
from ._notes import EPOCH
from ._rules import Rules
from ._run import Run
from ._scope import close_limit, open_limit
from ._wrap import check, wrap
from .errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any, ParamSpec, TypeVar

    from ._explain import Explanation

    F = TypeVar(
        "F", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]"
    )
    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["Policy", "retry"]

_frames.callers.add(__file__)


class Policy(Rules):
    """
    Say what is tried again, how often, for how long, and how long to wait in between.

    It is immutable and shared freely: what one call remembers lives in that call. Giving up raises the
    function's own last exception, with a note that says why; `forbear.reason(error)` gives the word.

    >>> from forbear import Constant, retry
    >>> calls = iter([ConnectionError("refused"), "hello"])
    >>> @retry(on=ConnectionError, attempts=3, backoff=Constant(0))
    ... def fetch():
    ...     answer = next(calls)
    ...     if isinstance(answer, Exception):
    ...         raise answer
    ...     return answer
    >>> fetch()
    'hello'

    Args:
        on: What is retried: an exception type, a tuple of them, or a predicate of the exception. It has no
            default, on purpose. Cancellations and exits are never retried, whatever it says.
        giveup: A type, tuple or predicate that wins over `on`.
        on_result: A predicate over the returned value: true means "failed, try again". When trying ends, the
            last value is returned.
        attempts: Calls in all, the first included; None: no limit.
        total_timeout: Seconds for the whole call, waits included, as if it ran inside `scope(timeout=...)`: no
            wait begins that would end later, and an async call is also cut off.
        attempt_timeout: Seconds for one attempt, async only: it is cancelled and fails with TimeoutError, which
            is retried whatever `on` says.
        backoff: How long to wait: a backoff, a number of seconds, or a dict of exception type to either; there
            the most special type wins.
        hint: Reads seconds from an error (or a result), which take the place of the backoff's delay. By default
            the error's `retry_after` attribute; None reads nothing.
        hint_jitter: A hint is obeyed never earlier, and later by up to this share of it.
        max_hint: Seconds above which a hint ends the trying; None: no limit.
        nested: What to do with an error that an inner policy has already retried to the end: `"warn"` and go on,
            `"stop"`, or `"allow"`.
        name: For logs and events; the function's qualified name if left out.
        describe: Gives the text of an error for notes and logs; by default `Type: message` on one line.
        on_retry: Told of each retry, before its wait.
        on_giveup: Told when trying ends without success.
        on_success: Told of each success.

    Raises:
        ConfigError: An argument can't work.
    """

    __slots__ = ()

    def __call__(self, fn: F, /) -> F:
        """
        Decorate a function: plain, async, a generator, a method, a partial, a callable object.

        The wrapper has the function's own signature. A generator is retried until its first item, then errors
        pass; what a plain function hands back is not looked at.

        Args:
            fn: The function; a `classmethod` or `staticmethod` object gets the function inside it decorated.

        Raises:
            ConfigError: It is no function, or the policy can't apply to its kind.
        """
        decorated: F = wrap(self, fn)
        return decorated

    def call(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """
        Call a plain function once under this policy, and return what it returns.

        Args:
            fn: A plain function; an async one is refused.

        Raises:
            ConfigError: The function is async, or the policy can't apply to it.
        """
        kind = kind_of(fn)
        if kind != "function":
            raise ConfigError(
                f"call must be given a plain function, not {_a(kind)} ({_notes.label(fn)}); {_use(kind)}"
            )
        check(self, fn, kind)
        began = EPOCH.count
        run: Run | None = None
        limit = None if self.total_timeout is None else open_limit(self.total_timeout)
        try:
            while True:
                try:
                    result = fn(*args, **kwargs)
                except BaseException:
                    run = dealt(run, self, fn, began)
                    if run is None:
                        raise
                else:
                    if run is not None:
                        run = settled(run, result)
                    elif self.on_result is not None and self.on_result(result):
                        run = refused(Run(self, fn, began), result)
                    elif self.on_success is not None:
                        succeeded(self, fn, result)
                    if run is None:
                        return result
                if waited(run) is None:
                    raise run.pop()
        finally:
            if limit is not None:
                close_limit(limit)

    async def acall(self, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """
        Call an async function once under this policy, on asyncio or trio, and return what it returns.

        Args:
            fn: An async function; a plain one is refused.

        Raises:
            ConfigError: The function is not async, or the policy can't apply to it.
        """
        kind = kind_of(fn)
        if kind != "async":
            raise ConfigError(
                f"acall must be given an async function, not {_a(kind)} ({_notes.label(fn)}); {_use(kind)}"
            )
        began = EPOCH.count
        run: Run | None = None
        cut: AttemptCut | None = None
        limit = None if self.total_timeout is None else open_cut(self.total_timeout)
        try:
            while True:
                try:
                    cut = None if self.attempt_timeout is None else AttemptCut(self)
                    with cut or NOTHING:
                        result = await fn(*args, **kwargs)
                except BaseException:
                    run = await adealt(run, self, fn, began, cut)
                    if run is None:
                        raise
                else:
                    if run is not None:
                        run = await asettled(run, result)
                    elif self.on_result is not None and self.on_result(result):
                        run = await arefused(Run(self, fn, began), result)
                    elif self.on_success is not None:
                        await asucceeded(self, fn, result)
                    if run is None:
                        return result
                if await awaited(run) is None:
                    raise run.pop()  # noqa: TRY301 (here, so that no frame of forbear's stands between)
        except BaseException:
            if limit is not None and limit.is_over():
                raise await acut_off(self, fn, limit)  # noqa: B904 (it has its cause)
            raise
        finally:
            if limit is not None:
                limit.close()

    def __iter__(self) -> Attempts:
        """Begin a block: `for attempt in policy:` and in it `with attempt:`."""
        if self.attempt_timeout is not None:
            raise ConfigError(
                f"attempt_timeout={self.attempt_timeout:g} can't cut off a sync block; write `async for`, or give the "
                "client a timeout of its own"
            )
        return Attempts(self)

    def __aiter__(self) -> AsyncAttempts:
        """Begin an async block: `async for attempt in policy:` and in it `with attempt:`."""
        return AsyncAttempts(self)

    def explain(self) -> Explanation:
        """
        Return what this policy does at worst: calls, seconds of waiting, and the table of waits.

        >>> from forbear import Exponential, retry
        >>> print(retry(on=OSError, attempts=3, backoff=Exponential(jitter="none")).explain().calls)
        3
        """
        return _explain.explain(self)


class _Nothing:
    """A context manager that does nothing."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        return None


NOTHING: AbstractContextManager[None] = _Nothing()


def _a(kind: str) -> str:
    return {"function": "a plain one"}.get(
        kind, f"an {kind} one" if kind.startswith("a") else f"a {kind}"
    )


def _use(kind: str) -> str:
    use = {
        # A lambda that hands back a coroutine is a plain function too, and call would not await it.
        "function": "use policy.call, or make it an async def if it returns something to await",
        "async": "use await policy.acall",
    }
    return use.get(kind, "decorate it with the policy instead")


retry = Policy
