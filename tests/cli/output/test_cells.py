"""Single values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cli.output.format import display_width, iso_time, local_time, paint, printable, size

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (20 * 1024**3, "20.0 GiB"),
        (5000 * 1024**5, "5000.0 PiB"),
    ],
)
def test_sizes(number, text):
    assert size(number) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("día 日", "día 日"),
        ("a\tb\nc", "a\\tb\\nc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("txt\u202efdp.exe", "txt\\u202efdp.exe"),
        ("\udcff", "\\udcff"),
    ],
)
def test_no_name_reaches_the_terminal_as_a_command(text, shown):
    assert printable(text) == shown


@given(st.text(st.characters(codec=None)))
def test_what_is_printable_can_be_printed_on_one_line(text):
    shown = printable(text)
    shown.encode()
    assert shown.splitlines() in ([], [shown])
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🦆", 2), ("", 0)]
)
def test_widths(text, width):
    assert display_width(text) == width


def test_times():
    assert iso_time(0) == "1970-01-01T00:00:00Z"
    assert local_time(1_700_000_000) == "2023-11-14 22:13:20 +0000"
    assert iso_time(10**30) == str(10**30)


def test_colours_only_where_wanted():
    assert paint("x", "id", colour=True) == "\x1b[33mx\x1b[0m"
    assert paint("x", "id", colour=False) == "x"
    assert paint("x", "no style", colour=True) == "x"
