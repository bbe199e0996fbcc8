"""The strategy `rows` for JSON lines: what is kept of their spelling, and what is refused."""

import itertools

import pytest
from support.formats.row_comparison import compare

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

BASE = b'{"id": 1, "a": 1.50, "b": {"x": [1]}}\n{"id":2,"a":1e3}\n'


def run(base, source, destination, path="t.jsonl", **options):
    return run_strategy(
        rows_strategy(options), path, base=base, source=source, destination=destination
    )


def test_lines_that_one_side_changed_keep_their_spelling():
    source = BASE.replace(b'"a":1e3', b'"a" : 1E3')
    destination = BASE.replace(b"1.50", b"1.5000") + b'{ "id": 3 }\n'
    merged = source.replace(b"1.50", b"1.5000") + b'{ "id": 3 }\n'
    assert run(BASE, source, destination).files == {"t.jsonl": merged}


def test_members_that_each_side_changed_are_merged_in_one_line():
    source = BASE.replace(b"[1]", b"[1, 2]").replace(
        b'"a":1e3', b'"a":1e3,"n":12345678901234567890123'
    )
    destination = BASE.replace(b"1.50", b"1.60").replace(b'"a":1e3', b'"z":null')
    merged = (
        b'{"id": 1, "a": 1.60, "b": {"x": [1, 2]}}\n{"id":2,"n":12345678901234567890123,"z":null}\n'
    )
    assert run(BASE, source, destination, key=["id"]).files == {"t.jsonl": merged}


def test_nested_members_are_one_value():
    source = BASE.replace(b"[1]", b'[1], "y": 1')
    (conflict,) = run(BASE, source, BASE.replace(b"[1]", b"[2]")).conflicts
    assert (conflict.key, conflict.column) == ({"id": 1}, "b")
    assert conflict.base == {"x": [1]}
    assert conflict.source == {"x": [1], "y": 1}


def test_a_line_that_is_only_spelled_differently_is_unchanged():
    respelled = BASE.replace(b'{"id":2,"a":1e3}', b'{ "a": 1e3, "id": 2 }')
    removed = BASE.splitlines(keepends=True)[0]
    assert run(BASE, respelled, removed).files == {"t.jsonl": removed}
    assert run(BASE, removed, respelled).files == {"t.jsonl": removed}


def test_line_ends_and_blank_lines():
    windows = BASE.replace(b"\n", b"\r\n")
    added = b"\n" + BASE + b"\n" + b'{"id": 3}'
    merged = windows + b'{"id": 3}\r\n'
    assert run(windows, added, windows, path="t.ndjson").files == {"t.ndjson": merged}


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        *[(codec, "\ufeff") for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")],
        *[(codec, "") for codec in ("utf-16-le", "utf-16-be")],
    ],
)
@pytest.mark.sample(1)
def test_lines_of_each_encoding_are_merged_in_that_of_the_destination(codec, mark):
    def encoded(text):
        return (mark + text).encode(codec)

    base, added = '{"id": 1, "a": "é"}\r\n{"id": 2}\r\n', '{"id": 3, "a": "😀"}\r\n'
    changed = base.replace("é", "ü")
    for sides in itertools.product([encoded, str.encode], repeat=3):
        merged = run(sides[0](base), sides[1](base + added), sides[2](changed))
        assert merged.files == {"t.jsonl": sides[2](changed + added)}
    page = compare("t.jsonl", encoded(base), (base + added).encode())
    assert [(row.kind, row.right) for row in page.items] == [("added", {"id": 3, "a": "😀"})]


