"""Sweeps, and operations that create references between any two steps of them, as a state machine.

Collectors and requests are processes that pause before each operation on the stores. Their clocks
differ by up to an hour; they are interleaved in any order, fail and are killed. After each step,
all objects that are readable in the model are readable in the lake, byte for byte.
"""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from support.session.hypothesis_profiles import examples
from support.sweep_machine.sweep_world import REPOSITORIES, SweepWorld

from anabranch.errors import Busy, Denied
from anabranch.model.repositories.retention import RetentionRules
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

MINUTE, HOUR = 60, 3600
REQUEST_SECONDS = 12 * HOUR
RULES_SECONDS = 10 * MINUTE

SLOTS = st.integers(0, 1)
OFFSETS = st.sampled_from([0, 0, -CLOCK_SKEW_SECONDS // 2, CLOCK_SKEW_SECONDS // 2])
_REPOSITORY = st.sampled_from(["sea", "sea", "land"])
BRANCHES = st.sampled_from(["main", "dev", "x"])
PATHS = st.sampled_from(["a", "b", "c/d", "c/e"])
ANY = st.integers(0, 99)
RETENTION = st.builds(
    RetentionRules, st.integers(0, 2), st.dictionaries(BRANCHES, st.integers(0, 4), max_size=2)
)
UNTIL = st.sampled_from(["apply", "apply", "delete", "delete", "drop", "scan", "", "end"])
"""The operation before which a collector pauses; if empty, it pauses after a number of steps."""
TURNS = st.lists(
    st.fixed_dictionaries(
        {
            "slot": SLOTS,
            "until": UNTIL,
            "count": st.integers(1, 12),
            "repository": _REPOSITORY,
            "ahead": OFFSETS,
            "window": st.sampled_from([0, 0, 0, 6 * HOUR]),
        }
    ),
    max_size=2,
)
"""Turns of collectors. A turn in an empty slot starts a run."""
HOW = st.fixed_dictionaries(
    {"slot": st.sampled_from([None, None, None, 0, 1]), "ahead": OFFSETS, "turns": TURNS}
)
"""How a request runs: at once, or step by step in one of two slots, after turns of collectors."""


class SweepMachine(RuleBasedStateMachine):
    @initialize(default_days=st.integers(0, 2))
    def begin(self, default_days):
        self.world = SweepWorld(default_days)
        self.number = 0
        self.handed_out = []

    def teardown(self):
        if hasattr(self, "world"):
            self.world.close()

    @rule(turns=TURNS)
    def collect(self, turns):
        for turn in turns:
            self.world.advance_collector(**turn)

    @rule(repository=st.sampled_from(REPOSITORIES))
    def check(self, repository):
        self.world.check(repository)
        self.world.read_everything()

    @rule(
        slot=SLOTS,
        how=st.sampled_from(["kill", "fail", "wait", "wait", "wait"]),
        seconds=st.sampled_from([9, 11 * MINUTE, HOUR, 3 * HOUR, 5 * HOUR, 30 * HOUR]),
    )
    def disturb(self, slot, how, seconds):
        """Advances the time, kills a collector, or makes the store fail at its next step."""
        collector = self.world.collectors.get(slot)
        if how == "wait":
            self.world.wait(seconds)
        elif collector is not None:
            if how == "kill":
                collector.kill()
            else:
                error = Denied if collector.operation == "delete" else Busy
                collector.resume(error("the store fails", kind="injected"))
            self.world.end_collector(slot)

    @rule(
        how=HOW,
        repository=_REPOSITORY,
        branch=BRANCHES,
        path=PATHS,
        source=_REPOSITORY,
        kind=st.sampled_from(
            ["upload", "copy", "delete", "metadata", "path", "prefix", "all", "commit", "commit"]
        ),
        other=BRANCHES,
        other_path=PATHS,
    )
    def change_branch(self, how, repository, branch, path, source, kind, other, other_path):
        def change(lake):
            if kind == "upload":
                self.world.put(lake, repository, branch, path)
            elif kind == "copy":
                lake.objects.copy(
                    *(repository, branch, path),
                    source_path=other_path,
                    source_ref=other,
                    source_repository=source,
                )
            elif kind == "delete":
                lake.objects.delete(repository, branch, path)
            elif kind == "metadata":
                lake.objects.set_user_metadata(repository, branch, path, {"a": "b"})
            elif kind == "path":
                lake.branches.reset(repository, branch, "object", path)
            elif kind == "prefix":
                lake.branches.reset(repository, branch, "common_prefix", "c/")
            elif kind == "all":
                lake.branches.reset(repository, branch, "reset")
            else:
                lake.commits.commit(repository, branch, message="m", committer="me")

        self.request(how, change, {(repository, branch)})

    @rule(
        how=HOW,
        repository=_REPOSITORY,
        branch=BRANCHES,
        path=PATHS,
        number=ANY,
        kind=st.sampled_from(["stage", "stage", "stage", "import", "hand out", "link"]),
    )
    def refer_to_address(self, how, repository, branch, path, number, kind):
        """References any object that was ever stored, in either repository."""
        address = self.world.pick(
            sorted(self.world.model.bytes), number, sorted(self.world.model.unneeded)
        )
        body = self.world.model.bytes[address]
        if kind == "hand out":
            address = self.world.lake.staging.new_address(repository, branch, path)
            self.world.lake.blocks.put(address, [b"linked"])
            self.world.model.bytes[address] = b"linked"
            self.handed_out.append((repository, branch, path, address))
            return
        if kind == "link" and self.handed_out:
            repository, branch, path, address = self.handed_out[number % len(self.handed_out)]
            body = b"linked"
        options = {"address": address, "checksum": hashlib.md5(body).hexdigest(), "size": len(body)}

        def refer(lake):
            if kind == "stage":
                lake.staging.stage(repository, branch, path, **options)
            elif kind == "link":
                lake.staging.link(repository, branch, path, **options)
            else:
                row = {"path": path, "physical_address": address, "size": len(body)}
                row["checksum"] = options["checksum"]
                lake.import_listing(repository, branch, pa.Table.from_pylist([row]), committer="me")

        self.request(how, refer, {(repository, branch)})

    @rule(
        how=HOW,
        repository=_REPOSITORY,
        branch=BRANCHES,
        number=ANY,
        kind=st.sampled_from(
            ["branch", "tag", "hard reset", "revert", "pick", "merge", "tree", "image"]
        ),
    )
    def refer_to_commit(self, how, repository, branch, number, kind):
        """References any commit that was ever created, including expired ones."""
        commits = self.world.model.commits[repository]
        unneeded = self.world.model.unneeded
        due = [name for name in commits if unneeded & set(commits[name].objects.values())]
        commit = self.world.pick(list(commits), number, due)
        self.number += 1
        name = f"v{self.number}"
        by = {"committer": "me"}

        def refer(lake):
            if kind == "branch":
                lake.branches.create(repository, branch, commit, hidden=branch == "x")
            elif kind == "tag":
                lake.tags.create(repository, name, commit)
            elif kind == "hard reset":
                lake.branches.hard_reset(repository, branch, commit)
            elif kind == "revert":
                lake.branches.revert(repository, branch, commit, **by)
            elif kind == "pick":
                lake.branches.cherry_pick(repository, branch, commit, **by)
            elif kind == "merge":
                lake.refs.merge(repository, commit, branch, strategy="source-wins", **by)
            elif kind == "tree":
                tree = lake.commits.get(repository, commit).metarange_id
                lake.commits.commit(repository, branch, message="m", source_metarange=tree, **by)
            else:
                lake.images.build(name, f"FROM lakefs://{repository}/{commit}\n", creator="me")

        self.request(how, refer, {(repository, branch), (repository, name)})

    @rule(
        how=HOW,
        repository=_REPOSITORY,
        branch=BRANCHES,
        number=ANY,
        source=BRANCHES,
        rules=RETENTION,
        kind=st.sampled_from(
            ["branch", "merge", "delete", "untag", "unimage", "rules", "rules", "no rules"]
        ),
    )
    def change_references(self, how, repository, branch, number, source, rules, kind):
        tags = sorted(self.world.model.views[repository].tags) or ["none"]
        images = sorted(self.world.model.images) or ["none"]
        tag, image = tags[number % len(tags)], images[number % len(images)]

        def change(lake):
            if kind == "branch":
                lake.branches.create(repository, branch, source)
            elif kind == "merge":
                lake.refs.merge(repository, source, branch, committer="me", strategy="source-wins")
            elif kind == "delete":
                lake.branches.delete(repository, branch)
            elif kind == "untag":
                lake.tags.delete(repository, tag)
            elif kind == "unimage":
                lake.images.delete(image)
            elif kind == "rules":
                lake.garbage_rules.set(repository, rules)
            else:
                lake.garbage_rules.delete(repository)

        lives = RULES_SECONDS if "rules" in kind else REQUEST_SECONDS
        self.request(how, change, {(repository, branch), (repository, tag)}, lives)

    @precondition(lambda self: self.world.requests)
    @rule(slot=SLOTS, count=st.integers(0, 8))
    def advance_request(self, slot, count):
        self.world.advance_request(slot, count)

    def request(self, how, act, changes, lives=REQUEST_SECONDS):
        """Runs a request, or begins it. `changes` are the references that it may change."""
        for turn in how["turns"]:
            self.world.advance_collector(**turn)
        if how["slot"] is None:
            self.world.carry_out(act, changes)
        else:
            self.world.begin_request(how["slot"], act, ahead=how["ahead"], lives=lives)


class LongSweepMachine(SweepMachine):
    pass


SweepMachine.TestCase.settings = settings(
    max_examples=examples(8),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
LongSweepMachine.TestCase.settings = settings(
    SweepMachine.TestCase.settings, max_examples=examples(500), stateful_step_count=60
)
TestSweeps = SweepMachine.TestCase
TestSweepsAtLength = pytest.mark.slow(pytest.mark.timeout(7200)(LongSweepMachine.TestCase))
