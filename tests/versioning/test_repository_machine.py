"""The repository against a plain model: dictionaries of paths, a list of commits.

Hypothesis makes up a history of use cases and checks after each that every branch, tag and commit
holds exactly what the model says, and that a merge does what the ten rows say.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)
from support.services.postgres import clear

from anabranch.errors import DirtyBranch, MergeConflict, NoChanges
from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.model.stat import Stat
from anabranch.testing.lake import Clock, lake_in
from anabranch.testing.model_repository import ModelBranch, ModelCommit, ModelRepository

PATHS = st.sampled_from(["a", "a/b", "a/b/c", "a/c", "a//c", "b", "b/ü", "b/✓", "z" * 40])
BODIES = st.sampled_from([b"", b"one", b"two", b"three"])
REPOSITORY = "sea"


class RepositoryMachine(RuleBasedStateMachine):
    """A lake and its model, told the same things."""

    branches = Bundle("branches")
    commits = Bundle("commits")

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.clock = Clock()
        self.lake = self.stack.enter_context(lake_in(folder, self.clock, self.keyvalue()))
        self.lake.repositories.create(REPOSITORY, "local://sea")
        self.count = 0

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
        except DirtyBranch:
            assert ours.dirty
        except NoChanges:
            assert theirs.objects == base.objects
        except MergeConflict as error:
            assert not ours.dirty
            assert not strategy
            refused = error
        else:
            assert not ours.dirty
            assert not conflicts or strategy
            parents = (ours.head.id,) if squash else (ours.head.id, theirs.id)
            self.model.add(destination, ModelCommit(made, objects, parents))
            return made
        if refused is not None:
            assert list(refused.paths) == sorted(conflicts, key=str.encode)
            assert refused.count == len(conflicts)
        return multiple()

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


class TestRepository(RepositoryMachine.TestCase):
    settings = settings(
        max_examples=40,
        stateful_step_count=30,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


class PostgresRepositoryMachine(RepositoryMachine):
    """The same, with references in PostgreSQL."""

    url = ""

    def keyvalue(self) -> KeyValueStore:
        clear(self.url)
        return PrefetchedReads(PostgresStore(self.url, max_open_connections=2))


class TestRepositoryOnPostgres(PostgresRepositoryMachine.TestCase):
    settings = settings(TestRepository.settings, max_examples=5, stateful_step_count=20)

    @pytest.fixture(autouse=True)
    def _database(self, postgres_database):
        PostgresRepositoryMachine.url = postgres_database


@pytest.mark.slow
@pytest.mark.timeout(1200)
class TestRepositoryLong(RepositoryMachine.TestCase):
    settings = settings(
        max_examples=300,
        stateful_step_count=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
