"""
Numbers and backoffs as people write them: `exponential:base=0.1,factor=2,cap=20,jitter=full`.

Law: text in, a value out, and a message that teaches where the text can't be read. Which numbers
are allowed is for the values themselves to say: they check, this file reads. It must not know which
command asks.

A spec is a name, and after a colon the parameters, by name or in the constructor's order:

| spec | backoff |
|---|---|
| `exponential` | `Exponential()` |
| `exponential:0.1,2,cap=20` | `Exponential(0.1, 2, cap=20)` |
| `delays:0.1,1,10,then=repeat` | `Delays(0.1, 1, 10, then="repeat")` |
| `2` | `Constant(2)` |
| `kubernetes`, `kubernetes:jitter=equal` | the preset, and the preset with a parameter changed |
"""

from __future__ import annotations

from forbear import backoff, presets
from forbear._duration import count, seconds, shown
from forbear.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from forbear._protocols import Backoff

__all__ = ["KINDS", "Spec", "attempts_of", "limit_of", "seconds_of"]

# The parameters of each kind, in the order of its constructor; those before the bar have no default.
KINDS = {
    "exponential": "| base factor cap jitter",
    "constant": "seconds |",
    "linear": "start step | cap jitter",
    "fibonacci": "base | cap jitter",
    "polynomial": "base power | cap jitter",
    "decorrelated": "base cap |",
    "delays": "delays | then",
    "stop": "|",
}

EXAMPLES = {
    "exponential": "exponential:base=0.1,factor=2,cap=20,jitter=full",
    "constant": "constant:0.5",
    "linear": "linear:start=1,step=0.5",
    "fibonacci": "fibonacci:base=0.1,cap=20",
    "polynomial": "polynomial:base=1,power=2",
    "decorrelated": "decorrelated:base=0.1,cap=20",
    "delays": "delays:0.1,1,10,then=repeat",
    "stop": "stop",
}

# What is the first wait of every kind is `base` on the command line, whatever the constructor says.
BASES = {"constant": "seconds", "linear": "start"}

UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(name: str, text: str, *, zero: bool = True, example: str = "") -> float:
    """
    Return the seconds that a text names, with or without a unit.

    >>> [seconds_of("--cap", text) for text in ("20", "500ms", "1.5m", "1h")]
    [20.0, 0.5, 90.0, 3600.0]
    """
    for unit, scale in UNITS.items():
        if text.endswith(unit):
            number, scale_by = text[: -len(unit)], scale
            break
    else:
        number, scale_by = text, 1.0
    try:
        found: object = float(number) * scale_by
    except ValueError:
        found = text
    if not isinstance(found, float):
        raise ConfigError(
            f"{name} must be seconds, or a number with one of the units {', '.join(UNITS)}, "
            f"not {shown(text)}; for example {example or f'{name}=0.5'}"
        )
    return seconds(name, found, zero=zero, example=example)


def limit_of(name: str, text: str | None) -> float | None:
    """
    Return the seconds of a time limit, above 0; None for `none`, or where nothing was said.

    Zero is refused, because people who come from coreutils mean "no limit" by it.
    """
    if text is None or text.lower() == "none":
        return None
    return seconds_of(name, text, zero=False, example=f"{name} 30, or {name} none for no limit")


def attempts_of(text: str | None) -> int | None:
    """
    Return a number of attempts; None for `none`, and the library's own default if nothing was said.

    >>> attempts_of("3"), attempts_of("none"), attempts_of(None)
    (3, None, 5)
    """
    if text is None:
        return 5
    if text.lower() == "none":
        return None
    try:
        found: object = int(text)
    except ValueError:
        found = text
    # "or None" would be Python; here it is a word, and the example has it.
    return count("--attempts", found, example="--attempts 5, or --attempts none for no limit")


