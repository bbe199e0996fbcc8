"""Damaged tables: merges and comparisons give a result, or a reason without the server's paths."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.formats.keyed_tables import parquet
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.differences import row_differences
from anabranch.versioning.strategies.rows.strategy import rows_strategy

ROWS = [(number, f"text {number}", [number, None]) for number in range(30)]
WHOLE = {
    "csv": b'id,a,b\n1,"x\ny",z\n2,,"q""r"\n10,5,\xc3\xa9\n11,"",w\n',
    "jsonl": b'{"id":1,"a":[1,{"x":null}]}\n{"id":2,"a":"\\u00e9"}\n{"id":3}\n',
    "parquet": parquet({"id": pa.int64(), "a": pa.string(), "l": pa.list_(pa.int8())}, ROWS),
}
QUICK = settings(
    max_examples=examples(12),
    deadline=None,
    derandomize=True,  # other readers may disagree about some malformed file
    suppress_health_check=[HealthCheck.too_slow],
)
PIECES = [
    *(b'"', b",", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\\", b"{", b"}", b"[", b"]", b":"),
    *(b" ", b"'", b"\x0b", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"1e999999", b"null", b"7,8,9\n"),
]
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 6), st.sampled_from(PIECES)), min_size=1, max_size=4
)


def damaged(content, edits):
    """Replaces some bytes at each place by a piece."""
    for place, removed, piece in edits:
        start = int(place * len(content))
        content = content[:start] + piece + content[start + removed :]
    return content


class File:
    def __init__(self, folder, name, content):
        self._path = Path(folder, name)
        self._path.write_bytes(content)
        self.size = len(content)

    def open(self):
        return self._path.open("rb")

    def path(self):
        return str(self._path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", WHOLE)
@QUICK
@given(EDITS, st.sampled_from([[], ["id"]]))
def test_damaged_tables_are_read_or_refused_with_a_reason(name, edits, key):
    whole = WHOLE[name]
    changed = damaged(whole, edits)
    path, options = f"t.{name}", {"key": key} if key else {}
    refused = []
    try:
        run_strategy(rows_strategy(options), path, base=whole, source=changed, destination=whole)
    except Conflict as error:
        refused.append(error)
    with tempfile.TemporaryDirectory() as folder:
        sides = File(folder, "left", whole), File(folder, "right", changed)
        try:
            row_differences(path, *sides, key=key, amount=10, folder=folder)
        except Conflict as error:
            refused.append(error)
    assert {error.kind for error in refused} <= {"merge_failed"}
    assert [error for error in refused if tempfile.gettempdir() in str(error)] == []


def read_csv(content):
    """Returns the rows by Python's reader, None if they are malformed for it."""
    text = content.decode("utf-8-sig", "replace")
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return None
    return [tuple(cell.replace("\r\n", "\n") for cell in row) for row in rows if row]


def read_json_lines(content):
    try:
        return [json.loads(line) for line in content.splitlines() if line.strip()]
    except ValueError:
        return None


@pytest.mark.parametrize(("name", "read"), [("csv", read_csv), ("jsonl", read_json_lines)])
@QUICK
@given(EDITS)
def test_what_is_read_of_damaged_text_is_what_other_readers_read(name, read, edits):
    whole = WHOLE[name]
    changed = damaged(whole, edits)
    path = f"t.{name}"
    sides = {"base": whole, "source": changed, "destination": whole}
    try:
        run = run_strategy(rows_strategy({"key": "id"}), path, **sides)
    except Conflict:
        return
    expected = read(changed)
    assert run.conflicts == []
    if expected is not None:
        found = read(run.files[path])
        assert sorted(map(repr, found)) == sorted(map(repr, expected))
