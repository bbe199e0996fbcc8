"""Comments on a line or a row of a difference."""

from __future__ import annotations

import msgspec
import pytest

from anabranch.errors import Invalid, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.model.pull_request import DifferenceSide, Place


@pytest.fixture
def pull(lake):
    """A pull request from `work`, which is one commit ahead of `main`."""
    lake.branches.create("sea", "work", "main")
    commit(lake)
    return lake.pulls.create("sea", title="t", source="work", destination="main", author="ada")


def commit(lake, content=b"1\n"):
    lake.objects.upload("sea", "work", "a.csv", [content])
    return lake.commits.commit("sea", "work", message="m", committer="ada").id


def comment(lake, pull, **place):
    place = {"path": "a.csv"} | place
    return lake.reviews.comment("sea", pull.id, "why?", author="bob", **place)


def test_places_are_stored_with_the_commit_that_has_them(lake, pull):
    first = lake.branches.get("sea", "work").commit_id
    base = lake.branches.get("sea", "main").commit_id
    row = {"id": 7, "name": None, "day": "2026-05-01", "ü": [1.5, {"x": True}]}
    made = [
        comment(lake, pull, line=3),
        comment(lake, pull, row=row),
        comment(lake, pull, line=1, side=DifferenceSide.BEFORE, commit_id=base),
        comment(lake, pull),
    ]
    second = commit(lake, b"2\n")
    made.append(comment(lake, pull, line=2**31 - 1))
    lake.pulls.merge("sea", pull.id, committer="c")
    commit(lake, b"3\n")
    made.append(comment(lake, pull, line=1))
    assert [item.place for item in made] == [
        Place(commit_id=first, line=3),
        Place(commit_id=first, row=row),
        Place(commit_id=base, side=DifferenceSide.BEFORE, line=1),
        None,
        Place(commit_id=second, line=2**31 - 1),
        Place(commit_id=second, line=1),
    ]
    assert lake.reviews.comments("sea", pull.id, amount=10).items == made


@pytest.mark.parametrize(
    "place",
    [
        {"line": 1, "path": ""},
        {"row": {"id": 1}, "path": ""},
        {"line": 1, "row": {"id": 1}},
        {"line": 0},
        {"line": 2**31},
        {"row": {}},
        {"row": {"id": "x" * 4096}},
        {"row": {"id": "\ud800"}},
        {"line": 1, "side": DifferenceSide.BEFORE},
    ],
)
def test_impossible_places_are_refused(lake, pull, place):
    with pytest.raises(Invalid) as error:
        comment(lake, pull, **place)
    assert error.value.kind == "invalid_place"
    assert lake.reviews.comments("sea", pull.id, amount=10).items == []


@pytest.mark.parametrize("commit_id", ["0" * 64, "main", "x"])
def test_place_needs_a_commit_of_the_repository(lake, pull, commit_id):
    with pytest.raises(NotFound) as error:
        comment(lake, pull, line=1, commit_id=commit_id)
    assert error.value.kind == "commit_not_found"


def test_comment_of_an_earlier_version_is_read(lake, pull):
    made = comment(lake, pull)
    partition = lake.core.repositories.get("sea").partition
    key = f"pull-comments/{pull.id}/{made.id}".encode()
    stored = msgspec.json.decode(lake.keyvalue.get(partition, key))
    del stored["place"]
    lake.keyvalue.apply([Write(partition, key, msgspec.json.encode(stored))])
    (read,) = lake.reviews.comments("sea", pull.id, amount=10).items
    assert (read.path, read.place) == ("a.csv", None)
