"""lakefs-spec: transactions of several uploads with commits, merges and tags between them."""

from __future__ import annotations

import pytest
from lakefs_spec import LakeFSFileSystem


@pytest.fixture
def fs(credentials):
    return LakeFSFileSystem(**credentials, skip_instance_cache=True)


def branches(repo):
    return [each.id for each in repo.sdk.branches_api.list_branches(repo.id).results]


def test_a_transaction_commits_and_merges(fs, repo):
    with fs.transaction(repo.id, "main") as tx:
        fs.pipe(f"lakefs://{repo.id}/{tx.branch.id}/a", b"1")
        assert repo.paths() == []
        made = tx.commit("Add a", metadata={"ticket": "7"})
    assert repo.paths("main@") == ["a"]
    merged = repo.head()
    assert merged.parents[1] == made.id
    assert repo.head(made.id).metadata == {"ticket": "7"}
    assert branches(repo) == ["main"]


def test_a_transaction_reverts_tags_and_parses(fs, repo):
    with fs.transaction(repo.id, "main", branch_name="draft") as tx:
        for path in ("a", "b"):
            fs.pipe(f"lakefs://{repo.id}/draft/{path}", b"1")
            last = tx.commit(f"Add {path}")
        tx.tag(last, "v1")
        assert tx.rev_parse("draft").id == last.id
        assert tx.rev_parse("draft~1").message == "Add a"
        undone = tx.revert("draft", last)
        assert undone.message == f"Revert {last.id}"
        assert tx.commit("Nothing").id == undone.id
    assert repo.paths("main@") == ["a"]
    assert repo.paths("v1") == ["a", "b"]


def test_a_transaction_merges_other_branches(fs, repo):
    repo.branch("side")
    repo.save("theirs", branch="side")
    with fs.transaction(repo.id, "main") as tx:
        merged = tx.merge("side", tx.branch)
        assert merged.message.startswith("Merge 'side'")
        assert tx.merge("side", tx.branch).id == merged.id
    assert repo.paths("main@") == ["theirs"]


def test_a_transaction_that_fails_does_not_reach_main(fs, repo):
    class Interrupted(Exception):
        pass

    def transact():
        with fs.transaction(repo.id, "main", branch_name="draft", delete="always") as tx:
            fs.pipe(f"lakefs://{repo.id}/draft/a", b"1")
            tx.commit("Add a")
            raise Interrupted

    with pytest.raises(Interrupted):
        transact()
    assert repo.paths() == []
    assert branches(repo) == ["main"]


def test_a_transaction_of_an_unknown_repository_is_refused(fs):
    with pytest.raises(ValueError, match="does not exist"):
        fs.transaction("no-such-repository", "main")
