"""Pages of branches: hidden ones are left out, and no more is read than is returned."""

from __future__ import annotations

import random

import pytest
from support.garbage import memory_lake

from anabranch.testing.lake import Clock


@pytest.fixture
def lake(tmp_path):
    with memory_lake(tmp_path, Clock()) as lake:
        lake.repositories.create("sea", "mem://sea")
        yield lake


def pages(lake, amount, **options):
    """Returns the names on all pages."""
    names, after = [], ""
    while True:
        page = lake.branches.list("sea", after=after, amount=amount, **options)
        assert len(page.items) <= amount
        names += [branch.id for branch in page.items]
        if not page.has_more:
            return names
        assert len(page.items) == amount
        after = page.next_offset


@pytest.mark.parametrize("hidden", [0, 3, 60, 100])
def test_pages_leave_out_hidden_branches(lake, monkeypatch, hidden):
    monkeypatch.setattr("anabranch.versioning.references.branches._BRANCHES_AT_ONCE", 7)
    names = [f"b{number:03}" for number in range(100)]
    chosen = set(random.Random(hidden).sample(names, hidden))
    for name in names:
        lake.branches.create("sea", name, "main", hidden=name in chosen)
    shown = [name for name in names if name not in chosen]
    for amount in (1, 10, 99, 100, 101, 1_000):
        assert pages(lake, amount) == [*shown, "main"]
        assert pages(lake, amount, show_hidden=True) == [*names, "main"]
        assert pages(lake, amount, prefix="b00") == [name for name in shown if name < "b010"]


def test_a_page_reads_one_branch_more_than_it_has(lake, monkeypatch):
    for number in range(50):
        lake.branches.create("sea", f"b{number:03}", "main")
    scan, read = lake.core.branches._keyvalue.scan, []

    def counted(*place, **options):
        for row in scan(*place, **options):
            read.append(row)
            yield row

    monkeypatch.setattr(lake.core.branches._keyvalue, "scan", counted)
    assert len(lake.branches.list("sea", amount=20).items) == 20
    assert len(read) == 21
