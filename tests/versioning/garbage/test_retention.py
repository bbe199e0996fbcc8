"""Active commits, compared with lakeFS's definition."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Gone
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.retention import RetentionRules
from anabranch.versioning.garbage.retention import (
    DAY_SECONDS,
    CommitNode,
    active_commits,
    commit_node,
)

NOW = 1_700_000_000.0


def days_ago(days, parent=""):
    return CommitNode(NOW - days * DAY_SECONDS, parent, "")


def branch(name, commit_id):
    return Branch(id=name, commit_id=commit_id, staging_token="t")


def plainly(lines, branches, rules):
    """Every line walked to its end, as the facts about lakeFS 1.84 put it."""
    heads = [(b.id, b.commit_id) for b in branches]
    active = {commit_id for _, commit_id in heads}
    firsts = {line.first_parent for line in lines.values()}
    behind = [c for c in lines if c not in firsts and c not in active]
    starts = [(commit_id, rules.days(name)) for name, commit_id in heads]
    starts += [(commit_id, rules.default_days) for commit_id in behind]
    for commit_id, days in starts:
        since = NOW - days * DAY_SECONDS
        walk, current = [(lines[commit_id].created, lines[commit_id].first_parent)], commit_id
        if commit_id in behind:
            walk = [(lines[commit_id].created, commit_id), *walk]
        while lines[current].first_parent:
            current = lines[current].first_parent
            walk.append((lines[current].created, lines[current].first_parent))
        active |= {parent for created, parent in walk if parent and created > since}
    return active


@st.composite
def histories(draw):
    lines: dict[str, CommitNode] = {}
    for number in range(draw(st.integers(1, 25))):
        parent = draw(st.sampled_from(sorted(lines))) if lines and draw(st.integers(0, 9)) else ""
        lines[f"{number:02d}"] = days_ago(draw(st.integers(0, 40)), parent)
    names = st.sampled_from(["main", "dev", "a", "b"])
    heads = draw(st.dictionaries(names, st.sampled_from(sorted(lines)), max_size=4))
    days = st.integers(0, 45)
    rules = RetentionRules(draw(days), draw(st.dictionaries(names, days)))
    return lines, [branch(*head) for head in heads.items()], rules


@settings(max_examples=examples(300), deadline=None)
@given(histories())
def test_active_commits_match_lakefs_definition(history):
    lines, branches, rules = history
    assert active_commits(lines, branches, [], rules, NOW) == plainly(lines, branches, rules)


def test_retention_counts_from_replacement_of_commit():
    lines = {"old": days_ago(100), "new": days_ago(3, "old")}
    heads = [branch("main", "new")]
    assert active_commits(lines, heads, [], RetentionRules(4), NOW) == {"new", "old"}
    assert active_commits(lines, heads, [], RetentionRules(3), NOW) == {"new"}
    rules = RetentionRules(3, {"main": 4})
    assert active_commits(lines, heads, [], rules, NOW) == {"new", "old"}


def test_deleted_branch_is_retained_for_default_days():
    lines = {"base": days_ago(50), "side": days_ago(5, "base"), "head": days_ago(20, "base")}
    heads = [branch("main", "head")]
    assert active_commits(lines, heads, [], RetentionRules(6), NOW) == {"head", "side", "base"}
    assert active_commits(lines, heads, [], RetentionRules(4), NOW) == {"head"}


def test_tag_retains_only_its_commit():
    lines = {"a": days_ago(90), "b": days_ago(80, "a"), "c": days_ago(70, "b")}
    heads = [branch("main", "c")]
    assert active_commits(lines, heads, ["b"], RetentionRules(1), NOW) == {"b", "c"}


def test_without_rules_all_commits_are_active():
    lines = {"a": days_ago(90), "b": days_ago(80, "a"), "x": days_ago(70)}
    assert active_commits(lines, [branch("main", "b")], [], None, NOW) == {"a", "b", "x"}


def test_missing_commit_is_named_in_error():
    lines = {"a": days_ago(3, "lost")}
    with pytest.raises(Gone, match="lost"):
        active_commits(lines, [branch("main", "a")], [], RetentionRules(9), NOW)
    with pytest.raises(Gone, match="gone"):
        active_commits(lines, [branch("main", "gone")], [], None, NOW)


def test_old_lakefs_merges_have_reversed_parents():
    merge = Commit(
        id="m", committer="", message="", creation_date=1, metarange_id="", parents=("s", "d")
    )
    assert commit_node(merge).first_parent == "s"
    old = Commit(
        id="m",
        committer="",
        message="",
        creation_date=1,
        metarange_id="",
        parents=("s", "d"),
        version=0,
    )
    assert commit_node(old).first_parent == "d"


@pytest.mark.slow
def test_hundred_thousand_branches_of_long_history():
    lines = {"c0": days_ago(400)}
    for number in range(1, 100_000):
        lines[f"c{number}"] = days_ago(400 - number / 300, f"c{number - 1}")
    branches = [branch(f"b{number}", f"c{number}") for number in range(100_000)]
    assert len(active_commits(lines, branches, [], RetentionRules(7), NOW)) == 100_000
