"""Rows of logs that are kept: the same bytes as rows that are made, and bounded."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.brevity import BRIEF_BYTES, TakesLong, brief
from anabranch.model.commits.commit import Commit
from anabranch.rest.operations.commits.commit_rows import CommitRows
from anabranch.rest.operations.commits.commits import to_commit
from anabranch.rest.protocol.responses import encode

TEXT = st.text(st.characters(codec=None), max_size=8)  # with surrogates, as bytes of others
COMMITS = st.lists(
    st.builds(
        Commit,
        id=st.sampled_from("abc"),
        committer=TEXT,
        message=TEXT,
        creation_date=st.integers(0, 1 << 33),
        metarange_id=st.just(""),
        parents=st.lists(st.sampled_from("abc")).map(tuple),
        metadata=st.dictionaries(TEXT, TEXT, max_size=2),
        generation=st.integers(1, 9),
    ),
    max_size=6,
)


def commit(number, message=""):
    return Commit(
        id=f"{number:064x}", committer="ada", message=message, creation_date=1, metarange_id=""
    )


@given(COMMITS)
def test_rows_are_what_a_list_of_commits_is_encoded_as(commits):
    rows = CommitRows(max_bytes=600)
    for _ in range(2):
        assert rows.join(commits) == encode([to_commit(each) for each in commits])


def test_a_row_is_made_once():
    rows, one = CommitRows(), commit(1)
    rows.join([one])
    kept = rows.kept_bytes
    assert kept > 0
    assert [row["id"] for row in json.loads(rows.join([one, one]))] == [one.id] * 2
    assert rows.kept_bytes == kept


def test_a_commit_of_the_same_id_gets_a_row_of_its_own():
    rows = CommitRows()
    for generation in (1, 2, 1):
        [row] = json.loads(rows.join([msgspec.structs.replace(commit(1), generation=generation)]))
        assert row["generation"] == generation


def test_rows_have_a_bounded_size_together():
    rows = CommitRows(max_bytes=2_000)
    rows.join([commit(number) for number in range(100)])
    assert 1_000 < rows.kept_bytes <= 2_000
    rows.join([commit(100, "x" * 5_000)])
    assert 1_000 < rows.kept_bytes <= 2_000, "a long row takes no other's place"


def test_no_more_than_the_bound_is_kept_of_long_rows():
    rows = CommitRows(max_bytes=100)
    rows.join([commit(1, "x" * 100)])
    assert rows.kept_bytes == 0


def test_long_rows_are_not_made_where_that_must_be_brief():
    rows = CommitRows()
    short = [commit(number) for number in range(1_000)]
    long = [commit(2_000 + number, "x" * (BRIEF_BYTES // 4)) for number in range(5)]
    with brief():
        assert rows.join(short) == encode([to_commit(each) for each in short])
        assert rows.join([*short, *long[:3]]) == encode([to_commit(e) for e in [*short, *long[:3]]])
        with pytest.raises(TakesLong):
            rows.join(long)
    assert rows.join(long) == encode([to_commit(each) for each in long])
