"""Objects: uploads round-trip, failures leave nothing, deleted objects are gone."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import (
    Invalid,
    NotFound,
    PreconditionFailed,
    Truncated,
)

PATHS = [
    "a",
    "a//b",
    "/lead",
    "a/../b",
    "..",
    "%2e%2e/%00",
    "with space+plus",
    "emoji/🐟",
    "\x01\x7f",
    "tab\tand\nline",
    "trailing/",
    "x" * 1024,
    "é" * 512,
]


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
@pytest.mark.sample(4)
def test_any_path_round_trips(lake, path):
    lake.objects.upload("sea", "main", path, [b"bo", b"dy"])
    for commit in (False, True):
        if commit:
            lake.commits.commit("sea", "main", message="m", committer="ada")
        assert lake.objects.open("sea", "main", path).read_bytes() == b"body"
        page = lake.objects.listing("sea", "main", amount=10)
        assert [item.path for item in page.items] == [path]
        assert [item["path"] for item in json.loads(page.json(user_metadata=True))] == [path]
    lake.objects.delete("sea", "main", path)
    with pytest.raises(NotFound):
        lake.objects.stat("sea", "main", path)


@pytest.mark.parametrize("path", ["", "x" * 1025, "é" * 513, "\ud800"])
def test_invalid_paths_are_rejected(lake, path):
    with pytest.raises(Invalid):
        lake.objects.upload("sea", "main", path, [b""])
    assert data_files(lake) == []


def test_stat_returns_properties_of_the_upload(lake):
    body = b"x" * 100_000
    stat = lake.objects.upload(
        "sea", "main", "a", [body[:7], body[7:]], content_type="text/x", metadata={"k": "ü"}
    )
    assert stat == lake.objects.stat("sea", "main", "a")
    entry = stat.entry
    assert entry.size == len(body)
    assert entry.checksum == hashlib.md5(body).hexdigest()
    assert (entry.content_type, entry.metadata) == ("text/x", {"k": "ü"})
    assert stat.physical_address.endswith(f"/sea/{entry.address}")
    assert stat.physical_address.startswith("local:///")


def test_truncated_body_leaves_nothing(lake):
    def chunks():
        yield b"x" * 2_000_000
        raise Truncated("cut off")

    with pytest.raises(Truncated):
        lake.objects.upload("sea", "main", "a", chunks())
    assert data_files(lake) == []
    assert lake.branches.changes("sea", "main", amount=9).items == []


def test_an_upload_that_cannot_be_staged_leaves_nothing(lake):
    def chunks():
        yield b"x"
        lake.branches.delete("sea", "x")

    lake.branches.create("sea", "x", "main")
    with pytest.raises(NotFound):
        lake.objects.upload("sea", "x", "a", chunks())
    assert data_files(lake) == []


def test_an_upload_that_a_commit_overtakes_is_staged_after_it(lake):
    def body():
        yield b"first"
        lake.objects.upload("sea", "main", "b", [b"x"])
        lake.commits.commit("sea", "main", message="m", committer="ada")
        yield b"last"

    lake.objects.upload("sea", "main", "a", body())
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"firstlast"
    changes = lake.branches.changes("sea", "main", amount=9).items
    assert [change.path for change in changes] == ["a"]


def test_if_absent_is_checked_when_staging(lake):
    def chunks():
        yield b"mine"
        lake.objects.upload("sea", "main", "a", [b"theirs"])

    with pytest.raises(PreconditionFailed, match="path already exists"):
        lake.objects.upload("sea", "main", "a", chunks(), if_absent=True)
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"theirs"
    assert len(data_files(lake)) == 1


def test_if_absent_sees_what_is_committed_and_what_is_deleted(lake):
    lake.objects.upload("sea", "main", "a", [b"1"], if_absent=True)
    lake.commits.commit("sea", "main", message="m", committer="ada")
    with pytest.raises(PreconditionFailed):
        lake.objects.upload("sea", "main", "a", [b"2"], if_absent=True)
    lake.objects.delete("sea", "main", "a")
    lake.objects.upload("sea", "main", "a", [b"3"], if_absent=True)
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"3"


def test_writing_needs_a_branch(lake):
    lake.tags.create("sea", "v1", "main")
    head = lake.commits.get("sea", "main")
    for reference in ("nope", "v1", head.id, "main~0", "main@"):
        with pytest.raises(NotFound, match="not found"):
            lake.objects.upload("sea", reference, "a", [b"1"])


def test_writing_the_same_again_is_no_change(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    lake.commits.commit("sea", "main", message="m", committer="ada")
    lake.objects.upload("sea", "main", "a", [b"1"])
    assert lake.branches.changes("sea", "main", amount=9).items == []


def test_copies_are_independent_objects(lake, clock):
    lake.objects.upload("sea", "main", "a", [b"body"], content_type="t/x", metadata={"k": "v"})
    lake.commits.commit("sea", "main", message="m", committer="ada")
    lake.branches.create("sea", "x", "main")
    clock.advance(100)
    copy = lake.objects.copy("sea", "x", "b", source_path="a", source_ref="main~0")
    original = lake.objects.stat("sea", "main", "a")
    assert copy.entry.checksum == original.entry.checksum
    assert (copy.entry.content_type, copy.entry.metadata) == ("t/x", {"k": "v"})
    assert copy.entry.address != original.entry.address
    assert copy.entry.mtime == int(clock.now)
    assert lake.objects.open("sea", "x", "b").read_bytes() == b"body"
    with pytest.raises(NotFound):
        lake.objects.copy("sea", "x", "c", source_path="nope")


def test_deleting_many(lake):
    for path in "abc":
        lake.objects.upload("sea", "main", path, [b"1"])
    refused = lake.objects.delete_many("sea", "main", ["a", "", "c", "unknown", "a"])
    assert [path for path, _ in refused] == [""]
    assert [item.path for item in lake.objects.listing("sea", "main", amount=9).items] == ["b"]
    with pytest.raises(Invalid, match="max paths is set to 1000"):
        lake.objects.delete_many("sea", "main", ["x"] * 1001)


def test_user_metadata_is_replaced(lake):
    lake.objects.upload("sea", "main", "a", [b"1"], metadata={"old": "1"})
    lake.objects.set_user_metadata("sea", "main", "a", {"new": "2"})
    assert lake.objects.stat("sea", "main", "a").entry.metadata == {"new": "2"}
    with pytest.raises(NotFound):
        lake.objects.set_user_metadata("sea", "main", "b", {})


@given(
    names=st.lists(st.text("ab/é", min_size=1, max_size=5), max_size=12, unique=True),
    prefix=st.text("ab/", max_size=2),
    delimiter=st.sampled_from(["", "/", "a/"]),
    amount=st.integers(1, 5),
)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_pages_of_staged_and_committed_objects(lake, names, prefix, delimiter, amount):
    lake.branches.create("sea", "page", "main")
    try:
        for number, name in enumerate(names):
            lake.objects.upload("sea", "page", name, [b"1"])
            if number == len(names) // 2:
                lake.commits.commit("sea", "page", message="m", committer="ada")
        found, after = [], ""
        while True:
            page = lake.objects.listing(
                "sea", "page", prefix=prefix, after=after, delimiter=delimiter, amount=amount
            )
            found += [item.path for item in page.items]
            if not page.has_more:
                break
            after = page.next_offset
        assert found == expected_listing(names, prefix, delimiter)
    finally:
        lake.branches.delete("sea", "page")


def expected_listing(names, prefix, delimiter):
    items = set()
    for name in names:
        if name.startswith(prefix):
            head, mark, _ = (
                name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
            )
            items.add(prefix + head + mark if mark else name)
    return sorted(items, key=str.encode)


def data_files(lake):
    return [info.address for info in lake.blocks.list("local://sea/data/")]


def test_the_look_at_an_object_and_its_deletion_are_one_step(lake):
    lake.objects.upload("sea", "main", "a", [b"old"])
    old = lake.objects.stat("sea", "main", "a").entry.checksum
    seen = []

    def refusal(entry):
        seen.append(entry.checksum)
        if len(seen) == 1:
            lake.objects.upload("sea", "main", "a", [b"new"])
        return None if entry.checksum == old else PreconditionFailed("another one")

    ((path, error),) = lake.objects.delete_many("sea", "main", ["a"], conditions={"a": refusal})
    assert (path, str(error), len(seen)) == ("a", "another one", 2)
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"new"


def test_what_another_deletes_meanwhile_was_deleted_by_the_other(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    gone = NotFound("gone")

    def refusal(entry):
        if entry is None:
            return gone
        lake.objects.delete("sea", "main", "a")
        return None

    refused = lake.objects.delete_many("sea", "main", ["a"], conditions={"a": refusal})
    assert refused == [("a", gone)]


def test_of_many_only_those_are_deleted_of_which_nothing_is_wrong(lake):
    for path in ("a", "b", "c"):
        lake.objects.upload("sea", "main", path, [path.encode()])
    lake.commits.commit("sea", "main", message="m", committer="ada")
    wrong = PreconditionFailed("wrong")
    refusals = {"a": lambda _: None, "b": lambda _: wrong, "none": lambda entry: entry}
    refused = lake.objects.delete_many("sea", "main", ["a", "b", "c", "none"], conditions=refusals)
    assert refused == [("b", wrong)]
    left = lake.objects.listing("sea", "main", amount=10).items
    assert [stat.path for stat in left] == ["b"]
