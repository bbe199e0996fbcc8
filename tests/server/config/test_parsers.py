"""Values of settings: what is read, and how what is not is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.secret import Secret
from anabranch.server.config.field import declared
from anabranch.server.config.parsers import read_value
from anabranch.server.config.settings import Address, Seconds
from anabranch.server.config.types import PageUrl, Pairs

LIST = tuple[str, ...]
LEVEL = Literal["INFO", "WARN"]


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        (str, "us-east-1", "us-east-1"),
        (Path, "/a b/c", Path("/a b/c")),
        (Path, "here", Path("here")),
        (PageUrl, " https://docs.example/a?b=c#d ", PageUrl("https://docs.example/a?b=c#d")),
        (PageUrl, "http://127.0.0.1:8000", PageUrl("http://127.0.0.1:8000")),
        (PageUrl, "", PageUrl("")),
        (Path, "./s3:/a:b", Path("s3:/a:b")),
        (Path, "a/b:/c", Path("a/b:/c")),
        (int, 0, 0),
        (int, "1_000", 1000),
        (int, " 7 ", 7),
        (bool, True, True),
        (bool, "TRUE", True),
        (bool, "0", False),
        (bool, "off", False),
        (Seconds, "20s", 20.0),
        (Seconds, "1h30m", 5400.0),
        (Seconds, "1.5h", 5400.0),
        (Seconds, "500ms", 0.5),
        (Seconds, "0", 0.0),
        (Seconds, 0, 0.0),
        (LIST, "a, b,,c ", ("a", "b", "c")),
        (LIST, ["a,b", "c"], ("a,b", "c")),
        (LIST, "", ()),
        (LIST, [], ()),
        (LEVEL, "warn", "WARN"),
        (Pairs, "a=b, c=d=e,,f=", (("a", "b"), ("c", "d=e"), ("f", ""))),
        (
            Pairs,
            {"CN=x,DC=y": ["A", "B"], "z": "A"},
            (("CN=x,DC=y", "A"), ("CN=x,DC=y", "B"), ("z", "A")),
        ),
        (Address, "0.0.0.0:8000", Address("0.0.0.0", 8000)),  # noqa: S104  only read
        (Address, ":80", Address("", 80)),
        (Address, "localhost:0", Address("localhost", 0)),
        (Address, "[::1]:8000", Address("::1", 8000)),
        (Secret, "hush", Secret("hush")),
    ],
)
def test_what_is_read(kind, raw, value):
    assert read_value(kind, raw) == value


@pytest.mark.parametrize(
    ("kind", "raw", "words"),
    [
        (str, 7, "is not a text"),
        (str, True, "is not a text"),
        (PageUrl, "javascript:alert(1)", "not a URL that begins with"),
        (PageUrl, "//docs.example", "not a URL that begins with"),
        (PageUrl, "https:///a", "not a URL that begins with"),
        (PageUrl, "https://[", "not a URL that begins with"),
        (Pairs, "a", "not a list such as"),
        (Pairs, "=a", "not a list such as"),
        (Pairs, {"a": 7}, "is not a text"),
        (Pairs, ["a"], "not a table"),
        (str, ["a"], "is not a text"),
        (Path, "", "is not a path"),
        (Path, "a\0b", "is not a path"),
        (Path, "http://127.0.0.1:8000", "an address and not a path"),
        (Path, "s3:/bucket", "an address and not a path"),
        (Path, "~nobody-of-that-name/x", "there is no home folder"),
        (int, -1, "not a whole number"),
        (int, "-1", "not a whole number"),
        (int, 1.5, "not a whole number"),
        (int, True, "not a whole number"),
        (int, "ten", "'ten', not a whole number"),
        (int, "٣", "not a whole number"),
        (bool, "maybe", "neither true nor false"),
        (bool, 2, "neither true nor false"),
        (Seconds, 20, "not a duration such as 20s"),
        (Seconds, "20", "not a duration"),
        (Seconds, "20 s", "not a duration"),
        (Seconds, "-20s", "not a duration"),
        (Seconds, True, "not a duration"),
        (Seconds, "", "not a duration"),
        (LIST, 5, "is not a text"),
        (LIST, [5], "is not a text"),
        (LEVEL, "worn", "not one of INFO, WARN; did you mean WARN?"),
        (LEVEL, "", "not one of"),
        (LEVEL, None, "is not a text"),
        (Address, "8000", "not HOST:PORT"),
        (Address, "host:", "not HOST:PORT"),
        (Address, "host:http", "not HOST:PORT"),
        (Address, "host:65536", "not HOST:PORT"),
        (Address, "::1:8000", "not HOST:PORT"),
        (Secret, 12345, "is not a text"),
    ],
)
def test_what_is_refused(kind, raw, words):
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        read_value(kind, raw)


def test_home_is_found(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert read_value(Path, "~/lake") == Path("/home/ada/lake")


def test_an_address_is_written_as_it_is_read():
    for text in ("127.0.0.1:8000", "[::1]:0", ":8000"):
        assert str(read_value(Address, text)) == text


@given(
    st.sampled_from([setting.type for setting in declared().values()]),
    st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.lists(st.text()),
)
def test_anything_is_read_or_refused(kind, raw):
    try:
        value = read_value(kind, raw)
    except ValueError:
        assert kind is not Secret or not isinstance(raw, str)
    else:
        plain = {Literal: str, tuple: tuple}.get(getattr(kind, "__origin__", kind), kind)
        assert isinstance(value, plain)
