"""Histories at random of tables on branches, with collections among them: what any live commit and
any branch reads is the same before and after, and what none reads is gone.
"""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from support.garbage import DAY

from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.errors import AnabranchError
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.installations.stored import StoredInstallation

from . import table_engine
from .scenario import TableScenario
from .table_engine import read

BRANCHES = ("main", "side", "dev")
TABLES = ("trips", "other", "third")


class History:
    """What happens to the tables of a repository, by a source of chance."""

    def __init__(self, scenario, chance):
        self.scenario, self.chance = scenario, chance
        self.lake, self.engine = scenario.lake, scenario.engine
        self.metadata = [scenario.old_metadata, scenario.dropped]

    def step(self):
        acts = (
            [self.append] * 6
            + [self.overwrite, self.expire, self.stage] * 2
            + [self.create, self.drop, self.register, self.branch, self.delete_branch]
            + [self.merge, self.tag, self.delete_tag, self.revert, self.commit, self.reset]
        )
        with suppress(AnabranchError, table_engine.Lost):
            self.chance.choice(acts)()
        self.scenario.clock.advance(self.chance.choice((60, 3600, DAY // 3)))

    @property
    def name(self):
        return self.chance.choice(TABLES)

    @property
    def on(self):
        return self.chance.choice(BRANCHES)

    def append(self):
        name, branch = self.name, self.on
        self.engine.append(name, [self.chance.randrange(99)], branch)
        self.metadata.append(self.engine.find(name, branch).record.metadata)

    def overwrite(self):
        self.engine.append(self.name, [self.chance.randrange(99)], self.on, keep=False)

    def stage(self):
        self.engine.append(self.name, [self.chance.randrange(99)], self.on, staged=True)

    def expire(self):
        self.engine.expire(self.name, self.on)

    def create(self):
        self.engine.create(self.name, self.on)

    def drop(self):
        self.engine.drop(self.name, self.on)

    def register(self):
        self.engine.register(self.name, self.chance.choice(self.metadata), self.on)

    def branch(self):
        self.lake.branches.create("sea", self.on, self.on)

    def delete_branch(self):
        self.lake.branches.delete("sea", self.chance.choice(BRANCHES[1:]))

    def merge(self):
        self.lake.refs.merge("sea", self.on, self.on, committer="me", strategy="source-wins")

    def tag(self):
        self.lake.tags.create("sea", f"t{self.chance.randrange(3)}", self.on)

    def delete_tag(self):
        self.lake.tags.delete("sea", f"t{self.chance.randrange(3)}")

    def revert(self):
        self.lake.branches.revert("sea", self.on, self.on, committer="me")

    def commit(self):
        self.lake.commits.commit("sea", self.on, committer="me", message="m")

    def reset(self):
        self.lake.branches.reset("sea", self.on, "reset")


def read_all(scenario, used=None):
    """Returns what all live commits and all branches with what is staged read; puts the addresses
    that were read into `used`.
    """
    lake = scenario.lake
    sea = lake.core.repositories.get("sea")
    lake.core.operation_retention.compact(sea)  # nothing can be undone
    active = StoredInstallation(lake.core, lake.blocks).active_commits(sea, scenario.clock())
    references = [each.commit for each in active]
    references += [branch.id for branch in lake.core.branches.all(sea)]
    return {each: read(lake, each, used=used) for each in references}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sample(1)
def test_collections_among_changes(seed, tmp_path):
    scenario, chance = TableScenario(tmp_path), random.Random(seed)
    with scenario.lake:
        scenario.lake.garbage_rules.set(
            "sea", RetentionRules(chance.choice((0, 1, 3)), {"main": 2})
        )
        writing = Writing(committer="me")
        with suppress(AnabranchError):
            scenario.lake.iceberg.namespaces.create(
                scenario.engine.place("side"), ("city",), {}, writing
            )
        history = History(scenario, chance)
        removed = 0
        for _ in range(4):
            for _ in range(25):
                history.step()
            if chance.random() < 0.5:
                scenario.clock.advance(9 * DAY)
            before = read_all(scenario)
            with scenario.mark(tables_seconds=chance.choice((DAY, 7 * DAY))) as run:
                summary = run.sweep()
            removed += summary.tables.dead.objects
            assert summary.tables.collected
            assert read_all(scenario) == before
        scenario.clock.advance(60 * DAY)
        with scenario.mark() as run:
            run.sweep()
        used = set()
        read_all(scenario, used)
        assert scenario.stored_files() == used
        assert removed
