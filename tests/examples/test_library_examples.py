"""The examples of the Python library, each with what it returns and what it leaves in the lake."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch
from anabranch import examples
from anabranch.examples import audit_with_duckdb, pandas_on_a_branch, pin_with_polars

NAMES = ["audit_with_duckdb.py", "pandas_on_a_branch.py", "pin_with_polars.py"]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_at_most_40_lines(name):
    text = (Path(examples.__file__).parent / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40


def test_a_table_is_corrected_with_pandas(tmp_path, capsys):
    merged = pandas_on_a_branch.run(tmp_path)
    assert merged.to_dict("list") == {"place": ["Mariana", "Tonga"], "metres": [10920, 10820]}
    assert capsys.readouterr().out.startswith("('changed', {'place': 'Mariana', 'metres': 10935}")


def test_rows_are_published_only_if_duckdb_finds_none_wrong(tmp_path):
    assert audit_with_duckdb.publish(tmp_path, "day-1", ["1,5", "2,-3"])
    assert not audit_with_duckdb.publish(tmp_path, "day-2", ["3,5", "4,5000"])
    with anabranch.open(tmp_path) as lake:
        listing = lake.objects.listing("flights", "main", amount=10)
        assert [item.path for item in listing.items] == ["flights/day-1.csv"]
        assert lake.branches.get("flights", "load-day-2")


def test_a_tag_pins_a_training_set_for_polars(tmp_path):
    pinned, current = pin_with_polars.run(tmp_path)
    assert pinned["label"].to_list() == ["cat", "dog"]
    assert current["label"].to_list() == ["cat", "fox"]
