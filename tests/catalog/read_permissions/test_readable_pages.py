"""Listings and differences of what a user may read, compared with filtering everything."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.literal_policies import literally_allows
from support.session.hypothesis_profiles import examples

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.permissions import object_arn
from anabranch.access.policies.statements import Effect, Statement
from anabranch.catalog.read_permissions.readable_pages import ReadablePager
from anabranch.model.names import decode_key, encode_path
from anabranch.model.objects.stat import CommonPrefix

READ = "fs:ReadObject"
PATHS = st.text("ab/", min_size=1, max_size=5)
PATTERNS = st.lists(st.sampled_from([*"aab/b", "*", "*", "?", "${user}"]), max_size=4).map("".join)


class PlainPager(ReadablePager[tuple[str, bool]]):
    """Pages of a sorted list of paths."""

    def __init__(self, readable: ReadablePaths, paths: list[str], step: int) -> None:
        super().__init__(readable)
        self.paths, self.step, self.fetches = paths, step, 0

    def fetch(self, prefix, after, delimiter, amount):
        self.fetches += 1
        shown = sorted(grouped(self.paths, prefix, delimiter), key=encode_path)
        start = bisect_right(shown, encode_path(after), key=encode_path)
        step = min(self.step, amount)
        rows = [(path, path not in self.paths) for path in shown[start : start + step + 1]]
        return rows[:step], len(rows) > step

    def path(self, item):
        return item[0]

    def is_prefix(self, item):
        return item[1]

    def common_prefix(self, path):
        return path, True

    def paths_of(self, **page):
        items, has_more = self.page(**page)
        return [path for path, _ in items], has_more


def grouped(paths, prefix, delimiter):
    """Returns the items of a listing: paths, and common prefixes in place of those below them."""
    items = set()
    for path in paths:
        if path.startswith(prefix):
            end = path.find(delimiter, len(prefix)) if delimiter else -1
            items.add(path if end < 0 else path[: end + len(delimiter)])
    return items


def statement(effect, patterns):
    resources = tuple(object_arn("sea", pattern) for pattern in patterns)
    return Statement(effect, (READ,), resources)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sets(PATHS, max_size=14),
    st.lists(PATTERNS, min_size=1, max_size=3),
    st.lists(PATTERNS, max_size=2),
    st.sampled_from(["", "a", "a/", "b/"]),
    st.sampled_from(["", "/", "b", "a/"]),
    st.integers(1, 3),
)
@example({"a/x", "a/y", "b"}, ["a/*"], ["a/x"], "", "/", 1)
@example({"s/1", "s/2", "t"}, ["*"], ["s/*"], "", "", 1)
@example({"a/b/1", "a/c/1"}, ["a/b/z*", "a/c/*"], [], "", "/", 1)
def test_pages_hold_exactly_what_may_be_read(paths, allowed, denied, prefix, delimiter, amount):
    # a path that ends with the delimiter would be taken for a common prefix
    paths = sorted(each for each in paths if not (delimiter and each.endswith(delimiter)))
    statements = [statement(Effect.ALLOW, allowed), statement(Effect.DENY, denied)]
    actor = Actor(username="b", statements=statements)
    pager = PlainPager(ReadablePaths(actor, "sea"), paths, amount)
    found, after, has_more = [], "", True
    while has_more:
        items, has_more = pager.paths_of(
            prefix=prefix, after=after, delimiter=delimiter, amount=amount
        )
        assert len(items) == amount or not has_more
        found += items
        after = items[-1] if items else ""
    readable = [
        path for path in paths if literally_allows(statements, READ, object_arn("sea", path), "b")
    ]
    assert found == sorted(grouped(readable, prefix, delimiter), key=encode_path)


@pytest.mark.parametrize(
    ("allowed", "denied"), [(["z*"], []), (["*"], ["hidden/*"]), (["hidden/9999", "z"], [])]
)
def test_parts_without_readable_objects_are_skipped(allowed, denied):
    paths = [f"hidden/{number:04}" for number in range(5000)] + ["z"]
    statements = [statement(Effect.ALLOW, allowed), statement(Effect.DENY, denied)]
    pager = PlainPager(ReadablePaths(Actor(username="b", statements=statements), "sea"), paths, 100)
    assert pager.paths_of(prefix="", after="", delimiter="", amount=10) == (["z"], False)
    assert pager.fetches < 5


def test_statements_with_a_region_count_as_well():
    resource = "arn:lakefs:fs:us-east-1::repository/sea/object/a*"
    actor = Actor(username="b", statements=[Statement(Effect.ALLOW, (READ,), (resource,))])
    pager = PlainPager(ReadablePaths(actor, "sea"), ["a", "ab", "b"], 10)
    assert pager.paths_of(prefix="", after="", delimiter="", amount=10) == (["a", "ab"], False)


def test_listings_and_differences_of_a_repository_hold_only_readable_objects(lake):
    lake.branches.create("sea", "old", "main")
    for path in ("a/1", "b/1", "b/secret/1", "c"):
        lake.objects.upload("sea", "main", path, [b"x"])
    lake.commits.commit("sea", "main", committer="ada", message="data")
    lake.objects.upload("sea", "main", "b/2", [b"x"])
    lake.objects.upload("sea", "main", "b/secret/2", [b"x"])
    statements = [
        statement(Effect.ALLOW, ["b/*", "c"]),
        statement(Effect.DENY, ["b/secret/*"]),
    ]
    readable = ReadablePaths(Actor(username="b", statements=statements), "sea")

    def names(page):
        return [item.path for item in page.items]

    def listed(**options):
        page = {"amount": 2, **options}
        return lake.objects.listing("sea", "main", readable=readable, **page)

    first = listed()
    assert (names(first), first.has_more) == (["b/1", "b/2"], True)
    assert names(listed(after=first.next_offset)) == ["c"]
    roots = listed(delimiter="/")
    assert roots.items[0] == CommonPrefix("b/")
    assert (names(roots), roots.has_more) == (["b/", "c"], False)
    assert names(listed(prefix="b/", delimiter="/")) == ["b/1", "b/2"]
    assert names(listed(prefix="b/secret/")) == []
    assert decode_key(roots._listing.rows()[0][0]) == "b/"
    changes = lake.branches.changes("sea", "main", amount=10, readable=readable)
    assert names(changes) == ["b/2"]
    for two_dot in (True, False):
        for delimiter, expected in (("", ["b/1", "c"]), ("/", ["b/", "c"])):
            page = {"two_dot": two_dot, "delimiter": delimiter, "readable": readable}
            assert names(lake.refs.diff("sea", "old", "main", amount=10, **page)) == expected
            one = lake.refs.diff("sea", "old", "main", amount=1, **page)
            assert (names(one), one.has_more) == (expected[:1], True)
            assert (
                names(lake.refs.diff("sea", "old", "main", amount=1, after=one.next_offset, **page))
                == (expected[1:])
            )
