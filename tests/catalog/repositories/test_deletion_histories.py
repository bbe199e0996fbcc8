"""Random histories of repositories and branches that are created, changed, deleted, restored and
forgotten, compared with a model that keeps what each of them held.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

import pytest
from support.memory_folder import MEMORY_FOLDER

from anabranch.errors import AlreadyExists, Conflict, NotFound
from anabranch.testing.lake import Clock, lake_in

DAY = 86_400
NAMES, BRANCHES, PATHS = ("sea", "pond"), ("main", "dev", "fix"), ("a", "b", "dir/c")
DAYS = (1, 3, 30)


@dataclass
class Repository:
    """What a repository holds: per branch what it shows by path, and the branches deleted last."""

    uid: str
    days: int = 30
    branches: dict[str, dict[str, str]] = field(default_factory=lambda: {"main": {}})
    lost: dict[str, dict[str, str]] = field(default_factory=dict)
    deleted_at: float = 0
    kept_until: float = 0


class Sides:
    """An installation and its model, changed together."""

    def __init__(self, folder, chosen):
        self.clock, self.chosen = Clock(), chosen
        self.lake = lake_in(folder, self.clock)
        self.live = {}
        self.deleted = {name: [] for name in NAMES}
        self.number = 0

    def step(self):
        """Changes something, or finds that it cannot be changed."""
        name = self.chosen.choice(NAMES)
        if name not in self.live:
            return self.chosen.choice([self.create, self.restore, self.restore, self.forget])(name)
        choices = [self.write, self.write, self.branch, self.branch, self.days, self.delete]
        return self.chosen.choice([*choices, self.restore])(name)

    def create(self, name):
        self.number += 1
        made = self.lake.repositories.create(name, f"local://{name}-{self.number}")
        self.live[name] = Repository(made.instance_uid)

    def write(self, name):
        """Puts an object, and perhaps commits all of its branch."""
        branch = self.chosen.choice(sorted(self.live[name].branches))
        path, word = self.chosen.choice(PATHS), f"w{self.number}"
        self.number += 1
        self.lake.objects.upload(name, branch, path, [word.encode()])
        self.live[name].branches[branch][path] = word
        if self.chosen.random() < 0.4:
            self.lake.commits.commit(name, branch, message="m", committer="ada")

    def branch(self, name):
        """Creates, deletes or restores a branch."""
        branch, model = self.chosen.choice(BRANCHES[1:]), self.live[name]
        if branch in model.branches:
            self.lake.branches.delete(name, branch)
            model.lost[branch] = model.branches.pop(branch)
        elif branch in model.lost and self.chosen.random() < 0.7:
            self.lake.operations.restore_branch(name, branch)
            model.branches[branch] = model.lost.pop(branch)
        else:
            if branch not in model.lost:
                with pytest.raises(NotFound):
                    self.lake.operations.restore_branch(name, branch)
            self.lake.branches.create(name, branch, "main@")
            committed = self.lake.objects.listing(name, branch, amount=9).items
            model.branches[branch] = {
                each.path: self.lake.objects.open(name, branch, each.path).read_bytes().decode()
                for each in committed
            }

    def days(self, name):
        self.live[name].days = self.chosen.choice(DAYS)
        self.lake.operations.set_undo_days(name, self.live[name].days)

    def delete(self, name):
        model = self.live.pop(name)
        forget = self.chosen.random() < 0.2
        self.lake.repositories.delete(name, forget=forget)
        model.deleted_at = self.clock()
        model.kept_until = self.clock() + model.days * DAY
        if not forget:
            self.deleted[name].append(model)

    def restore(self, name):
        """Restores one of the deleted repositories of a name."""
        if not self.deleted[name]:
            with pytest.raises((NotFound, AlreadyExists)):
                self.lake.repositories.restore(name)
            return
        model = self.chosen.choice(self.deleted[name])
        if name in self.live:
            with pytest.raises((AlreadyExists, Conflict)):
                self.lake.repositories.restore(name, instance_uid=model.uid)
            return
        self.lake.repositories.restore(name, instance_uid=model.uid)
        self.deleted[name].remove(model)
        self.live[name] = model

    def forget(self, name):
        if not self.deleted[name]:
            with pytest.raises(NotFound):
                self.lake.repositories.forget(name)
            return
        model = self.chosen.choice(self.deleted[name])
        self.lake.repositories.forget(name, instance_uid=model.uid)
        self.deleted[name].remove(model)

    def pass_time(self):
        """Lets hours or days pass, after which the server forgets what is too old."""
        self.clock.advance(self.chosen.choice([60, 3600, DAY / 2]))
        self.lake.repositories.forget_old()
        self.lake.core.cleaner.clean()
        for name, models in self.deleted.items():
            self.deleted[name] = [each for each in models if each.kept_until > self.clock()]

    def require_equal(self):
        """Compares what both have."""
        lake = self.lake
        assert {each.id for each in lake.repositories.list(amount=9).items} == set(self.live)
        found = {
            (each.repository.id, each.repository.instance_uid)
            for each in lake.repositories.deleted()
        }
        assert found == {(name, each.uid) for name in NAMES for each in self.deleted[name]}
        for name, model in self.live.items():
            assert lake.repositories.get(name).instance_uid == model.uid
            listed = [each.id for each in lake.branches.list(name, amount=9).items]
            assert listed == sorted(model.branches)
            for branch, objects in model.branches.items():
                shown = lake.objects.listing(name, branch, amount=9).items
                assert {
                    each.path: lake.objects.open(name, branch, each.path).read_bytes().decode()
                    for each in shown
                } == objects, (name, branch)


def check_history(seed, steps):
    with TemporaryDirectory(dir=MEMORY_FOLDER) as folder:
        _check_history(Sides(folder, random.Random(seed)), steps)


def _check_history(sides, steps):
    with sides.lake:
        for _ in range(steps):
            sides.clock.advance(1)
            sides.step()
            if sides.chosen.random() < 0.15:
                sides.pass_time()
            sides.require_equal()


@pytest.mark.parametrize("part", range(10))
@pytest.mark.sample(3)
def test_histories_of_deletion_and_restoration_are_as_the_model_says(seed, part):
    check_history(seed + part, steps=40)


@pytest.mark.systems
@pytest.mark.sample(5)
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_histories_of_deletion_and_restoration(seed, part):
    for number in range(50):
        check_history(seed + 1000 + part * 50 + number, steps=40)