class Spec:
    """
    A backoff in words: its kind, and the text of each parameter that was given.

    >>> Spec.read("exponential:0.5,2,jitter=none").backoff()
    Exponential(base=0.5, factor=2.0, cap=20.0, jitter='none')
    >>> Spec.read("0.5").backoff()
    Constant(seconds=0.5)

    Args:
        kind: One of `KINDS`, or a preset's name in capitals.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.given: dict[str, str] = {}
        self._said: dict[str, str] = {}  # the same by how the user wrote their names

    @classmethod
    def read(cls, text: str) -> Spec:
        """Return the backoff that one text names."""
        name, _, rest = text.strip().partition(":")
        if name[:1].isdigit() or name[:1] in {".", "-", "+"}:
            name, rest = "constant", text
        spec = cls(_kind(name))
        parts = [part.strip() for part in rest.split(",")] if rest.strip() else []
        plain = [part for part in parts if "=" not in part]
        if spec.kind == "delays":
            if plain:
                spec.put("delays", ",".join(plain))
        else:
            spec._put_in_order(plain)
        for part in parts:
            key, equals, value = part.partition("=")
            if equals:
                spec.put(key.strip(), value.strip())
        return spec

    def _put_in_order(self, values: list[str]) -> None:
        takes = self.takes
        if len(values) > len(takes):
            raise ConfigError(
                f"{self.kind} takes {_and(takes)}, so {shown(values[len(takes)])} is too much; "
                f"for example {self.example}"
            )
        for key, value in zip(takes, values, strict=False):
            self.put(key, value)

    @property
    def preset(self) -> backoff.Exponential | None:
        """The preset of that name, if it is one."""
        return getattr(presets, self.kind) if self.kind in presets.__all__ else None

    @property
    def example(self) -> str:
        """A spec of this kind that works."""
        if self.preset is not None:
            return f"{self.kind.lower()}:jitter=equal"
        return EXAMPLES[self.kind]

    @property
    def takes(self) -> list[str]:
        """The parameters of this kind, in order."""
        kind = "exponential" if self.preset is not None else self.kind
        return KINDS[kind].replace("|", "").split()

    def put(self, key: str, text: str, said: str = "") -> None:
        """
        Give one parameter; a later one takes the place of an earlier one.

        Args:
            said: How the user wrote the key, for the message.
        """
        name = BASES.get(self.kind, key) if key == "base" else key
        if name not in self.takes:
            takes = f"it takes {_and(self.takes)}" if self.takes else "it takes none"
            raise ConfigError(
                f"{said or key} is no parameter of {self.kind}: {takes}; for example {self.example}"
            )
        if not text:
            raise ConfigError(f"{said or key} must have a value; for example {self.example}")
        self.given[name] = text
        self._said[name] = said or key

    def backoff(self) -> Backoff:
        """Return the backoff; what it can't be given is a ConfigError."""
        kind = "exponential" if self.preset is not None else self.kind
        needed = KINDS[kind].split("|")[0].split()
        missing = [name for name in needed if name not in self.given]
        if missing:
            what = "its waits" if kind == "delays" else _and(missing)
            raise ConfigError(f"{kind} needs {what}; for example {self.example}")
        if kind == "delays":
            return self._delays()
        values = {name: self._value(name, text) for name, text in self.given.items()}
        if self.preset is not None:
            own = {name: getattr(self.preset, name) for name in self.preset.__match_args__}
            values = {**own, **values}
        made: Backoff = getattr(backoff, kind.capitalize())(**values)
        return made

    def _delays(self) -> Backoff:
        texts = self.given["delays"].split(",")
        waits = [
            seconds_of(f"delays[{i}]", text.strip(), example=self.example)
            for i, text in enumerate(texts)
        ]
        ending: Any = self.given.get("then", "stop")  # which words there are is said by Delays
        return backoff.Delays(*waits, then=ending)

    def _value(self, name: str, text: str) -> object:
        """Read one parameter; whether its value makes sense is left to the constructor."""
        if name == "jitter" and text.lower() in {"none", "full", "equal"}:
            return text.lower()
        if name in {"jitter", "factor", "power"}:
            try:
                return float(text)
            except ValueError:
                return text
        if name == "cap" and text.lower() == "none":
            return None
        return seconds_of(self._said[name], text, example=self.example)


def _kind(name: str) -> str:
    lower, upper = name.lower(), name.upper().replace("-", "_")
    if lower in KINDS:
        return lower
    if upper in presets.__all__:
        return upper
    raise ConfigError(
        f"a backoff must be one of {', '.join(KINDS)}, or a preset ({', '.join(presets.__all__)}), "
        f"not {shown(name)}; for example {EXAMPLES['exponential']}"
    )


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
