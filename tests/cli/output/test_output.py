"""The three faces of a result, and errors."""

from __future__ import annotations

import io
import json
from inspect import cleandoc

import pytest

from anabranch.cli.errors import Failure
from anabranch.cli.output.streams import Output
from anabranch.cli.output.table import Column

pytestmark = pytest.mark.usefixtures("home")

COLUMNS = (Column("NAME", "name"), Column("SIZE", "size"))
ITEMS = [{"id": "a\n", "n": 2048}, {"id": "é", "n": 5}]


class Screen(io.StringIO):
    def isatty(self):
        return True


def cells(item):
    return item["id"], item["n"]


def printed(screen, use, **options):
    out, err = screen(), screen()
    use(Output(out, err, **options))
    return out.getvalue(), err.getvalue()


def test_rows():
    def use(output):
        output.rows(COLUMNS, iter(ITEMS), cells)

    assert printed(Screen, use, colour=False)[0] == "NAME     SIZE\na\\n   2.0 KiB\né         5 B\n"
    assert printed(io.StringIO, use)[0] == "a\\n\t2048\né\t5\n"
    text = printed(Screen, use, json=True)[0]
    assert text == '[{"id": "a\\n", "n": 2048},\n {"id": "é", "n": 5}]\n'
    assert json.loads(text) == ITEMS


@pytest.mark.parametrize("as_json", [True, False])
def test_no_rows(as_json):
    out, _ = printed(io.StringIO, lambda o: o.rows(COLUMNS, [], cells), json=as_json)
    assert out == ("[]\n" if as_json else "")


def test_details():
    pairs = [("Name", "x", "name"), ("Size", 2048, "size"), ("Made", 0, "time"), ("No", None, "")]

    def use(output):
        output.details(pairs, {"a": 1})

    assert (
        printed(Screen, use, colour=False)[0]
        == cleandoc("""
        Name: x
        Size: 2.0 KiB (2048 bytes)
        Made: 1970-01-01 00:00:00 +0000
        No:
    """)
        + "\n"
    )
    assert printed(io.StringIO, use)[0] == "Name: x\nSize: 2048\nMade: 1970-01-01T00:00:00Z\nNo:\n"
    assert printed(io.StringIO, use, json=True)[0] == '{"a": 1}\n'
    assert printed(Screen, use)[0].startswith("\x1b[2mName:\x1b[0m \x1b[36mx\x1b[0m\n")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_none(environment):
    out, _ = printed(
        Screen, lambda o: o.details([("N", "x", "name")], None), environment=environment
    )
    assert out == "N: x\n"


def test_errors():
    failure = Failure(
        "it\nbroke\x1b", kind="k", hint="Mend it.", where="GET x", status=500, paths=["p"] * 102
    )
    out, err = printed(io.StringIO, lambda o: o.error(failure))
    lines = err.splitlines()
    assert out == ""
    assert lines[:3] == ["error: it", "       broke\\x1b", "         p"]
    assert lines[102:] == ["         and 2 more", "where: GET x", "hint:  Mend it."]
    _, err = printed(io.StringIO, lambda o: o.error(failure), json=True)
    assert json.loads(err) == {
        "error": {
            "kind": "k",
            "message": "it\nbroke\x1b",
            "hint": "Mend it.",
            "where": "GET x",
            "status": 500,
            "paths": ["p"] * 102,
        }
    }


def test_more_is_printed_on_terminals_only():
    assert printed(io.StringIO, lambda o: o.more("n"))[1] == "There is more: add --after 'n'\n"
    assert printed(io.StringIO, lambda o: o.more(""))[1] == ""
    assert printed(io.StringIO, lambda o: o.more("n"), json=True)[1] == ""


def test_drawings_on_a_terminal_without_unicode():
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace")
    Output(out, io.StringIO()).line("│ ●─╮")
    out.flush()
    assert raw.getvalue() == b"| *-+\n"
