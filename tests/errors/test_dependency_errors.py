"""Messages of other libraries' errors: no stack traces, no paths of the server."""

from __future__ import annotations

import pytest

from anabranch.errors.dependency_errors import reason_of

TRACE = (
    "INTERNAL Error: Attempted to access index 0 within vector of size 0\n\n"
    "Stack Trace:\n\n/srv/app/lib/duckdb.so(_ZN6duckdbE+0x52) [0x7f1]\n"
)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Parser Error: bad\n\nLINE 1: x\n        ^", "Parser Error: bad\n\nLINE 1: x\n        ^"),
        (TRACE, "INTERNAL Error: Attempted to access index 0 within vector of size 0"),
        ("it failed\n/srv/duckdb.so(_ZN6+0x52) [0x7f1]", "it failed"),
        ("FATAL: bad\nThis error signals an assertion failure in DuckDB", "FATAL: bad"),
        ("ValueError: bad\n\nAt:\n  /srv/app/object_filesystem.py(20): open", "ValueError: bad"),
        ("cannot open '/srv/data/x.parquet': no", "cannot open 'the file': no"),
        ("file:///srv/data/x.parquet is bad", "the file is bad"),
        ("/arrow/cpp/src/parquet/reader.cc:42 failed", "the file failed"),
        ('no "lakefs://sea/main/a/b.csv"', 'no "lakefs://sea/main/a/b.csv"'),
        ("a/b/c is 1/2/3", "a/b/c is 1/2/3"),
        ("", "RuntimeError"),
    ],
)
def test_traces_and_paths_are_hidden(message, reason):
    assert reason_of(RuntimeError(message)) == reason


def test_a_path_of_the_client_stays():
    error = RuntimeError("cannot access /etc/app/a, /etc/x/y and /srv/app/b")
    assert reason_of(error, given="FROM '/etc/app/a', '/etc/x'") == (
        "cannot access /etc/app/a, /etc/x/y and the file"
    )
