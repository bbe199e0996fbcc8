"""Refused merges report their first conflicts, and count them if these are all."""

import pytest

from anabranch.errors import MergeConflict
from anabranch.versioning.merging.settlement import MAX_CONFLICTS
from anabranch.versioning.merging.tree_merger import MAX_PATHS
from tests.versioning.merging.conftest import merge_rules


def conflicting(versions, number):
    """Lets main and dev change so many paths differently, and others that do not conflict."""
    paths = [f"c{place:05}" for place in range(number)]
    versions.commit("main", a="x", z="x", **dict.fromkeys(paths, "x"))
    versions.branch("dev")
    versions.commit("dev", a="y", **dict.fromkeys(paths, "y"))
    versions.commit("main", z="z", **dict.fromkeys(paths, "z"))
    return paths


def preview(versions, rules):
    theirs, head = (
        versions.core.references.commit(versions.repository, ref) for ref in ("dev", "main")
    )
    return versions.core.merger.preview(versions.repository, theirs, head, rules)


@pytest.mark.parametrize("number", [1, MAX_PATHS - 1, MAX_PATHS, MAX_PATHS + 1, 2 * MAX_PATHS])
def test_without_rules_a_page_of_paths_is_named(versions, number):
    paths = conflicting(versions, number)
    before = versions.head("main")
    with pytest.raises(MergeConflict) as refused:
        versions.merge("dev", "main")
    assert list(refused.value.paths) == paths[:MAX_PATHS]
    assert refused.value.count == (number if number <= MAX_PATHS else None)
    assert versions.head("main") == before
    planned = preview(versions, merge_rules())
    assert planned.conflict_count == number, "a dry run counts"
    assert [each.path for each in planned.conflicts] == paths
    assert planned[:3] == (0, 1, 0)


@pytest.mark.sample(1)
@pytest.mark.parametrize("number", [MAX_CONFLICTS, MAX_CONFLICTS + 1, MAX_CONFLICTS + 200])
def test_with_rules_a_page_of_conflicts_is_described(versions, number):
    paths = conflicting(versions, number)
    settled = merge_rules(("c0000*", "source-wins"))
    with pytest.raises(MergeConflict) as refused:
        versions.merge("dev", "main", rules=settled)
    open_ones = paths[10:]
    assert list(refused.value.paths) == open_ones[:MAX_CONFLICTS]
    assert [each.path for each in refused.value.conflicts] == open_ones[:MAX_CONFLICTS]
    assert refused.value.count == (number - 10 if number - 10 <= MAX_CONFLICTS else None)
    planned = preview(versions, settled)
    assert (planned.conflict_count, len(planned.settled)) == (number - 10, 10)
    assert [each.path for each in planned.conflicts] == open_ones[:MAX_CONFLICTS]


def test_rules_settle_conflicts_of_all_pages(versions):
    paths = conflicting(versions, MAX_CONFLICTS + 2)
    rules = merge_rules(("c00*", "dest-wins"), (paths[-1], "delete"), strategy="source-wins")
    versions.merge("dev", "main", rules=rules)
    merged = versions.contents("main")
    assert merged == {
        **{path: "z" if path < "c01" else "y" for path in paths[:-1]},
        "a": "y",
        "z": "z",
    }


def test_one_open_conflict_behind_all_settled_ones_refuses_the_merge(versions):
    paths = conflicting(versions, MAX_CONFLICTS + 2)
    with pytest.raises(MergeConflict) as refused:
        versions.merge("dev", "main", rules=merge_rules((paths[-1], "fail"), ("**", "source-wins")))
    assert (refused.value.paths, refused.value.count) == ((paths[-1],), 1)


@pytest.mark.parametrize("rules", [(), (("none", "text"),)], ids=["without rules", "with rules"])
def test_reverts_picks_and_rebases_report_as_merges_do(versions, rules):
    most = MAX_CONFLICTS if rules else MAX_PATHS
    paths = conflicting(versions, most + 1)
    given = {"rules": merge_rules(*rules)}
    dev, before = versions.head("dev"), versions.head("main")
    versions.branch("middle", dev.id)
    versions.commit("middle", **dict.fromkeys(paths, "w"))
    core = versions.core
    for change in (
        lambda: core.merger.cherry_pick(versions.change("main"), dev.id, **given),
        lambda: core.reverter.revert(versions.change("middle"), [dev.id], parent_number=0, **given),
        lambda: core.rebaser.rebase(versions.change("dev"), before, **given),
    ):
        with pytest.raises(MergeConflict) as refused:
            change()
        assert list(refused.value.paths) == paths[:most]
        assert refused.value.count is None
    assert (versions.head("main"), versions.head("dev")) == (before, dev)
