"""
`forbear explain`: what a policy does at worst, before production finds it out.

Law: the library works it out, by `Policy.explain`; here words become a policy, and its explanation
text or JSON. The keys of the JSON are a promise: more may come, these stay.

    backoff          text: the backoff, as Python
    attempts         calls that the policy allows, or null
    total_timeout    seconds, or null
    attempt_timeout  seconds, or null
    calls            calls at most, or null: no limit
    seconds          seconds at most, calls and waits together, where calls can be cut off (async
                     ones, and the commands of `forbear run`); null: nothing limits them
    waiting          low, typical, high: seconds of waiting in all; high is null where there is no end
    rides_out        the same three: seconds of an outage after which a call still succeeds
    waits            for each: after_failure (from 1), low, typical, high
    complete         whether `waits` has all of them
"""

from __future__ import annotations

import math

from forbear import presets, retry

from ._say import Parser
from ._spec import EXAMPLES, Spec, attempts_of, limit_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from forbear import Policy
    from forbear._explain import Explanation

__all__ = ["explain"]

PARAMETERS = {
    "base": ("S", "seconds of the first wait"),
    "factor": ("X", "what each wait is multiplied by for the next"),
    "step": ("S", "seconds that each wait is longer than the one before"),
    "power": ("X", "how steeply a polynomial grows"),
    "cap": ("S", "seconds of the longest wait before jitter, or none"),
    "jitter": ("JITTER", "none, full, equal, or a share above 0 and at most 1"),
    "delays": ("S,S", "seconds of each wait"),
    "then": ("THEN", "what follows the delays: stop or repeat"),
}

EPILOG = f"""\
S is seconds, and may have a unit: 500ms, 20s, 2min, 1h. BACKOFF is seconds, or a name and its
parameters, which may also be given as options:
{chr(10).join(f"  {example}" for example in EXAMPLES.values())}
or a preset, that is, the settings of a known system:
  {" ".join(name.lower() for name in presets.__all__)}

examples:
  forbear explain kubernetes --attempts 10
  forbear explain exponential:base=0.1,cap=5 --total-timeout 30
  forbear explain --base 0.1 --cap 5 --jitter equal --attempt-timeout 2
  forbear explain --delays 0.1,1,10 --json
"""


def explain(argv: list[str]) -> int:
    """
    Print what a policy does at worst, and return the exit code.

    Args:
        argv: The arguments after `forbear explain`.
    """
    options = _parser().parse_args(argv)
    policy = _policy(options)
    told = policy.explain()
    limit = limit_of("--attempt-timeout", options.attempt_timeout)
    if options.json:
        import json  # noqa: PLC0415 (where it is asked for)

        print(json.dumps(_readable(as_dict(policy, told, limit)), indent=2))
    else:
        from ._picture import Screen, lines  # noqa: PLC0415

        most = None if limit is None else worst(told, limit)
        print("\n".join(lines(told, _title(policy, limit), Screen.of_stdout(), most)))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "forbear explain",
        "Print what a policy does at worst: its waits and their bounds after jitter, the calls and\n"
        "seconds that they come to, and how long an outage it rides out.",
        EPILOG,
        usage="forbear explain [BACKOFF] [options]",
    )
    add = parser.add_argument
    add("what", nargs="?", metavar="BACKOFF", help="how long to wait (default: exponential)")
    add("--attempts", metavar="N", help="calls in all, the first included, or none (default: 5)")
    add("--total-timeout", metavar="S", help="seconds for all calls and waits together, or none")
    add("--attempt-timeout", metavar="S", help="seconds for one call, or none")
    add("--backoff", metavar="BACKOFF", help="the same as the argument")
    for name, (metavar, text) in PARAMETERS.items():
        add(f"--{name}", metavar=metavar, help=text)
    add("--json", action="store_true", help="print JSON for programs")
    return parser


def _policy(options: argparse.Namespace) -> Policy:
    spec = _spec(options)
    for name in PARAMETERS:
        text: str | None = getattr(options, name)
        if text is not None:
            spec.put(name, text, said=f"--{name}")
    return retry(
        on=Exception,  # whatever it is: the waits don't depend on it
        attempts=attempts_of(options.attempts),
        total_timeout=limit_of("--total-timeout", options.total_timeout),
        backoff=spec.backoff(),
    )


def _spec(options: argparse.Namespace) -> Spec:
    if options.what is not None and options.backoff is not None:
        _parser().error(f"{options.what!r} and --backoff both name a backoff: leave one out")
    text = options.what if options.what is not None else options.backoff
    if text is None:
        text = "exponential" if options.delays is None else "delays"
    return Spec.read(text)


def _title(policy: Policy, limit: float | None) -> str:
    limits = [f"attempts={policy.attempts}"]
    if policy.total_timeout is not None:
        limits.append(f"total_timeout={policy.total_timeout:g}")
    if limit is not None:
        limits.append(f"attempt_timeout={limit:g}")
    return f"retry(on=..., {', '.join(limits)}, backoff={policy.backoff!r})"


def worst(told: Explanation, limit: float | None) -> float | None:
    """
    Return the seconds that calls and waits take at most, or None if nothing limits them.

    Only async calls can be cut off; what a sync one takes is for a timeout of its own to bound.

    Args:
        limit: Seconds of one call at most.
    """
    waiting = told.waiting[2]
    if limit is None or told.calls is None or waiting is None:
        return told.limit
    longest = told.calls * limit + waiting
    return longest if told.limit is None else min(longest, told.limit)


def as_dict(policy: Policy, told: Explanation, limit: float | None) -> dict[str, Any]:
    """Return what `--json` prints; the keys are told at the top."""
    plain = told.to_dict()
    return {
        "backoff": repr(policy.backoff),
        "attempts": policy.attempts,
        "total_timeout": plain["total_timeout"],
        "attempt_timeout": limit,
        "calls": plain["calls"],
        "seconds": worst(told, limit),
        **{key: plain[key] for key in ("waiting", "rides_out", "complete", "waits")},
    }


def _readable(value: Any) -> Any:
    """Round what chance just below 1 has made, and leave out infinity, which JSON doesn't have."""
    if isinstance(value, dict):
        return {key: _readable(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_readable(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else None
    return value
