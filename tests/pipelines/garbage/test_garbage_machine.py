"""Garbage collection compared with a model of histories, branches, retention and time in plain
dictionaries.

The model has the addresses of each commit, and walks first parents by lakeFS's definition. After
any history, the candidates are exactly the dead objects that are old enough, and a sweep removes
exactly those that have been candidates for the restore window.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)
from support.garbage import DAY, addresses, memory_lake, stored
from support.session.hypothesis_profiles import examples
from support.sweep_machine.retention_model import ModelCommit, active_in_model

from anabranch.errors import AnabranchError, NoChanges
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import Clock
from anabranch.versioning.records.entries import entry_from

PATHS = st.sampled_from(["a", "b", "c/d", "c/e"])
BRANCHES = st.sampled_from(["main", "dev", "x"])
DAYS = st.integers(0, 6)
GRACE, WINDOW = DAY, DAY


class GarbageMachine(RuleBasedStateMachine):
    uploads = Bundle("uploads")
    handed_out = Bundle("handed_out")

    @initialize()
    def begin(self):
        self.folder = Path(tempfile.mkdtemp())
        self.clock = Clock()
        self.lake = memory_lake(self.folder, self.clock)
        self.lake.repositories.create("sea", "mem://sea")
        self.collector = Collector(
            self.lake.core,
            self.lake.blocks,
            self.folder / "gc",
            clock=self.clock,
            partition_hashes=3,
        )
        self.number = 0
        self.born: dict[str, float] = {}
        self.since: dict[str, float] = {}
        self.commits: dict[str, ModelCommit] = {}
        self.rules: RetentionRules | None = None
        self.strays: set[str] = set()
        self.unfinished: set[str] = set()
        self.note_commit("main")
        for path in ("a", "b", "a"):
            self.upload("main", path, committed=True)
            self.clock.advance(DAY)
        self.create_branch("dev", "main")

    def teardown(self):
        if hasattr(self, "lake"):
            self.lake.close()
            shutil.rmtree(self.folder)

    # --- operations -------------------------------------------------------------------------

    @rule(branch=BRANCHES, path=PATHS, committed=st.booleans())
    def upload(self, branch, path, committed):
        if branch in self.branches():
            self.number += 1
            stat = self.lake.objects.upload("sea", branch, path, [b"%d" % self.number])
            self.born[stat.entry.address] = self.clock.now
            if committed:
                self.commit(branch)

    @rule(branch=BRANCHES)
    def commit(self, branch):
        if branch in self.branches():
            try:
                self.lake.commits.commit("sea", branch, message="m", committer="me")
            except NoChanges:
                return
            self.note_commit(branch)

    @rule(hours=st.integers(6, 96))
    def wait(self, hours):
        self.clock.advance(hours * 3600)

    @rule(default=DAYS, days=st.dictionaries(BRANCHES, DAYS))
    def set_rules(self, default, days):
        self.lake.garbage_rules.set("sea", RetentionRules(default, days))
        self.rules = RetentionRules(default, days) if default or days else None

    @rule(source=st.sampled_from(["main", "dev", "x", "main~1"]))
    def tag(self, source):
        if self.is_kept(source) and "t" not in self.tags():
            self.lake.tags.create("sea", "t", source)

    @rule(branch=BRANCHES, source=st.sampled_from(["main", "dev", "x", "main~1", "t"]))
    def create_branch(self, branch, source):
        if self.is_kept(source):
            with suppress(AnabranchError):
                self.lake.branches.create("sea", branch, source, hidden=branch == "x")

    @rule(
        kind=st.sampled_from(["delete", "copy", "merge", "revert", "reset"]),
        branch=BRANCHES,
        source=BRANCHES,
        path=PATHS,
        to=PATHS,
    )
    def change(self, kind, branch, source, path, to):
        lake = self.lake
        with suppress(AnabranchError):
            if kind == "delete":
                lake.objects.delete("sea", branch, path)
            elif kind == "copy":
                stat = lake.objects.copy("sea", branch, to, source_path=path, source_ref=source)
                self.born[stat.entry.address] = self.clock.now
            elif kind == "merge":
                lake.refs.merge("sea", source, branch, committer="me", strategy="source-wins")
                self.note_commit(branch)
            elif kind == "revert":
                if self.is_kept(f"{branch}~1"):  # the revert references its objects again
                    lake.branches.revert("sea", branch, branch, committer="me")
                    self.note_commit(branch)
            else:
                lake.branches.reset("sea", branch, "reset")

    @rule(
        kind=st.sampled_from(["branch", "tag", "rules", "hard"]),
        branch=BRANCHES,
        source=st.sampled_from(["main~1", "main", "dev", "t"]),
    )
    def let_go(self, kind, branch, source):
        with suppress(AnabranchError):
            if kind == "branch":
                self.lake.branches.delete("sea", branch)
            elif kind == "tag":
                self.lake.tags.delete("sea", "t")
            elif kind == "rules":
                self.lake.garbage_rules.delete("sea")
                self.rules = None
            elif self.is_kept(source):
                self.lake.branches.hard_reset("sea", branch, source)

    @rule(target=uploads, branch=BRANCHES, path=PATHS)
    def begin_upload(self, branch, path):
        if branch not in self.branches():
            return None
        upload = self.lake.uploads.create("sea", branch, path)
        # in S3, the modification time of a completed upload is the beginning of the upload
        self.lake.blocks.put(upload.block, [b"1"])
        self.born[upload.address] = self.clock.now
        self.unfinished.add(upload.address)
        return upload

    @rule(upload=consumes(uploads))
    def abort_upload(self, upload):
        if upload is not None:
            self.lake.uploads.abort("sea", upload.branch, upload.path, upload.id)
            self.clock.advance(3601)  # until then, the upload's record keeps the address
            self.lake.uploads.clean()
            self.unfinished.discard(upload.address)

    @rule(target=handed_out, branch=BRANCHES, path=PATHS)
    def hand_out(self, branch, path):
        if branch not in self.branches():
            return None
        address = self.lake.staging.new_address("sea", branch, path)
        self.lake.blocks.put(address, [b"1"])
        self.born[address.removeprefix("mem://sea/")] = self.clock.now
        return branch, path, address

    @rule(handed=consumes(handed_out))
    def link(self, handed):
        if handed is not None and handed[0] in self.branches():
            branch, path, address = handed
            try:
                self.lake.staging.link(
                    "sea", branch, path, address=address, checksum=address[-8:], size=1
                )
            except AnabranchError as error:
                removed = self.lake.blocks.stat(address) is None
                kinds = {"link_address_expired", *(["link_address_empty"] if removed else [])}
                assert error.kind in kinds  # noqa: PT017

    @rule(name=st.sampled_from(["data/x", "data/readme.md", "notes", "data/a/b/c"]))
    def stray(self, name):
        self.lake.blocks.put(f"mem://sea/{name}", [b"1"])
        self.strays.add(name)

    # --- properties -------------------------------------------------------------------------

    @rule()
    def collect(self):
        before = stored(self.lake, "mem://sea")
        self.clock.advance(1)  # ids of runs within a second are not ordered
        with self.collector.mark("sea", grace_seconds=GRACE, window_seconds=WINDOW) as run:
            found = addresses(run.candidates())
            assert found == self.dead(before)
            assert addresses(run.due()) == self.due(found)
        assert {name for name in before if name.startswith("data/")} <= stored(
            self.lake, "mem://sea"
        )
        self.since = {name: self.since.get(name, self.clock.now) for name in found}

    @rule(hours=st.integers(0, 40))
    def sweep(self, hours):
        self.clock.advance(hours * 3600)
        before = stored(self.lake, "mem://sea")
        self.clock.advance(1)
        with self.collector.mark("sea", grace_seconds=GRACE, window_seconds=WINDOW) as run:
            found = addresses(run.candidates())
            assert found == self.dead(before)
            due = self.due(found)
            summary = run.sweep()
        gone = {name for name in before if name.startswith("data/")} - stored(
            self.lake, "mem://sea"
        )
        assert gone == due
        assert (summary.swept.objects, summary.revived) == (len(due), 0)
        self.since = {name: self.since.get(name, self.clock.now) for name in found}
        self.since = {name: since for name, since in self.since.items() if name not in gone}

    @invariant()
    def objects_of_branches_are_stored(self):
        names = stored(self.lake, "mem://sea")
        for branch in self.branches():
            assert set(self.objects(branch).values()) <= names
        assert self.strays <= names

    # --- the model --------------------------------------------------------------------------

    def branches(self):
        page = self.lake.branches.list("sea", amount=10, show_hidden=True)
        return {branch.id: branch.commit_id for branch in page.items}

    def tags(self):
        return {tag.id: tag.commit_id for tag in self.lake.tags.list("sea", amount=10).items}

    def objects(self, reference):
        objects = self.lake.objects.listing("sea", reference, amount=100).items
        return {stat.path: stat.entry.address for stat in objects}

    def note_commit(self, branch):
        commit = self.lake.commits.get("sea", branch)
        parent = commit.parents[0] if commit.parents else ""
        created = commit.creation_date + commit.nanos / 1e9
        self.commits[commit.id] = ModelCommit(created, parent, self.objects(commit.id))

    def is_kept(self, reference):
        """Returns whether a commit is active and has all its objects. Rules with a longer retention
        than earlier ones do not bring removed objects back.
        """
        try:
            commit = self.lake.commits.get("sea", reference).id
        except AnabranchError:
            return False
        names = stored(self.lake, "mem://sea")
        return commit in self.active() and set(self.commits[commit].objects.values()) <= names

    def active(self):
        tagged = self.tags().values()
        return active_in_model(self.commits, self.branches(), tagged, self.rules, self.clock.now)

    def staged(self):
        """Yields the addresses in staging areas, including hidden changes. Changes of a sealed area
        that a failed merge leaves are reachable until the branch's next commit.
        """
        core = self.lake.core
        for branch in core.branches.all(core.repositories.get("sea")):
            for token in branch.tokens:
                for _, value in core.staging.changes([token]):
                    if value is not None:
                        yield entry_from(value).address

    def dead(self, names):
        reachable = self.unfinished | set(self.staged())
        for branch in self.branches():
            reachable |= set(self.objects(branch).values())
        for commit in self.active():
            reachable |= set(self.commits[commit].objects.values())
        old = int(self.clock.now - GRACE)
        return {
            name
            for name in names - reachable
            if name.startswith("data/") and name not in self.strays and int(self.born[name]) < old
        }

    def due(self, found):
        until = int(self.clock.now - WINDOW)
        return {name for name in found if int(self.since.get(name, self.clock.now)) <= until}


GarbageMachine.TestCase.settings = settings(
    max_examples=examples(12),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestGarbage = GarbageMachine.TestCase
