"""`forbear explain`: what is printed, what is refused, and how backoffs are written."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from forbear import backoff, presets, retry
from forbear._explain import Wait, explain
from forbear.cli import main
from forbear.cli._picture import Screen, bar, lines
from forbear.cli._spec import EXAMPLES, KINDS, Spec, attempts_of, limit_of, seconds_of


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what `forbear explain` prints; it must have gone well."""
    assert 0 == main(["explain", *arguments])
    output, errors = capsys.readouterr()
    assert "" == errors
    return output


def told_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(capsys, *arguments, "--json"))
    return found


# -- what is printed


def test_the_waits_are_a_table_with_bars(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the policy, the worst case, the outage that it rides out, and a row for each wait."""
    monkeypatch.setenv("COLUMNS", "60")
    output = told(capsys, "exponential:base=0.5,cap=1,jitter=equal", "--attempts", "4")
    assert output == (
        "retry(on=..., attempts=4, backoff=Exponential(base=0.5,\n"
        "  factor=2.0, cap=1.0, jitter='equal'))\n"
        "\n"
        "at most 4 calls, 2.5 s of waiting (typically 1.88 s)\n"
        "rides out an outage of typically 1.88 s: 1.25 s to 2.5 s\n"
        "\n"
        "after   waits      to  in all\n"
        "    1  250 ms  500 ms  500 ms  #######-------\n"
        "    2  500 ms     1 s   1.5 s  ##############---------------\n"
        "    3  500 ms     1 s   2.5 s  ##############---------------\n"
        "\n"
        "# waited in any case   - left to chance\n"
    )


def test_a_default_policy_is_explained_without_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is the one that `retry(on=...)` makes."""
    found = told_json(capsys)
    policy = retry(on=Exception)
    assert (repr(policy.backoff), policy.attempts) == (found["backoff"], found["attempts"])
    assert len(found["waits"]) == 4


@pytest.mark.parametrize("name", presets.__all__)
def test_each_preset_is_known_by_its_name(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """In capitals as in Python, in small letters, and with hyphens."""
    expected = repr(getattr(presets, name))
    for spelt in (name, name.lower(), name.lower().replace("_", "-")):
        assert expected == told_json(capsys, spelt)["backoff"]


def test_json_has_the_promised_keys_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Floats are round, limits that were not given are null."""
    assert told_json(capsys, "--attempts", "2", "--jitter", "full", "--base", "100ms") == {
        "backoff": "Exponential(base=0.1, factor=2.0, cap=20.0, jitter='full')",
        "attempts": 2,
        "total_timeout": None,
        "attempt_timeout": None,
        "calls": 2,
        "seconds": None,
        "waiting": {"low": 0.0, "typical": 0.05, "high": 0.1},
        "rides_out": {"low": 0.0, "typical": 0.05, "high": 0.1},
        "complete": True,
        "waits": [{"after_failure": 1, "low": 0.0, "typical": 0.05, "high": 0.1}],
    }


def test_json_is_strict_also_beyond_all_floats(capsys: pytest.CaptureFixture[str]) -> None:
    """A sum that overflows is null: JSON has no infinity."""
    output = told(capsys, "exponential:1e300,1e300,none", "--json")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(output, parse_constant=refuse)["waiting"]["high"] is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--attempts", "3", "--attempt-timeout", "2", "1"), 8.0),
        (("--attempts", "3", "--attempt-timeout", "2", "1", "--total-timeout", "5"), 5.0),
        (("--attempts", "none", "--attempt-timeout", "2", "1"), None),
        (("--attempts", "none", "--total-timeout", "1min", "1"), 60.0),
        (("--attempts", "3", "1"), None),
    ],
)
def test_the_worst_case_in_seconds(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: float | None
) -> None:
    """Calls and waits together are bounded if a call is, or everything is."""
    assert expected == told_json(capsys, *arguments)["seconds"]
    output = " ".join(told(capsys, *arguments).split())
    shown = "--attempt-timeout" in arguments and expected is not None
    assert shown == ("in all, calls and waits together" in output)
    assert ("--attempt-timeout" in arguments) == (" attempt_timeout=2, " in output)
    assert ("--total-timeout" in arguments) == (" total_timeout=" in output)


def test_attempts_without_end_are_cut_and_said_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has no number where there is no limit."""
    output = told(capsys, "2", "--attempts", "none")
    assert "no limit of calls, waiting without end\nrides out any outage\n" in output
    assert output.endswith("... and so on\n")
    found = told_json(capsys, "2", "--attempts", "none")
    assert (None, None, False) == (found["attempts"], found["calls"], found["complete"])
    assert None is found["waiting"]["high"] is found["rides_out"]["high"]


def test_a_long_table_shows_its_first_and_last_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody reads a thousand lines, and all of them are in the JSON."""
    rows = re.findall(r"^ +(\d+) ", told(capsys, "1", "--attempts", "101"), flags=re.MULTILINE)
    assert [*map(str, range(1, 15)), "98", "99", "100"] == rows
    assert "... 83 more\n" in told(capsys, "1", "--attempts", "101")
    assert 100 == len(told_json(capsys, "1", "--attempts", "101")["waits"])


def test_waits_that_no_longer_begin_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A time limit ends the table where it would end the call."""
    output = told(capsys, "--delays", "1,2,4,8", "--total-timeout", "5s")
    assert ["1", "2"] == re.findall(r"^ +(\d+) ", output, flags=re.MULTILINE)
    assert "... no further wait ends within 5 s" in output


@pytest.mark.parametrize(
    ("arguments", "expected"), [(("stop",), 1), (("1", "--attempts", "1"), 1), (("0",), 5)]
)
def test_a_policy_that_never_waits(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: int
) -> None:
    """No waits are no error, and waits of nothing have no bars."""
    output = told(capsys, *arguments)
    assert f"at most {expected} call{'s' * (expected > 1)}, 0 s of waiting" in output
    assert not re.search("[#-]$", output, flags=re.MULTILINE)


# -- backoffs in words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exponential", backoff.Exponential()),
        ("Exponential:0.1,2,cap=20", backoff.Exponential(0.1, 2, cap=20)),
        (
            "exponential:base=500ms,cap=none,jitter=0.5",
            backoff.Exponential(0.5, 2, cap=None, jitter=0.5),
        ),
        ("constant:2min", backoff.Constant(120)),
        ("constant:base=2", backoff.Constant(2)),
        (" 0.5 ", backoff.Constant(0.5)),
        (".5", backoff.Constant(0.5)),
        ("1h", backoff.Constant(3600)),
        ("linear:1,0.5,cap=3", backoff.Linear(1, 0.5, cap=3)),
        ("linear:base=1,step=0.5,jitter=NONE", backoff.Linear(1, 0.5, jitter="none")),
        ("fibonacci: 0.1, cap = 20", backoff.Fibonacci(0.1, cap=20)),
        ("polynomial:1,2", backoff.Polynomial(1, 2)),
        ("decorrelated:0.1,20", backoff.Decorrelated(0.1, 20)),
        ("delays:0.1,1,10", backoff.Delays(0.1, 1, 10)),
        ("delays:0.1,1s,then=repeat", backoff.Delays(0.1, 1, then="repeat")),
        ("stop", backoff.Stop()),
        ("kubernetes:jitter=equal", backoff.Exponential(0.5, 2, cap=122, jitter="equal")),
        ("cenkalti:1,cap=10", backoff.Exponential(1, 1.5, cap=10, jitter=0.5)),
    ],
)
def test_a_text_is_a_backoff(text: str, expected: object) -> None:
    """It says the same as the constructor: by name, in order, with units, or as a preset that is changed."""
    assert expected == Spec.read(text).backoff()


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_an_example_that_works(kind: str) -> None:
    """A message that shows it helps."""
    made = Spec.read(EXAMPLES[kind]).backoff()
    assert kind.capitalize() == type(made).__name__


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--base", "0.5", "--cap", "5"), backoff.Exponential(0.5, cap=5)),
        (("constant", "--base", "3"), backoff.Constant(3)),
        (("linear", "--base", "3", "--step", "1"), backoff.Linear(3, 1)),
        (("--backoff", "polynomial", "--base", "1", "--power", "3"), backoff.Polynomial(1, 3)),
        (("--delays", "1,2,4"), backoff.Delays(1, 2, 4)),
        (("--delays=1,2", "--then=repeat"), backoff.Delays(1, 2, then="repeat")),
        (("kubernetes", "--factor", "3"), backoff.Exponential(0.5, 3, cap=122, jitter="none")),
        (("exponential:base=1", "--base", "2"), backoff.Exponential(2)),
    ],
)
def test_parameters_may_be_options(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: object
) -> None:
    """An option wins over the same parameter in the text."""
    assert repr(expected) == told_json(capsys, *arguments)["backoff"]


