"""Rounds of a listing contain every name once, however the names are spread."""

from __future__ import annotations

import itertools

import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import NotFound
from anabranch.spark.planning.listing_rounds import ListingPart, ListingRounds
from anabranch.testing.stores import FaultyBlocks

NAMES = [
    *(f"data/0000{number:02}/x" for number in range(7)),
    *(f"data/vvv/{number:03}" for number in range(90)),
    *("before", "imported/a", "imported/é", "tables/1.json", "z"),
]


@pytest.fixture
def blocks(tmp_path):
    blocks = LocalBlocks(tmp_path / "blocks")
    for name in NAMES:
        blocks.put(f"local://sea/{name}", [b"x"])
    yield blocks
    blocks.close()


def listed(blocks, rounds):
    """Lists as tasks do; returns all names and the number of rounds."""
    names, count = [], 0
    while rounds.tasks:
        count += 1
        ends = {}
        for number, part, objects in rounds.tasks:
            root, (after, last) = part.root, part.slice
            found = blocks.list(root, root + after if after else "")
            own = [each.address.removeprefix(root) for each in itertools.islice(found, objects)]
            inside = [name for name in own if not last or name.encode() <= last.encode()]
            names += inside
            ends[number] = inside[-1] if len(inside) == objects else None
        rounds.advance(ends)
    return names, count


@pytest.mark.parametrize("slices", [1, 4, 16])
@pytest.mark.parametrize("objects", [3, 1000])
def test_every_name_is_listed_once(blocks, slices, objects):
    rounds = ListingRounds(blocks, [ListingPart("local://sea/")], slices, objects)
    names, count = listed(blocks, rounds)
    assert sorted(names) == sorted(NAMES)
    assert count == 1 if objects == 1000 else count > 1


def test_folders_of_timed_names_and_of_others_are_listed_beside_each_other(blocks):
    parts = [
        ListingPart("local://sea/data/", is_timed=True),
        ListingPart("local://sea/tables/"),
        ListingPart("local://sea/nothing/"),
    ]
    names, _ = listed(blocks, ListingRounds(blocks, parts, 8, 5))
    assert len(names) == len(set(names)) == 98


def test_what_the_store_does_not_know_is_not_divided_if_it_may_be_gone(blocks):
    def refuse(step, address):
        if step == "list":
            raise NotFound(f"{address}: no such bucket", kind="storage_not_found")

    gone = FaultyBlocks(blocks, refuse)
    part = ListingPart("local://sea/", may_be_gone=True)
    assert [task.part for task in ListingRounds(gone, [part], 4).tasks] == [part]
    with pytest.raises(NotFound):
        ListingRounds(gone, [part._replace(may_be_gone=False)], 4)
