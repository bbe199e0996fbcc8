"""Choices for rows in conflict: which are refused, and that everything else stays as it is."""

import gzip
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anabranch.errors import Conflict, Invalid
from anabranch.testing.strategy_runs import path_conflict, run_strategy
from anabranch.versioning.strategies.rows.strategy import rows_strategy

CSV = {
    "base": b"id,a,b\n1,x,x\n2,x,x\n3,x,x\n",
    "source": b"id,a,b\n1,s,s\n2,s,x\n3,x,x\n4,s,s\n",
    "destination": b'id,a,b\n1,"d",d\n3,d,x\n4,d,s\n',
}
ALL = [
    {"key": {"id": "1"}, "take": "source"},
    {"key": {"id": "4"}, "take": "source"},
    {"key": {"id": "2"}, "take": "delete"},
]


def merge(choices, path="t.csv", contents=CSV, **options):
    strategy = rows_strategy({"key": "id", "choices": choices, **options})
    return run_strategy(strategy, path, **contents)


def listing(tmp_path, contents, path="t.csv", start=0, amount=100, **options):
    conflict = path_conflict(path, str(tmp_path), **contents)
    return rows_strategy(options).list_conflicts(conflict, start, amount)


def test_rows_in_conflict_are_listed_with_what_both_sides_did(tmp_path):
    page = listing(tmp_path, CSV)
    assert page.key == ["id"]
    assert [(row.key["id"], row.kind, row.columns) for row in page.items] == [
        ("1", "both_changed", ["a", "b"]),
        ("4", "added_twice", ["a"]),
        ("2", "changed_deleted", []),
    ]
    assert page.items[0].destination == {"id": "1", "a": "d", "b": "d"}
    assert page.items[2].destination is None
    first = listing(tmp_path, CSV, amount=2)
    assert (len(first.items), first.has_more, first.next_offset) == (2, True, "2")
    assert listing(tmp_path, CSV, start=2).items == page.items[2:]


@pytest.mark.parametrize(
    ("choices", "rows"),
    [
        (ALL, b"1,s,s\n3,d,x\n4,s,s\n"),
        (
            [
                {"key": {"id": "1"}, "cells": {"a": "base", "b": "destination"}},
                {"key": {"id": "4"}, "take": "destination"},
                {"key": {"id": "2"}, "take": "base"},
            ],
            b"1,x,d\n3,d,x\n4,d,s\n2,x,x\n",
        ),
        (
            [
                {"key": {"id": "1"}, "take": "delete"},
                {"key": {"id": "4"}, "cells": {"a": "source"}},
                {"key": {"id": "2"}, "take": "source"},
            ],
            b"3,d,x\n4,s,s\n2,s,x\n",
        ),
        (
            [
                {"key": {"id": "1"}, "take": "destination"},
                {"key": {"id": "4"}, "take": "delete"},
                {"key": {"id": "2"}, "take": "destination"},
            ],
            b'1,"d",d\n3,d,x\n',
        ),
    ],
)
def test_a_merge_has_what_is_chosen(choices, rows):
    assert merge(choices).files == {"t.csv": b"id,a,b\n" + rows}


def test_a_row_without_a_choice_stays_in_conflict():
    run = merge(ALL[:1])
    assert {(each.key["id"], each.column) for each in run.conflicts} == {("4", "a"), ("2", "")}


@pytest.mark.parametrize("path", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"key": {"id": "9"}, "take": "source"}, "the row id=9, which is not in conflict"),
        ({"key": {"id": "3"}, "take": "source"}, "the row id=3, which is not in conflict"),
        ({"key": {"a": "1"}, "take": "source"}, "the row a=1, which is not in conflict"),
        ({"key": {"id": "1"}, "cells": {"a": "base"}}, "column 'b' is in conflict, too"),
        (
            {"key": {"id": "1"}, "cells": {"a": "base", "b": "base", "id": "base"}},
            "column 'id' is not in conflict there",
        ),
        ({"key": {"id": "4"}, "take": "base"}, "the merge base does not have this row"),
        ({"key": {"id": "4"}, "cells": {"a": "base"}}, "the merge base does not have this row"),
        ({"key": {"id": "2"}, "cells": {"a": "base"}}, "choose for it as a whole"),
    ],
)
@pytest.mark.sample(4)
def test_choices_that_cannot_be_made_are_refused(path, choice, reason):
    contents = CSV
    if path == "t.jsonl":
        contents = {side: as_lines(content) for side, content in CSV.items()}
    others = [each for each in ALL if each["key"] != choice["key"]]
    with pytest.raises(Conflict, match=reason):
        merge([*others, choice], path, contents)