def test_numbers_in_words() -> None:
    """`none` is no limit, what is left out is the library's own default."""
    assert [5, None, 7] == [attempts_of(None), attempts_of("None"), attempts_of("7")]
    assert [None, None, 90.0] == [limit_of("x", text) for text in (None, "none", "1.5m")]
    assert [86400.0, 0.0] == [seconds_of("x", text) for text in ("1d", "0")]


# -- what is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bogus",), r"a backoff must be one of .*KUBERNETES.*, not 'bogus'; for example expo"),
        (("",), "a backoff must be one of .*, not ''; for example"),
        (("--attempts", "0"), "--attempts must be at least 1, not 0; for example --attempts 5"),
        (("--attempts", "2.5"), "--attempts must be a whole number, .* not '2.5'; for example"),
        (("--attempts", "many"), "--attempts must be a whole number, .* not 'many'; for example"),
        (("--total-timeout", "0"), "--total-timeout must .* above 0, not 0.0; for .* 30, or "),
        (("--total-timeout", "soon"), "--total-timeout must be seconds, .*, not 'soon'; for ex"),
        (("--attempt-timeout", "inf"), "--attempt-timeout must be .*, not inf; for example"),
        (("--base", "-1"), r"--base must be .*, at least 0, not -1.0; for example exponential:b"),
        (("--base", "nan"), "--base must be a number of seconds.*, not nan; for example"),
        (("--base", "1week"), "--base must be seconds, .* not '1week'; for example exponential:"),
        (("exponential:base=x",), "base must be seconds, .* not 'x'; for example exponential:b"),
        (("--factor", "-1"), "factor must be a number.*, not -1.0; for example"),
        (("--factor", "x"), "factor must be a number.*, not 'x'; for example"),
        (("--jitter", "2"), 'jitter must be "none", .* not 2.0; for example'),
        (("--jitter", "half"), "jitter must be .* not 'half'; for example"),
        (("--step", "1"), "--step is no parameter of exponential: it takes base, factor, cap and"),
        (("stop:1",), "stop takes .*'1' is too much; for example stop"),
        (("stop", "--cap", "1"), "--cap is no parameter of stop: it takes none; for example stop"),
        (("exponential:1,2,3,full,5",), "takes base, factor, cap and jitter, so '5' is too much"),
        (("exponential:foo=1",), "foo is no parameter of exponential: it takes .*; for example"),
        (("exponential:base=",), "base must have a value; for example exponential:base="),
        (("--cap", ""), "--cap must have a value; for example"),
        (("fibonacci",), "fibonacci needs base; for example fibonacci:base=0.1,cap=20"),
        (("polynomial",), "polynomial needs base and power; for example polynomial:"),
        (("delays",), "delays needs its waits; for example delays:0.1,1,10"),
        (("--delays", "1,,2"), r"delays\[1\] must be seconds, .* not ''; for example delays:0.1"),
        (("--delays", "1", "--then", "end"), "then must be .* not 'end'; for example"),
        (("kubernetes:step=1",), "step is no parameter of KUBERNETES: .*; for example kubernetes:"),
        (("2", "--backoff", "3"), "'2' and --backoff both name a backoff: leave one out"),
        (("2", "3"), "unrecognized arguments: 3; see forbear explain --help"),
        (("--att", "3"), "unrecognized arguments: --att.*; see forbear explain --help"),
        (("--attempts",), "argument --attempts: expected one argument; see forbear explain --help"),
        (("x\ny\x1b[31m",), r"not 'x\\ny\\x1b\[31m'; for example"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    """It names the parameter, the value and one that works; the exit code is 2."""
    assert 2 == main(["explain", *arguments])
    output, errors = capsys.readouterr()
    assert "" == output
    assert re.fullmatch(rf"forbear: .*{message}.*\n", errors), errors


# -- the picture


def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are left out, then the bars, and sentences are wrapped; 24 columns are enough for a table."""
    for columns in range(24, 132):
        monkeypatch.setenv("COLUMNS", str(columns))
        for arguments in (("decorrelated:0.1,20",), ("2", "--attempts", "none")):
            output = told(capsys, *arguments)
            assert columns >= max(map(len, output.splitlines()))
            assert re.search("^after ", output, flags=re.MULTILINE)


def test_where_there_is_no_room_there_are_no_bars(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar of a few columns would show nothing; with it goes what it means."""
    monkeypatch.setenv("COLUMNS", "28")
    output = told(capsys, "decorrelated:0.1,20", "--attempts", "3")
    assert output.endswith("after   waits      to\n    1  100 ms  300 ms\n    2  100 ms  900 ms\n")


@pytest.mark.parametrize(
    ("wait", "blocks", "drawn"),
    [
        (Wait(1, 0.0, 1.0, 2.0), False, "----"),
        (Wait(1, 1.0, 1.5, 2.0), True, "██░░"),
        (Wait(1, 2.0, 2.0, 2.0), False, "####"),
        (Wait(1, 1.25, 1.25, 1.25), True, "██▌"),
        (Wait(1, 1e-9, 1e-9, 1e-9), True, "▏"),
        (Wait(1, 1e-9, 1e-9, 1e-9), False, "#"),
        (Wait(1, 0.0, 1e-9, 2e-9), False, "-"),
        (Wait(1, 3.9, 3.95, 4.0), False, "#######-"),
        (Wait(1, 0.0, 0.0, 0.0), True, ""),
    ],
)
def test_a_bar_shows_what_is_sure_and_what_is_not(wait: Wait, blocks: bool, drawn: str) -> None:
    """A wait, however short, is never drawn as none, and one with chance in it always shows that."""
    assert drawn == bar(wait, 4.0, 8, Screen(blocks=blocks))


def test_colours_end_where_the_bar_ends() -> None:
    """Nothing behind it is coloured, and a bar without a part has no sequence for it."""
    screen = Screen(colours=True)
    assert "\x1b[36m##\x1b[2m--\x1b[0m" == bar(Wait(1, 1.0, 1.5, 2.0), 4.0, 8, screen)
    assert "\x1b[2m----\x1b[0m" == bar(Wait(1, 0.0, 1.0, 2.0), 4.0, 8, screen)
    assert "\x1b[36m####\x1b[0m" == bar(Wait(1, 2.0, 2.0, 2.0), 4.0, 8, screen)


def test_waits_beyond_all_floats_have_no_bars() -> None:
    """A scale without an end has no lengths."""
    policy = retry(on=OSError, attempts=3, backoff=backoff.Constant(1))
    endless = explain(policy)
    endless.waits = (Wait(1, 1.0, 1.0, 1.0), Wait(2, 0.0, 1.0, float("inf")))
    drawn = lines(endless, "policy", Screen())
    assert "for ever" in drawn[-3]
    assert not any("#" in line for line in drawn[:-1])
