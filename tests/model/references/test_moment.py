"""Moments of reference expressions, compared with what git makes of them."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import UTC, datetime

import pytest

from anabranch.errors import Invalid
from anabranch.model.references.expression import parse_expression
from anabranch.model.references.moment import AtOperation, parse_moment

NOW = datetime(2024, 3, 31, 15, 30, 20, tzinfo=UTC).timestamp()


def of(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("yesterday", NOW - 86_400),
        ("1 second ago", NOW - 1),
        ("90 seconds ago", NOW - 90),
        ("2 hours ago", NOW - 7200),
        ("2.hours.ago", NOW - 7200),
        ("2 Hours AGO", NOW - 7200),
        (" 3  days ago ", NOW - 3 * 86_400),
        ("1 week ago", NOW - 7 * 86_400),
        ("1 month ago", of(2024, 2, 29, 15, 30, 20)),
        ("13 months ago", of(2023, 2, 28, 15, 30, 20)),
        ("3 months ago", of(2023, 12, 31, 15, 30, 20)),
        ("4 years ago", of(2020, 3, 31, 15, 30, 20)),
        ("2024-03-01", of(2024, 3, 1)),
        ("2024-03-01 12:05", of(2024, 3, 1, 12, 5)),
        ("2024-03-01T12:05:07", of(2024, 3, 1, 12, 5, 7)),
        ("2024-03-01t12:05:07z", of(2024, 3, 1, 12, 5, 7)),
        ("2024-03-01 12:05:07 +0200", of(2024, 3, 1, 10, 5, 7)),
        ("2024-03-01T12:05:07-01:30", of(2024, 3, 1, 13, 35, 7)),
        ("op:0012abcd", AtOperation("0012abcd")),
    ],
)
def test_a_moment_is_read(text, moment):
    assert parse_moment(text, NOW) == moment


@pytest.mark.parametrize(
    "text",
    [
        "1 second ago",
        "2 hours ago",
        "2.hours.ago",
        "5 days ago",
        "3 weeks ago",
        "2024-03-01 12:05:07 +0200",
    ],
)
def test_a_moment_is_git_s(text, tmp_path):
    """`git rev-parse --since` prints the time that git reads."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    environment = {**os.environ, "TZ": "UTC", "GIT_TEST_DATE_NOW": str(int(NOW))}
    printed = subprocess.run(
        ["git", "rev-parse", f"--since={text}"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert int(re.fullmatch(r"--max-age=(\d+)\n", printed)[1]) == parse_moment(text, NOW)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "1", "-1", "last friday", "2 hours", "ago", "two hours ago", "2 fortnights ago"),
        *(
            "2024-02-30",
            "2024-13-01",
            "2024-3-1",
            "2024-03-01 25:00",
            "2024-03-01T",
            "9999999 days ago",
        ),
        *(
            "999999 years ago",
            "op:",
            "op:xyz",
            "op:0012ABCD",
            "upstream",
            "2 hours ago\n",
            "0x1 hours ago",
        ),
    ],
)
def test_other_texts_are_refused(text):
    with pytest.raises(Invalid) as caught:
        parse_moment(text, NOW)
    assert caught.value.kind == "invalid_moment"


def test_digits_of_other_scripts_are_refused():
    with pytest.raises(Invalid):
        parse_moment("٢ hours ago", NOW)


@pytest.mark.parametrize(
    ("text", "base", "moment", "steps"),
    [
        ("main@{2 hours ago}", "main", "2 hours ago", ""),
        ("main@{yesterday}~2^", "main", "yesterday", "~2^"),
        ("a/b@{2024-03-01 12:00}^0", "a/b", "2024-03-01 12:00", "^0"),
        ("main@{}", "main", "", ""),
    ],
)
def test_an_expression_has_a_moment(text, base, moment, steps):
    parsed = parse_expression(text)
    assert (parsed.base, parsed.moment) == (base, moment)
    assert "".join(map(str, parsed.modifiers)) == steps
    assert str(parsed) == text


@pytest.mark.parametrize(
    "text",
    [
        "@{now}",
        "main@{now",
        "main@now}",
        "main@{now}@",
        "main@{now}$",
        "main~1@{now}",
        "main@{a}@{b}",
        "main@{now}x",
        "ma in@{now}",
        "main@{now} ",
        "main@{{now}}",
    ],
)
def test_other_places_of_a_moment_are_refused(text):
    with pytest.raises(Invalid) as caught:
        parse_expression(text)
    assert caught.value.kind == "invalid_reference"