def as_lines(content):
    names, *rows = [line.replace('"', "").split(",") for line in content.decode().splitlines()]
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({}, "option choices: must be a list"),
        (["x"], r"choices\[0\]: must be an object"),
        ([{"key": {}, "take": "source"}], r"choices\[0\].key"),
        ([{"key": {"id": 1}}], "needs either `take` or `cells`"),
        ([{"key": {"id": 1}, "take": "base", "cells": {"a": "base"}}], "needs either"),
        ([{"key": {"id": 1}, "take": "theirs"}], "must be source, destination, base or delete"),
        ([{"key": {"id": 1}, "take": ["base"]}], "must be source, destination, base or delete"),
        ([{"key": {"id": 1}, "cells": {"a": "delete"}}], "must be source, destination or base"),
        ([{"key": {"id": 1}, "cells": {"a": {}}}], "must be source, destination or base"),
        ([{"key": {"id": 1}, "take": "base", "x": 1}], "the field 'x' is unknown"),
        ([{"key": {"id": 1}, "take": "base"}, {"key": {"id": 1.0}, "take": "base"}], "already"),
    ],
)
def test_wrong_choices_are_refused_before_anything_is_read(choices, reason):
    with pytest.raises(Invalid, match=reason) as refused:
        rows_strategy({"choices": choices})
    assert refused.value.kind == "invalid_merge_options"


def test_the_value_of_a_dropped_column_cannot_be_kept():
    contents = {
        "base": b"id,a,b\n1,x,x\n",
        "source": b"id,a\n1,s\n",
        "destination": b"id,a,b\n1,d,d\n",
    }
    for take in ("destination", "base"):
        with pytest.raises(Conflict, match="the source dropped the column 'b'"):
            merge([{"key": {"id": "1"}, "take": take}], contents=contents)
    cells = {"a": "destination", "b": "source"}
    assert merge([{"key": {"id": "1"}, "cells": cells}], contents=contents).files == {
        "t.csv": b"id,a\n1,d\n"
    }


def test_a_row_that_becomes_the_base_again_has_null_in_columns_that_the_base_lacks():
    contents = {
        "base": b"id,a\n1,x\n2,x\n",
        "source": b"id,a\n2,x\n",
        "destination": b"id,a,new\n1,d,d\n2,x,d\n",
    }
    run = merge([{"key": {"id": "1"}, "take": "base"}], contents=contents)
    assert run.files == {"t.csv": b"id,a,new\n1,x,\n2,x,d\n"}


def test_exact_values_go_through_listings_and_choices(tmp_path):
    """Keys and cells that JSON readers would round, and NaN, keep their values."""
    big = 2**53
    kinds = {
        "id": pa.int64(),
        "n": pa.decimal128(38, 10),
        "t": pa.timestamp("ns", "UTC"),
        "f": pa.float64(),
    }

    def table(*rows):
        columns = {name: [row[i] for row in rows] for i, name in enumerate(kinds)}
        sink = io.BytesIO()
        pq.write_table(pa.table(columns, schema=pa.schema(list(kinds.items()))), sink)
        return sink.getvalue()

    exact, *more = (Decimal(f"{10**27 + number}.0000000001") for number in range(5))
    contents = {
        "base": table((big, exact, 1, 0.5), (big + 1, exact, 1, 0.5), (5, None, None, None)),
        "source": table(
            (big, more[0], 1704067200123456789, 0.5),
            (big + 1, more[1], 1, float("nan")),
            (5, None, 7, 1.0),
        ),
        "destination": table(
            (big, more[2], 1704067200123456790, 0.5),
            (big + 1, more[3], 1, 0.25),
            (5, None, 8, float("nan")),
        ),
    }
    page = listing(tmp_path, contents, "t.parquet")
    shown = json.loads(json.dumps([row.key for row in page.items]))
    assert [key["id"] for key in shown] == [big, str(big + 1), 5]
    assert page.items[0].source["n"] == str(more[0])
    assert page.items[0].destination["t"].endswith("00:00:00.123456790+00:00")
    assert page.items[1].source["f"] == "NaN"
    assert page.items[2].base == {"id": 5, "n": None, "t": None, "f": None}
    choices = [
        {"key": shown[0], "cells": {"n": "source", "t": "destination"}},
        {"key": shown[1], "cells": {"n": "base", "f": "source"}},
        {"key": {"id": 5.0}, "cells": {"t": "source", "f": "destination"}},
    ]
    run = merge(choices, "t.parquet", contents)
    merged = pq.read_table(io.BytesIO(run.files["t.parquet"]))
    assert merged["id"].to_pylist() == [big, big + 1, 5]
    assert merged["n"].to_pylist() == [more[0], exact, None]
    assert merged["t"].cast(pa.int64()).to_pylist() == [1704067200123456790, 1, 7]
    assert str(merged["f"].to_pylist()) == "[0.5, nan, nan]"