@pytest.mark.parametrize("key", ["a/b", "a~b", 'a"b', "a'b", "a b", "a.b", "$", "\u00e9"])
@pytest.mark.sample(1)
def test_keys_with_special_characters(key):
    name = key.replace('"', '\\"')
    base = f'{{"{name}": 1}}\n'.encode()
    added = base + f'{{"{name}": 2}}\n'.encode()
    assert run(base, added, base, key=[key]).files == {"t.jsonl": added}
    assert run(base, added, base).files == {"t.jsonl": added}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (b'{"id": 1}\n{"id": 1}\n', "the source has the key id=1 more than once"),
        (b'{"a": 1}\n', "the source has a row without a key"),
        (b'{"id": null}\n', "the source has a row without a key"),
        (b"[1]\n", "the source has a row without a key"),
        (b'{"id": 1}\n\n{"id": 2\n', "the source cannot be read as JSON lines: line 3: "),
        (b'{"id": \xff}\n', "the source cannot be read as JSON lines: line 1: "),
        (b'{"id": 1} {"id": 2}\n', "the source cannot be read as JSON lines: line 1: "),
        (b'\xef\xbb\xbf{"id": 1}\n', "the source begins with a byte order mark"),
        ('{"id": 1}'.encode("utf-16") + b"\x00", "the source has bytes that are not UTF-16 LE"),
        (b'{"id": 1, "a": 2, "a": 3}\n{"id": 2}', "the source has the member 'a' twice"),
        (b'{"id": 1, "a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}\n", "the source"),
    ],
)
@pytest.mark.sample(3)
def test_lines_that_cannot_be_merged_are_refused_with_the_reason(source, reason):
    with pytest.raises(Conflict, match=reason) as refused:
        run(BASE, source, BASE.replace(b"1.50", b"9"), key=["id"])
    assert refused.value.kind == "merge_failed"


def test_a_key_with_a_reserved_name_is_refused():
    line = b'{"anabranch line": 1}\n'
    with pytest.raises(Conflict, match="reserved name 'anabranch line'"):
        run(line, line + b'{"anabranch line": 2}\n', line)


def test_files_without_lines_are_tables_without_rows():
    assert run(b"", BASE, b"\n").files == {"t.jsonl": BASE}
    assert run(BASE, BASE, b"").files == {"t.jsonl": b""}
    assert run(BASE, b"", BASE + b'{"id": 3}\n').files == {"t.jsonl": b'{"id": 3}\n'}


def test_a_key_that_is_not_detected_must_be_given():
    lines = b'{"a": 1, "b": 1}\n{"a": 1, "b": 2}\n'
    added = lines + b'{"a": 2, "b": 1}\n'
    with pytest.raises(Conflict, match="no column has a different value in each row"):
        run(lines, added, lines)
    assert run(lines, added, lines, key=["a", "b"]).files == {"t.jsonl": added}


DOUBLED = b'{"id": 9, "a": 1, "a": 2}\n'


@pytest.mark.parametrize("sides", ["all", "source"])
def test_lines_with_a_name_twice_keep_their_bytes_if_no_two_sides_changed_them(sides):
    """Also the line that one side alone added."""
    base = BASE + (DOUBLED if sides == "all" else b"")
    source = BASE.replace(b'"a":1e3', b'"a":2e3') + DOUBLED
    destination = base.replace(b"1.50", b"1.60")
    merged = source.replace(b"1.50", b"1.60")
    assert run(base, source, destination, key=["id"]).files == {"t.jsonl": merged}


def test_differences_name_a_member_that_is_there_twice():
    base = BASE + DOUBLED
    changed = base.replace(b'"a": 2}', b'"a": 3}')
    assert compare("t.jsonl", base, BASE.replace(b"1.50", b"1.6") + DOUBLED, key=["id"]).items
    for path, left, right, options in (
        ("t.jsonl", base, changed, {"key": ["id"]}),
        ("t.jsonl", base, changed, {"whole_rows": True}),
        ("t.json", b'[{"a": 1}]', b'[{"a": 1, "a": 2}]', {}),
    ):
        with pytest.raises(Conflict, match=r"the member 'a' twice|a name twice, 'a'"):
            compare(path, left, right, **options)
