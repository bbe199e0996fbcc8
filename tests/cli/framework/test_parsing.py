"""From words to commands and values."""

from __future__ import annotations

import pytest

from anabranch.cli.errors import Usage
from anabranch.cli.framework.command import (
    Argument,
    Command,
    Group,
    Option,
    listing_options,
    positive,
)
from anabranch.cli.framework.parsing import choose, parse, split_globals
from anabranch.errors.did_you_mean import closest

COMMAND = Command(
    "do",
    "Do it",
    run=lambda _: None,
    arguments=(Argument("PLACE", "Where"), Argument("OTHER", "Where else", optional=True)),
    options=(
        Option("-m, --message", "Text", "TEXT", default="none"),
        Option("--meta", "Pairs", "PAIR", repeat=True),
        Option("--side", "Side", "SIDE", choices=("left", "right")),
        *listing_options("things"),
        Option("-f, --force", "Switch"),
    ),
)
GROUP = Group("group", "A group", (COMMAND, COMMAND._replace(name="undo")))


def test_values_by_their_keys():
    words = ["x", "-m", "hi", "--meta", "a", "--meta=b", "-f", "--amount=7", "--side", "left"]
    values = parse("ana do", COMMAND, words)
    assert (values.place, values.other) == ("x", None)
    assert (values.message, values.meta, values.side) == ("hi", ["a", "b"], "left")
    assert (values.amount, values.after, values.force) == (7, "", True)
    assert (values.server, values.json, values.help) == (None, False, False)


def test_defaults():
    values = parse("ana do", COMMAND, ["x", "y"])
    assert (values.other, values.message, values.meta, values.side) == ("y", "none", [], None)
    assert (values.amount, values.force) == (100, False)


def test_what_looks_like_an_option_after_two_dashes_is_a_value():
    assert parse("ana do", COMMAND, ["--", "--help"]).place == "--help"


@pytest.mark.parametrize("words", [["-h"], ["x", "--help"], ["--bogus", "--help"]])
def test_help_is_printed_despite_other_errors(words):
    assert parse("ana do", COMMAND, words).help


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["x", "--mesage", "m"], "unknown option: --mesage", "Did you mean --message"),
        (["x", "--mesage=m"], "unknown option: --mesage", "Did you mean --message"),
        (["x", "y", "z"], "unexpected argument: z", "See `ana do --help`."),
        ([], "the following arguments are required: PLACE", "See `ana do --help`."),
        (["x", "--amount", "0"], "'0' is not an accepted value", ""),
        (["x", "--amount", "ten"], "'ten' is not an accepted value", ""),
        (["x", "--side", "top"], "invalid choice: 'top'", ""),
        (["x", "-m"], "expected one argument", ""),
        (["x", "--mess", "m"], "unknown option: --mess", "Did you mean --message"),
    ],
)
def test_mistakes_are_named(words, message, hint):
    with pytest.raises(Usage) as caught:
        parse("ana do", COMMAND, words)
    assert message in caught.value.message
    assert caught.value.message.startswith("ana do: ")
    assert hint in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_value_that_explains_itself_keeps_its_hint():
    def refuse(text: str) -> str:
        raise Usage(f"not {text}", hint="Do better.")

    command = COMMAND._replace(arguments=(Argument("PLACE", "Where", parse=refuse),))
    with pytest.raises(Usage, match="not x") as caught:
        parse("ana do", command, ["x"])
    assert caught.value.hint == "Do better."


def test_options_of_every_command_may_stand_first():
    words = ["--json", "-c", "file", "--server=http://x", "repo", "list", "--json"]
    assert split_globals(words) == (words[:4], words[4:])


def test_a_group_finds_its_command():
    assert choose(GROUP, ["do", "x"]) == (COMMAND, ["x"])
    assert choose(GROUP, ["--server", "u", "undo", "x"])[1] == ["--server", "u", "x"]
    assert choose(GROUP, []) == (None, [])
    assert choose(GROUP, ["--help"]) == (None, ["--help"])
    with pytest.raises(Usage, match="group has no command 'udo'") as caught:
        choose(GROUP, ["udo"])
    assert caught.value.hint == "Did you mean undo or do?"
    with pytest.raises(Usage) as caught:
        choose(GROUP, ["zzz"])
    assert caught.value.hint == "It has do, undo."


def test_a_group_with_a_default_takes_it():
    group = GROUP._replace(default="do")
    assert choose(group, ["x", "-f"]) == (COMMAND, ["x", "-f"])
    assert choose(group, ["-f", "x"]) == (COMMAND, ["-f", "x"])
    assert choose(group, ["undo", "x"])[0] == GROUP.commands[1]


def test_default_of_a_group_that_runs_alone_needs_no_arguments():
    group = GROUP._replace(default="do", runs_alone=True)
    for words in ([], ["--force"], ["-m", "x"]):
        assert choose(group, words) == (COMMAND, words)
    for words in (["--help"], ["-f", "-h"]):
        assert choose(group, words) == (None, words), "the help of the group"
    assert choose(group, ["undo", "x"])[0] == COMMAND._replace(name="undo")


def test_nearest_words():
    assert closest("brnch", ["branch", "tag"]) == "Did you mean branch?"
    assert closest("xyz", ["branch", "tag"]) == ""


def test_positive_numbers():
    assert positive("3") == 3
    with pytest.raises(ValueError, match="-1"):
        positive("-1")