def test_lines_of_json_keep_their_spelling_unless_both_sides_changed_them():
    contents = {
        "base": b'{"id": 1, "a": 1}\n{"id": 2, "a": 1.50}\n{"id": 3, "a": 1}\n',
        "source": b'{"id": 1, "a": 2.50, "s": 1}\n{"id": 2, "a": 2}\n',
        "destination": b'{"id": 1, "a": 3, "d": 1e2}\n{ "id":3, "a":4.0 }\n',
    }
    choices = [
        {"key": {"id": 1}, "cells": {"a": "source"}},
        {"key": {"id": 2}, "take": "base"},
        {"key": {"id": 3}, "take": "destination"},
    ]
    lines = merge(choices, "t.jsonl", contents).files["t.jsonl"].splitlines()
    assert sorted(json.loads(lines[0]).items()) == [("a", 2.5), ("d", 100.0), ("id", 1), ("s", 1)]
    assert b"2.50" in lines[0]
    assert b"1e2" in lines[0]
    assert lines[1:] == [b'{ "id":3, "a":4.0 }', b'{"id": 2, "a": 1.50}']


def test_keys_of_json_that_look_the_same_are_refused(tmp_path):
    contents = {
        "base": b'{"id": 1, "a": 1}\n{"id": 1.0, "a": 1}\n',
        "source": b'{"id": 1, "a": 2}\n{"id": 1.0, "a": 2}\n',
        "destination": b'{"id": 1, "a": 3}\n{"id": 1.0, "a": 3}\n',
    }
    assert len(listing(tmp_path, contents, "t.jsonl", key="id").items) == 2
    with pytest.raises(Conflict, match="several rows in conflict"):
        merge([{"key": {"id": 1}, "take": "source"}], "t.jsonl", contents)


def test_compressed_tables_and_other_delimiters_take_cells_of_the_base():
    contents = {
        "base": gzip.compress(b'id;a\n1;"x,y"\n2;x\n'),
        "source": gzip.compress(b"id;a\n1;s\n2;x\n"),
        "destination": gzip.compress(b"id,a\n1,d\n2,x\n"),
    }
    run = merge([{"key": {"id": "1"}, "take": "base"}], "t.csv.gz", contents)
    assert gzip.decompress(run.files["t.csv.gz"]) == b'id,a\n1,"x,y"\n2,x\n'


def test_more_columns_than_a_group_have_their_own_choices():
    names = [f"c{number}" for number in range(130)]

    def wide(value):
        return f"id,{','.join(names)}\n1,{','.join(f'{value}{name}' for name in names)}\n".encode()

    contents = {"base": wide("b"), "source": wide("s"), "destination": wide("d")}
    sides = ["source", "destination", "base"]
    cells = {name: sides[number % 3] for number, name in enumerate(names)}
    run = merge([{"key": {"id": "1"}, "cells": cells}], contents=contents)
    row = run.files["t.csv"].decode().splitlines()[1].split(",")
    assert row[1:] == [f"{side[0]}{name}" for name, side in cells.items()]


def test_the_rows_of_a_deleted_table_are_not_in_conflict(tmp_path):
    with pytest.raises(Conflict, match="the source deleted the table"):
        listing(tmp_path, {**CSV, "source": None})
