"""Conflicts that are settled path by path, compared with a merge of dictionaries."""

import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Gone, Invalid, MergeConflict
from anabranch.versioning.merging.content_rights import ALL_CONTENT
from anabranch.versioning.merging.rules import MergeRules, Rule
from tests.versioning.conftest import Versions
from tests.versioning.merging.conftest import Contents

SIDES = st.sampled_from([None, b"x", b"y", b"z"])
ROWS = st.dictionaries(st.sampled_from("abcdef"), st.tuples(SIDES, SIDES, SIDES), min_size=1)
STRATEGIES = st.sampled_from(["source-wins", "dest-wins", "base", "delete", "fail", ""])


def merge_dictionaries(rows, choices):
    """Returns the merge of (base, source, destination), the paths that conflict, those settled."""
    merged, conflicts, settled = {}, [], []
    for path, (base, source, destination) in sorted(rows.items()):
        if source in (base, destination):
            merged[path] = destination
        elif destination == base:
            merged[path] = source
        elif choices.get(path, "") in ("", "fail"):
            conflicts.append(path)
        else:
            settled.append((path, choices[path]))
            merged[path] = {
                "source-wins": source,
                "dest-wins": destination,
                "base": base,
                "delete": None,
            }[choices[path]]
    return {path: content for path, content in merged.items() if content}, conflicts, settled


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.dictionaries(st.sampled_from("abcdef"), STRATEGIES))
def test_each_conflict_gets_the_side_of_its_rule(rows, choices):
    with tempfile.TemporaryDirectory() as folder:
        lake = Contents(Versions(folder))
        base, source, destination = (
            {path: row[side] for path, row in rows.items()} for side in range(3)
        )
        lake.diverge(
            {path: content for path, content in base.items() if content},
            {path: source[path] for path in rows if source[path] != base[path]},
            {path: destination[path] for path in rows if destination[path] != base[path]},
        )
        expected, conflicts, settled = merge_dictionaries(rows, choices)
        rules = [(path, strategy) for path, strategy in choices.items() if strategy]
        before = lake.tree("main")
        preview = lake.preview(*rules)
        assert [conflict.path for conflict in preview.conflicts] == conflicts
        assert [tuple(each) for each in preview.settled] == settled
        assert lake.tree("main") == before
        counted = {**dict.fromkeys(before, b"?"), **before}
        merged_apart = {
            path: content
            for path, content in {**expected, "of dev": b"d"}.items()
            if path not in dict(settled)
        }
        added = [path for path in merged_apart if path not in counted]
        changed = [p for p in merged_apart if p in counted and counted[p] != merged_apart[p]]
        gone = [
            path
            for path in rows
            if path in counted
            and path not in expected
            and path not in conflicts
            and path not in dict(settled)
        ]
        assert preview[:3] == (len(added), len(changed), len(gone))
        if conflicts:
            with pytest.raises(MergeConflict) as refused:
                lake.merge(*rules)
            assert list(refused.value.paths) == conflicts
            assert lake.tree("main") == before
            return
        lake.merge(*rules)
        always = {"other": b"o", "of dev": b"d", "of main": b"m"}
        assert lake.tree("main") == {**expected, **always}


def conflicting(lake):
    lake.diverge(
        {"both": b"0", "gone here": b"0", "gone there": b"0"},
        {"both": b"1", "gone here": b"1", "gone there": None, "twice": b"1"},
        {"both": b"2", "gone here": None, "gone there": b"2", "twice": b"2"},
    )


def test_kinds_are_named_from_the_source(lake):
    conflicting(lake)
    assert [(each.path, each.kind) for each in lake.preview().conflicts] == [
        ("both", "both_changed"),
        ("gone here", "changed_deleted"),
        ("gone there", "deleted_changed"),
        ("twice", "added_twice"),
    ]
    both = lake.preview().conflicts[0]
    sizes = [stat.entry.checksum for stat in (both.base, both.source, both.destination)]
    assert len(set(sizes)) == 3


