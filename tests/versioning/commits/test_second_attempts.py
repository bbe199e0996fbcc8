"""Changes that are made on top of a move that then is not made, and are made again without it."""

from __future__ import annotations

import msgspec
import pytest

import anabranch
from anabranch.blocks.local.journal.segment import Segment
from anabranch.errors import Conflict, Denied
from anabranch.model.commits.commit import CommitFields
from anabranch.model.objects.entry import Entry
from anabranch.versioning.commits.branch_change import BranchChange
from anabranch.versioning.commits.moves import Move
from anabranch.versioning.commits.staged_commits import ClientTree
from anabranch.versioning.merging.merge import Merge
from anabranch.versioning.references.branches import StoredBranch


@pytest.fixture
def core(tmp_path):
    with anabranch.open(tmp_path, committer="ada") as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake.core


@pytest.fixture
def journaled(monkeypatch):
    """The paths of all blocks that journals were given."""
    paths = set()
    append = Segment.append

    def noted(segment, records):
        append(segment, records)
        paths.update(record.path for record in records)

    monkeypatch.setattr(Segment, "append", noted)
    return paths


class VainMove:
    """A move of `main` to a commit with a tree, which is under way, and fails when the change after
    it is refused for a passing reason.
    """

    def __init__(self, core, repository, tree):
        stored = core.branches.read(repository, "main")
        head = core.commits.get(repository, stored.branch.commit_id)
        commit = core.commits.make_from(CommitFields("bob", "vain"), tree, [head])
        moved = msgspec.structs.replace(stored.branch, commit_id=commit.id)
        record = core.branches.write(repository, moved).value
        self.moves, self.key = core.committer._moves, (repository.partition, "main")
        self.move = Move(StoredBranch(moved, record), (commit,), None)
        self.moves.begin(self.key, self.move)
        self.followed = 0

    def writes_for(self, _):
        self.followed += 1
        if self.followed == 1:
            self.moves.end(self.key, self.move, is_made=False)
            raise Conflict("a sweep is under way", kind="sweep_under_way")
        return (), ()


class NoneImportable:
    """A client that may import nothing."""

    def admit_below(self, _):
        return False

    def require(self, address):
        raise Denied(address, kind="insufficient_permissions")


def put(core, repository, branch, path):
    change = BranchChange(repository=repository, branch=branch, fields=CommitFields("ada", path))
    entry = Entry(address=f"data/{path}", size=1, mtime=1, checksum="0" * 32)
    core.changes.put(repository, branch, path, entry)
    return core.staged_commits.commit(change)


def test_a_merge_that_is_made_again_is_durable(core, journaled):
    sea = core.repositories.get("sea")
    head = put(core, sea, "main", "base")
    core.branches.create(sea, "dev", head.id)
    theirs = put(core, sea, "dev", "theirs")
    head = put(core, sea, "main", "ours")
    vain = VainMove(core, sea, head.metarange_id)
    change = BranchChange(
        repository=sea, branch="main", fields=CommitFields("ada"), extra_writes=(vain,)
    )
    merged = core.merger.merge(change, Merge(theirs=theirs, source="dev"))
    assert vain.followed == 2
    assert merged.parents[0] == head.id
    tree = core.trees.open(sea, merged.metarange_id)
    tables = {merged.metarange_id, *(table.id for table in tree.ranges())}
    assert tables <= {path.rpartition("/")[2] for path in journaled}


def test_a_tree_of_a_client_is_checked_again_on_the_head_that_the_branch_has(core):
    sea = core.repositories.get("sea")
    head = put(core, sea, "main", "base")
    core.branches.create(sea, "dev", head.id)
    tree = put(core, sea, "dev", "theirs").metarange_id
    given = ClientTree(tree, NoneImportable())
    change = BranchChange(repository=sea, branch="main", fields=CommitFields("eve"))
    with pytest.raises(Denied):
        core.staged_commits.commit(change, tree=given)
    # on a commit that has the same objects, and never becomes the branch's, they would be admitted
    vain = VainMove(core, sea, tree)
    change = msgspec.structs.replace(change, extra_writes=(vain,))
    with pytest.raises(Denied):
        core.staged_commits.commit(change, tree=given, allow_empty=True)
    assert core.branches.read(sea, "main").branch.commit_id == head.id
