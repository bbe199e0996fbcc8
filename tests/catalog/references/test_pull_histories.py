"""Random histories of branches and pull requests whose references are restored: pull requests are
merged as they were then, none is left open by it without its branches, and undo takes it all back.
"""

from __future__ import annotations

import random
from tempfile import TemporaryDirectory

import pytest
from support.histories.undone_operations import commit, last
from support.memory_folder import MEMORY_FOLDER

from anabranch.errors import AnabranchError
from anabranch.testing.lake import Clock, lake_in

SOURCES, DESTINATIONS = ("dev", "fix", "try"), ("main", "next")
BRANCHES = (*SOURCES, *DESTINATIONS)


class History:
    """A repository that is changed at random, and what it was after each operation."""

    def __init__(self, lake, chosen):
        self.lake, self.chosen = lake, chosen
        self.number = 0
        self.then = {}

    def names(self):
        return [each.id for each in self.lake.branches.list("sea", amount=50).items]

    def pulls(self):
        return {each.id: each for each in self.lake.pulls.list("sea", amount=500).items}

    def references(self):
        lake = self.lake
        listed = (
            *lake.branches.list("sea", amount=50).items,
            *lake.tags.list("sea", amount=9).items,
        )
        return {each.id: each.commit_id for each in listed}

    def step(self):
        """Changes something, or finds that it cannot be changed."""
        self.number += 1
        name, chance = self.chosen.choice(BRANCHES), self.chosen.random()
        try:
            if name not in self.names():
                self.lake.branches.create("sea", name, self.chosen.choice(self.names()))
            elif chance < 0.3:
                commit(self.lake, name, f"o-{self.number}")
            elif chance < 0.45:
                self.propose()
            elif chance < 0.65:
                self.change_pull()
            elif chance < 0.75:
                self.lake.branches.hard_reset("sea", name, self.chosen.choice(self.references_to()))
            elif chance < 0.85:
                source = self.chosen.choice(SOURCES)
                self.lake.refs.merge("sea", source, name, committer="ada")
            elif chance < 0.92:
                self.lake.branches.delete("sea", name)
            else:
                operations = self.lake.operations.list("sea", amount=20).items
                self.lake.operations.undo("sea", self.chosen.choice(operations).id)
        except AnabranchError:
            pass
        self.note()

    def references_to(self):
        return [*self.names(), *(f"{each}~1" for each in self.names())]

    def propose(self):
        source, destination = self.chosen.choice(SOURCES), self.chosen.choice(DESTINATIONS)
        self.lake.pulls.create(
            "sea", title=f"{self.number}", source=source, destination=destination, author="ada"
        )

    def change_pull(self):
        pull = self.chosen.choice([*self.pulls()] or ["none"])
        what = self.chosen.choice(["merge", "merge", "open", "closed"])
        if what == "merge":
            self.lake.pulls.merge("sea", pull, committer="ada")
        else:
            self.lake.pulls.update("sea", pull, status=what)

    def note(self):
        """Notes what is there after the last operation."""
        self.then[last(self.lake).id] = self.references(), self.pulls()

    def restore(self):
        """Restores what was right after an operation, and takes that back."""
        operation = self.chosen.choice([*self.then])
        references, pulls = self.then[operation]
        references_before, before = self.references(), self.pulls()
        newest = last(self.lake).id
        self.lake.operations.restore("sea", operation)
        assert self.references() == references
        after = self.pulls()
        for pull_id, pull in after.items():
            self.check(pulls.get(pull_id), before[pull_id], pull, references_before)
        restored = last(self.lake)
        if restored.id != newest:
            self.note()
            self.lake.operations.undo("sea", restored.id)
            assert self.references() == references_before
            assert self.pulls() == before
            self.note()

    def check(self, then, before, after, references_before):
        """Compares a pull request with what it was then and before the restore."""
        references = self.references()
        ends = {after.source, after.destination}
        if after.status == "open" and not ends <= references.keys():
            assert before == after
            assert ends - references.keys() <= ends - references_before.keys()
        if then is not None and then.status == "merged":
            assert (after.status, after.merged_commit_id) == ("merged", then.merged_commit_id)
        elif after.status == "merged":  # by commits that the destination has got by the restore
            assert before.status == "open"
            assert after.merged_commit_id == references[after.destination]
        if "merged" not in {before.status, after.status} and after.status != "closed":
            assert after == before
        assert (after.title, after.source, after.reviewers) == (
            before.title,
            before.source,
            before.reviewers,
        )


def check_history(seed, steps):
    with (
        TemporaryDirectory(dir=MEMORY_FOLDER) as folder,
        lake_in(folder, Clock()) as lake,
    ):
        lake.repositories.create("sea", "local://sea")
        lake.branches.create("sea", "next", "main")
        history = History(lake, random.Random(seed))
        history.note()
        for _ in range(steps):
            history.step()
            if history.chosen.random() < 0.2:
                history.restore()


@pytest.mark.parametrize("part", range(10))
def test_pull_requests_are_in_step_with_restored_branches(seed, part):
    check_history(seed + part, steps=40)


@pytest.mark.systems
@pytest.mark.sample(2)
@pytest.mark.parametrize("part", range(6))
def test_three_hundred_histories(seed, part):
    for number in range(50):
        check_history(seed + 1000 + part * 50 + number, steps=40)