def test_the_first_rule_that_matches_counts(lake):
    conflicting(lake)
    lake.merge(("b*", "source-wins"), ("**", "dest-wins"), ("both", "delete"))
    assert lake.read("main", "both") == b"1"
    assert lake.read("main", "twice") == b"2"


def test_rules_of_the_request_precede_the_file_and_the_file_precedes_the_strategy(lake):
    conflicting(lake)
    rules = (
        b"rules:\n  - {path: both, strategy: dest-wins}\n  - {path: 'gone*', strategy: delete}\n"
    )
    lake.commit("main", {"_lakefs_merge.yaml": rules})
    preview = lake.preview(("both", "base"), strategy="source-wins")
    assert [tuple(each) for each in preview.settled] == [
        ("both", "base"),
        ("gone here", "delete"),
        ("gone there", "delete"),
        ("twice", "source-wins"),
    ]
    lake.merge(("both", "base"), strategy="source-wins")
    assert lake.read("main", "both") == b"0"
    assert lake.read("main", "gone there") is None
    assert lake.read("main", "twice") == b"1"


def test_the_file_of_the_source_has_no_effect(lake):
    conflicting(lake)
    rules = b"rules:\n  - {path: '**', strategy: source-wins}\n"
    lake.commit("dev", {"_lakefs_merge.yaml": rules})
    with pytest.raises(MergeConflict):
        lake.merge()


def test_an_invalid_file_refuses_every_merge_but_one_that_replaces_it(lake):
    lake.diverge({"_lakefs_merge.yaml": b"rules: 7\n"}, {}, {})
    with pytest.raises(Invalid, match=r"_lakefs_merge\.yaml, line 1"):
        lake.merge()
    lake.commit("dev", {"_lakefs_merge.yaml": b"rules: []\n"})
    lake.merge()
    assert lake.read("main", "_lakefs_merge.yaml") == b"rules: []\n"


def test_a_removed_base_version_is_not_taken(lake):
    conflicting(lake)
    entry = lake.core.objects.get(lake.repository, "main~1", "both")
    lake.versions.blocks.delete([lake.address(entry.address)])
    rules = ("both", "base"), ("**", "dest-wins")
    before = lake.versions.head("main")
    with pytest.raises(Gone):
        lake.merge(*rules)
    assert lake.versions.head("main") == before


def test_merges_without_conflicts_ask_no_rule(lake):
    lake.diverge({"a": b"0"}, {"a": b"1"}, {})
    preview = lake.preview(("**", "fail"))
    assert preview == (1, 1, 0, [], [], 0)
    lake.merge(("**", "fail"))
    assert lake.read("main", "a") == b"1"


def test_a_given_object_settles_a_conflict(lake):
    conflicting(lake)
    lake.put("main", {"new": b"given"})
    entry = lake.core.objects.get(lake.repository, "main", "new")
    lake.versions.commit("main")
    rules = MergeRules((Rule.for_object("both", entry),), "dest-wins", ALL_CONTENT)
    lake.versions.merge("dev", "main", rules=rules)
    assert lake.read("main", "both") == b"given"


@pytest.mark.slow
def test_many_conflicts_are_listed_in_pages(lake):
    paths = [f"{number:05}" for number in range(300)]
    lake.diverge(dict.fromkeys(paths, b"0"), dict.fromkeys(paths, b"1"), dict.fromkeys(paths, b"2"))
    core = lake.core
    theirs, head = (core.references.commit(lake.repository, ref) for ref in ("dev", "main"))
    listed, after = [], ""
    while True:
        page = core.merger.conflicts(
            lake.repository, theirs, head, prefix="0", after=after, amount=77
        )
        listed += [conflict.path for conflict in page.items]
        if not page.has_more:
            break
        after = page.next_offset
    assert listed == paths
