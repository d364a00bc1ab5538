"""
`forbear explain`: what a policy does at worst, before production finds it out.

Law: the library works it out, by `Policy.explain`; here words become a policy, and its explanation
text or JSON. The keys of the JSON are a promise: more may come, these stay.

    backoff          text: the backoff, as Python
    attempts         calls that the policy allows, or null
    total_timeout    seconds, or null
    calls            calls at most, or null: no limit
    waiting          low, typical, high: seconds of waiting in all; high is null where there is no end
    rides_out        the same three: seconds of an outage after which a call still succeeds
    waits            for each: after_failure (from 1), low, typical, high
    complete         whether `waits` has all of them
"""

from __future__ import annotations

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
    "base": "seconds of the first wait (constant, linear: of the wait, of the start)",
    "factor": "how much longer each wait is than the one before, a number",
    "step": "seconds that each wait is longer than the one before",
    "power": "how steeply a polynomial grows, a number",
    "cap": "seconds of the longest wait before jitter, or none",
    "jitter": "none, full, equal, or a share from 0 to 1",
    "delays": "seconds of each wait, for example 0.1,1,10",
    "then": "what follows the delays: stop or repeat",
}

EPILOG = f"""\
Seconds may have a unit: 500ms, 20s, 2min, 1h. A BACKOFF is a name and its parameters:
{chr(10).join(f"  {example}" for example in EXAMPLES.values())}
or seconds (2), or one of the presets {", ".join(presets.__all__)}.

examples:
  forbear explain kubernetes --attempts 10
  forbear explain exponential:base=0.1,cap=5 --total-timeout 30
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
    if options.json:
        import json  # noqa: PLC0415 (where it is asked for)

        text = json.dumps(as_dict(policy, told))
        # A sum may be beyond all floats, and JSON has no infinity.
        print(json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2))
    else:
        from ._picture import Screen, lines  # noqa: PLC0415

        print("\n".join(lines(told, _title(policy), Screen.of_stdout())))
    return 0


def _parser() -> Parser:
    parser = Parser(
        "forbear explain",
        "Print the waits of a policy, their bounds after jitter, the worst case, and how long an\n"
        "outage it rides out.",
        EPILOG,
    )
    add = parser.add_argument
    add("what", nargs="?", metavar="BACKOFF", help="how long to wait (default: exponential)")
    add("--attempts", metavar="N", help="calls in all, the first included, or none (default: 5)")
    add("--total-timeout", metavar="S", help="seconds for all calls and waits together, or none")
    add("--backoff", metavar="BACKOFF", help="the same as the argument")
    for name, text in PARAMETERS.items():
        add(f"--{name}", metavar=name.upper() if name in {"jitter", "then"} else "X", help=text)
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


def _title(policy: Policy) -> str:
    limits = [f"attempts={policy.attempts}"]
    if policy.total_timeout is not None:
        limits.append(f"total_timeout={policy.total_timeout:g}")
    return f"retry(on=..., {', '.join(limits)}, backoff={policy.backoff!r})"


def as_dict(policy: Policy, told: Explanation) -> dict[str, Any]:
    """Return what `--json` prints; the keys are told at the top."""
    plain = told.to_dict()
    own = {"backoff": repr(policy.backoff), "attempts": policy.attempts}
    keys = ("total_timeout", "calls", "waiting", "rides_out", "complete", "waits")
    return {**own, **{key: plain[key] for key in keys}}
