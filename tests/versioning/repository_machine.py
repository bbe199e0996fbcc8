"""The state machine of a repository and its plain model."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from support.histories.history_rules import PATHS, REPOSITORY, HistoryRules

from anabranch.errors import (
    Denied,
    DirtyBranch,
    Invalid,
    MergeConflict,
    NoChanges,
    NotFound,
    ProtectedBranch,
)
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.objects.stat import Stat
from anabranch.testing.lake import Clock, lake_in
from anabranch.testing.model_repository import ModelBranch, ModelCommit, ModelRepository
from anabranch.versioning.records.keys import PROTECTION
from anabranch.versioning.records.references import protection_bytes

BODIES = st.sampled_from([b"", b"one", b"two", b"three"])
USERS = st.sampled_from(["ada", "bob", "cleo"])


@dataclass
class ModelPull:
    """A pull request; `approvals` has the approved commit of each user whose last review counts."""

    source: str
    destination: str
    author: str
    status: str = "open"
    merged: str = ""
    approvals: dict[str, str] = field(default_factory=dict)


class RepositoryMachine(HistoryRules):
    """A lake and its model, which get the same operations."""

    branches = HistoryRules.branches
    commits = HistoryRules.commits
    pulls = Bundle("pulls")

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.clock = Clock()
        self.lake = self.stack.enter_context(lake_in(folder, self.clock, self.keyvalue()))
        self.lake.repositories.create(REPOSITORY, "local://sea")
        self.count = 0
        self.model_pulls = {}
        self.required: dict[str, int] = {}

    def keyvalue(self) -> KeyValueStore:
        """Returns the store of this lake's references."""
        return MemoryStore()

    def teardown(self) -> None:
        self.stack.close()

    @initialize(target=branches)
    def begin(self) -> str:
        root = self.lake.commits.get(REPOSITORY, "main")
        self.model = ModelRepository(ModelCommit(root.id, {}, ()))
        return "main"

    @rule(branch=branches, path=PATHS, body=BODIES)
    def upload(self, branch: str, path: str, body: bytes) -> None:
        self.clock.advance(1)
        self.lake.objects.upload(REPOSITORY, branch, path, [body])
        self.model.branches[branch].put(path, body)

    @rule(branch=branches, paths=st.lists(PATHS, max_size=4))
    def delete(self, branch: str, paths: list[str]) -> None:
        assert self.lake.objects.delete_many(REPOSITORY, branch, paths) == []
        for path in paths:
            self.model.branches[branch].delete(path)

    @rule(branch=branches, kind=st.sampled_from(["reset", "common_prefix", "object"]), path=PATHS)
    def reset(self, branch: str, kind, path: str) -> None:
        self.lake.branches.reset(REPOSITORY, branch, kind, path)
        self.model.branches[branch].reset(kind, path)

    @rule(target=commits, branch=branches, allow_empty=st.booleans())
    def commit(self, branch: str, allow_empty: bool):
        self.clock.advance(1)
        model = self.model.branches[branch]
        before = self.lake.commits.get(REPOSITORY, branch)
        try:
            made = self.lake.commits.commit(
                REPOSITORY, branch, message="m", committer="c", allow_empty=allow_empty
            )
        except NoChanges:
            assert not model.dirty
            assert not allow_empty
            return multiple()
        assert model.dirty or allow_empty
        assert made.parents == (before.id,)
        self.model.commit(branch, made.id)
        return made.id

    @rule(target=branches, source=st.one_of(branches, commits))
    def create_branch(self, source: str) -> str:
        self.count += 1
        name = f"b{self.count}"
        made = self.lake.branches.create(REPOSITORY, name, source)
        assert made.commit_id == self.model.resolve(source).id
        self.model.branches[name] = ModelBranch(self.model.resolve(source))
        return name

    @rule(target=branches, branch=consumes(branches))
    def delete_branch(self, branch: str):
        if branch == "main":
            return branch
        if self.required.get(branch):
            with pytest.raises(ProtectedBranch):
                self.lake.branches.delete(REPOSITORY, branch)
            return branch
        self.lake.branches.delete(REPOSITORY, branch)
        del self.model.branches[branch]
        return multiple()

    @rule(source=st.one_of(branches, commits))
    def tag(self, source: str) -> None:
        self.count += 1
        tag = self.lake.tags.create(REPOSITORY, f"v{self.count}", source)
        self.model.tags[tag.id] = self.model.resolve(source)

    @rule(
        target=commits,
        source=st.one_of(branches, commits),
        destination=branches,
        strategy=st.sampled_from(["", "source-wins", "dest-wins"]),
        squash=st.booleans(),
    )
    def merge(self, source: str, destination: str, strategy: str, squash: bool):
        if destination not in self.model.branches or not self.model.knows(source):
            return multiple()
        self.clock.advance(1)
        theirs, ours = self.model.resolve(source), self.model.branches[destination]
        base = self.model.commits[self.lake.refs.merge_base(REPOSITORY, source, destination)[2]]
        assert base.id in self.model.common_ancestors(theirs, ours.head)
        objects, conflicts = self.model.merged(ours.head, theirs, base, strategy)
        refused = None
        try:
            made = self.lake.refs.merge(
                REPOSITORY,
                source,
                destination,
                committer="c",
                strategy=strategy,
                squash=squash,
            )
        except ProtectedBranch:
            assert self.required[destination]
        except DirtyBranch:
            assert ours.dirty
        except NoChanges:
            assert theirs.objects == base.objects
        except MergeConflict as error:
            assert not ours.dirty
            assert not strategy
            refused = error
        else:
            assert not self.required.get(destination)
            assert not ours.dirty
            assert not conflicts or strategy
            parents = (ours.head.id,) if squash else (ours.head.id, theirs.id)
            if not squash:
                self.merge_contained_pulls(destination, ours.head, theirs, made)
            self.model.add(destination, ModelCommit(made, objects, parents))
            return made
        if refused is not None:
            assert list(refused.paths) == sorted(conflicts, key=str.encode)
            assert refused.count == len(conflicts)
        return multiple()

    @rule(branch=branches, number=st.integers(0, 2))
    def require_approvals(self, branch: str, number: int) -> None:
        if branch not in self.model.branches:
            return
        self.required = {**self.required, branch: number}
        # rules that block nothing directly, so that branches can still be committed to
        repository = self.lake.repositories.get(REPOSITORY)
        record = protection_bytes(dict.fromkeys(self.required, frozenset()), self.required)
        write = Write(repository.partition, PROTECTION, record)
        assert self.lake.keyvalue.apply([write])

    @rule(target=pulls, source=branches, destination=branches, author=USERS)
    def create_pull(self, source: str, destination: str, author: str):
        def create() -> str:
            return self.lake.pulls.create(
                REPOSITORY, title="t", source=source, destination=destination, author=author
            ).id

        if not {source, destination} <= self.model.branches.keys():
            with pytest.raises(NotFound):
                create()
        elif source == destination:
            with pytest.raises(Invalid, match="same branch"):
                create()
        else:
            self.clock.advance(1)
            made = create()
            self.model_pulls[made] = ModelPull(source, destination, author)
            return made
        return multiple()

    @rule(target=pulls, destination=branches, path=PATHS, body=BODIES, author=USERS)
    def propose(self, destination: str, path: str, body: bytes, author: str):
        """Creates a pull request from a new branch with one change."""
        if destination not in self.model.branches:
            return multiple()
        source = self.create_branch(destination)
        self.upload(source, path, body)
        self.commit(source, allow_empty=True)
        return self.create_pull(source, destination, author)

    @rule(pull=pulls, status=st.sampled_from(["open", "closed"]))
    def set_pull_status(self, pull: str, status: str) -> None:
        model = self.model_pulls[pull]
        if model.status == "merged":
            with pytest.raises(Invalid, match="bad pull request status"):
                self.lake.pulls.update(REPOSITORY, pull, status=status)
            return
        self.lake.pulls.update(REPOSITORY, pull, status=status)
        model.status = status

    @rule(pull=pulls, users=st.sets(USERS), approves=st.sampled_from([True, True, False]))
    def reviews(self, pull: str, users: set[str], approves: bool) -> None:
        for user in sorted(users):
            self.review(pull, user, approves)

    def review(self, pull: str, user: str, approves: bool) -> None:
        model = self.model_pulls[pull]
        state = "approved" if approves else "changes_requested"
        if model.status != "open" or model.source not in self.model.branches:
            with pytest.raises((Invalid, NotFound)):
                self.lake.reviews.create(REPOSITORY, pull, state, author=user)
            return
        self.lake.reviews.create(REPOSITORY, pull, state, author=user)
        model.approvals.pop(user, None)
        if approves and user != model.author:
            model.approvals[user] = self.model.branches[model.source].head.id

    @rule(
        target=commits,
        pull=pulls,
        strategy=st.sampled_from(["", "source-wins"]),
        resets=st.booleans(),
    )
    def merge_pull(self, pull: str, strategy: str, resets: bool):
        self.clock.advance(1)
        model = self.model_pulls[pull]
        if resets and model.destination in self.model.branches:
            self.reset(model.destination, "reset", "")
        exist = {model.source, model.destination} <= self.model.branches.keys()
        unreviewed = strategy and self.required.get(model.destination)
        if model.status != "open" or not exist or unreviewed or self.missing_approvals(model) > 0:
            with pytest.raises((Invalid, NotFound, Denied)) as error:
                self.lake.pulls.merge(REPOSITORY, pull, committer="c", strategy=strategy)
            assert error.type is (
                Invalid if model.status != "open" else Denied if exist else NotFound
            )
            return multiple()
        theirs, ours = (
            self.model.branches[model.source].head,
            self.model.branches[model.destination],
        )
        base_id = self.lake.refs.merge_base(REPOSITORY, model.source, model.destination)[2]
        base = self.model.commits[base_id]
        objects, conflicts = self.model.merged(ours.head, theirs, base, strategy)
        try:
            made = self.lake.pulls.merge(REPOSITORY, pull, committer="c", strategy=strategy)
        except DirtyBranch:
            assert ours.dirty
        except NoChanges:
            assert theirs.objects == base.objects
        except MergeConflict:
            assert conflicts
            assert not strategy
        else:
            assert not ours.dirty
            assert not conflicts or strategy
            parents = (ours.head.id, theirs.id)
            assert self.lake.commits.get(REPOSITORY, made).parents == parents
            self.merge_contained_pulls(model.destination, ours.head, theirs, made, pull)
            self.model.add(model.destination, ModelCommit(made, objects, parents))
            model.status, model.merged = "merged", made
            return made
        return multiple()

    @rule(
        target=commits,
        pull=pulls,
        users=st.sets(USERS, min_size=1),
        withdraws=st.sets(USERS, max_size=1),
        number=st.integers(1, 2),
        path=PATHS,
        moves=st.booleans(),
        settles=st.booleans(),
    )
    def decide(
        self, pull: str, users: set[str], withdraws, number: int, path: str, moves: bool, settles
    ):
        """Requires approvals, perhaps settles conflicts on the source, gives approvals, perhaps
        withdraws one or moves the source, and merges.
        """
        model = self.model_pulls[pull]
        self.require_approvals(model.destination, number)
        if settles and model.source in self.model.branches:
            self.reset(model.source, "reset", "")
            self.merge(model.destination, model.source, "dest-wins", False)
        self.reviews(pull, users, approves=True)
        self.reviews(pull, withdraws & users, approves=False)
        if moves and model.source in self.model.branches and not self.required.get(model.source):
            self.upload(model.source, path, b"moved")
            self.commit(model.source, allow_empty=True)
        return self.merge_pull(pull, "", resets=True)

    def missing_approvals(self, pull: ModelPull) -> int:
        head = self.model.branches[pull.source].head.id
        approvals = sum(commit_id == head for commit_id in pull.approvals.values())
        return self.required.get(pull.destination, 0) - approvals

    @rule(statuses=st.sets(st.sampled_from(["open", "closed", "merged"])), amount=st.integers(1, 3))
    def compare_pulls(self, statuses: set[str], amount: int) -> None:
        found, after = [], ""
        while True:
            page = self.lake.pulls.list(REPOSITORY, statuses=statuses, after=after, amount=amount)
            found += [(item.id, item.status, item.merged_commit_id) for item in page.items]
            if not page.has_more:
                break
            after = page.next_offset
        assert found == [
            (pull_id, model.status, model.merged)
            for pull_id, model in reversed(self.model_pulls.items())
            if model.status in statuses
        ]

    @rule(branch=branches, delimiter=st.sampled_from(["", "/"]), amount=st.integers(1, 4))
    def compare_listing(self, branch: str, delimiter: str, amount: int) -> None:
        if branch not in self.model.branches:
            return
        found, after = [], ""
        while True:
            page = self.lake.objects.listing(
                REPOSITORY, branch, after=after, delimiter=delimiter, amount=amount
            )
            assert len(page) <= amount
            found += [item.path for item in page.items]
            if not page.has_more:
                break
            after = page.next_offset
        assert found == self.model.branches[branch].listing(delimiter)

    @rule(branch=branches)
    def compare_uncommitted(self, branch: str) -> None:
        if branch not in self.model.branches:
            return
        page = self.lake.branches.changes(REPOSITORY, branch, amount=1000)
        assert {change.path: change.kind for change in page.items} == self.model.branches[
            branch
        ].changes()

    @invariant()
    def every_reference_holds_what_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        for name, branch in self.model.branches.items():
            assert self.objects(name) == branch.objects
            assert self.objects(f"{name}@") == branch.head.objects
        for name, commit in self.model.tags.items():
            assert self.objects(name) == commit.objects

    def objects(self, reference: str) -> dict[str, bytes]:
        page = self.lake.objects.listing(REPOSITORY, reference, amount=1000)
        return {
            item.path: self.lake.objects.open(REPOSITORY, reference, item.path).read_bytes()
            for item in page.items
            if isinstance(item, Stat)
        }
