"""Random histories that are undone and restored, compared with a model that knows nothing of the
log: it keeps what each operation changed, and what that had discarded.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support.memory_folder import MEMORY_FOLDER

from anabranch.errors import Conflict, Denied
from anabranch.model.references.branch_ends import BranchEnd
from anabranch.versioning.operations.record import UNDO_DAYS, operations_partition

SETTINGS = ("days", "protection", "ends")
BRANCHES, TAGS, PATHS = ("main", "dev", "fix"), ("v1", "v2"), "abcd"


@dataclass
class Done:
    """An operation: the commits before and after by reference, the staged changes that it discarded
    by branch, the values before and after by setting, and whether it was undone. `instead` is what
    the reset of some paths has staged in place of changes, by path; None for another operation.
    `after` are the commits of all references once it was made.
    """

    changes: dict[str, tuple[str | None, str | None]]
    discarded: dict[str, dict] = field(default_factory=dict)
    settings: dict[str, tuple[object, object]] = field(default_factory=dict)
    is_undone: bool = False
    instead: dict | None = None
    after: dict[str, str] = field(default_factory=dict)


class Model:
    """References as commits, staged changes as words by path, the contents of commits, settings."""

    def __init__(self, first):
        self.commits = {"main": first}
        self.staged = {"main": {}}
        self.contents = {first: {}}
        self.settings = dict.fromkeys(SETTINGS)
        self.operations = []
        self._add(Done({"main": (None, first)}))

    def _add(self, done):
        done.after = dict(self.commits)
        self.operations.append(done)

    def of(self, branch):
        """Returns what a branch shows."""
        shown = {**self.contents[self.commits[branch]], **self.staged[branch]}
        return {path: word for path, word in shown.items() if word is not None}

    def move(self, name, commit, discard=True):
        """Moves, creates or deletes a reference, and discards what is staged on it."""
        before = self.commits.get(name)
        done = Done({name: (before, commit)})
        if discard and self.staged.get(name):
            done.discarded[name] = self.staged[name]
        self._set(name, commit, {})
        self._add(done)

    def reset_some(self, name, paths, sealed):
        """Throws away what is staged at paths. Where a change is sealed, the committed value is
        staged instead; that itself is no change.
        """
        staged, committed = self.staged[name], self.contents[self.commits[name]]
        thrown = {path: word for path, word in staged.items() if path in paths}
        for path in sealed & set(thrown):
            if thrown[path] == committed.get(path):
                del thrown[path]
        if not thrown:
            return
        instead = {path: committed.get(path) for path in thrown if path in sealed}
        self.staged[name] = {p: w for p, w in staged.items() if p not in thrown} | instead
        commit = self.commits[name]
        self._add(Done({name: (commit, commit)}, {name: thrown}, instead=instead))

    def _set(self, name, commit, staged):
        if commit is None:
            self.commits.pop(name, None)
            self.staged.pop(name, None)
        else:
            self.commits[name] = commit
            if name in BRANCHES:
                self.staged[name] = staged

    def set(self, name, value):
        """Changes a setting, if it has another value."""
        before = self.settings[name]
        if value != before:
            self.settings[name] = value
            self._add(Done({}, settings={name: (before, value)}))

    def is_free(self, names):
        """Returns whether no branch of these has staged changes."""
        return not any(self.staged.get(name) for name in names)

    def can_undo(self, done):
        """Returns whether all references are as an operation left them."""
        same = all(self.commits.get(name) == after for name, (_, after) in done.changes.items())
        deletes_main = "main" in done.changes and done.changes["main"][0] is None
        same &= all(self.settings[name] == after for name, (_, after) in done.settings.items())
        free = self.is_free(done.changes)
        for name in self._of_some_paths(done):
            staged, thrown = self.staged.get(name, {}), done.discarded[name]
            free = all(
                staged[path] in (thrown[path], done.instead.get(path, thrown[path]))
                for path in staged.keys() & thrown.keys()
            )
        return not done.is_undone and same and free and not deletes_main

    def _of_some_paths(self, done):
        """Returns the branch of which an operation has thrown away what is staged at some paths, if
        it still has that.
        """
        return () if done.instead is None else tuple(done.discarded)

    def undo(self, done):
        """Undoes an operation."""
        done.is_undone = True
        if names := self._of_some_paths(done):
            (name,) = names
            self.staged[name] = self.staged[name] | done.discarded.pop(name)
            self._add(Done(done.changes))
            return
        self._change_back({name: (before, done) for name, (before, _) in done.changes.items()})
        for name, (before, _) in done.settings.items():
            self.set(name, before)

    def first_since(self, index):
        """Returns what each reference was before its first change after an operation."""
        found = {}
        for done in self.operations[index + 1 :]:
            for name, (before, _) in done.changes.items():
                found.setdefault(name, (before, done))
        return found

    def restore(self, index):
        """Changes all references back to what they were after an operation."""
        self._change_back(
            {
                name: (before, done)
                for name, (before, done) in self.first_since(index).items()
                if self.commits.get(name) != before or done.discarded.get(name)
            }
        )

    def _change_back(self, targets):
        changes = {}
        for name, (before, done) in targets.items():
            staged, current = done.discarded.pop(name, {}), self.commits.get(name)
            self._set(name, before, staged)
            if current != before or staged:
                changes[name] = (current, before)
        if changes:
            self._add(Done(changes))


class Sides:
    """A repository and its model, changed together."""

    def __init__(self, versions, chosen):
        self.versions, self.chosen = versions, chosen
        self.core, self.repository = versions.core, versions.repository
        self.model = Model(versions.head("main").id)

    def step(self, number):
        """Changes something."""
        core, repository, model, chosen = self.core, self.repository, self.model, self.chosen
        name = chosen.choice([*BRANCHES, *BRANCHES, *TAGS])
        kind = chosen.random()
        if chosen.random() < 0.15:
            self._set(chosen.choice(SETTINGS))
        elif name in TAGS:
            if name in model.commits:
                core.tags.delete(repository, name)
                model.move(name, None)
            else:
                core.tags.create(repository, name, model.commits["main"])
                model.move(name, model.commits["main"])
        elif name not in model.commits:
            source = chosen.choice(sorted(set(model.commits) & set(BRANCHES)))
            core.branches.create(repository, name, model.commits[source])
            model.move(name, model.commits[source])
        elif kind < 0.45:
            self._stage(name, number)
        elif kind < 0.6 and name != "main":
            core.branches.delete(repository, name)
            model.move(name, None)
        elif kind < 0.68:
            self._reset(name)
        elif kind < 0.8:
            self._reset_some(name)
        else:
            self._stage(name, number)
            self._commit(name)

    def _set(self, setting):
        value = self.chosen.randrange(1, 4)
        if setting == "days":
            self.core.operation_retention.set_undo_days(self.repository, value)
        elif setting == "ends":
            self.core.branches.ends.replace(self.repository, [BranchEnd("dev*", f"{value}d")])
        else:
            self.core.protection.replace(self.repository, [f"release-{value}"])
        self.model.set(setting, value)

    def _settings(self):
        """Returns the settings as the store has them: None for one without a record."""
        key = operations_partition(self.repository.partition), UNDO_DAYS
        days = self.core.keyvalue.get(*key)
        patterns = self.core.protection.read(self.repository).rules.patterns
        ends = self.core.branches.ends.read(self.repository).ends.rules
        return {
            "ends": int(ends[0].expires[:-1]) if ends else None,
            "days": None if days is None else int(days),
            "protection": int(patterns[0][-1]) if patterns else None,
        }

    def _stage(self, name, number):
        shown, path = self.model.of(name), self.chosen.choice(PATHS)
        committed = self.model.contents[self.model.commits[name]]
        if path in committed and path in shown and self.chosen.random() < 0.4:
            self.versions.remove(name, path)
            self.model.staged[name][path] = None
        else:
            self.versions.put(name, **{path: f"w{number}"})
            self.model.staged[name][path] = f"w{number}"
        if self.chosen.random() < 0.2:  # as a commit does that fails later
            self.core.committer.seal(self.repository, name)

    def _reset(self, name):
        """Resets a branch; without staged changes this changes nothing but is an operation."""
        self.core.reset.reset(self.repository, name, "reset")
        self.model.move(name, self.model.commits[name])

    def _reset_some(self, name):
        paths = set(self.chosen.choice(["", *PATHS])) or set(PATHS)
        tokens = self.core.branches.read(self.repository, name).branch.sealed_tokens
        staging = self.core.staging
        sealed = {path for path in PATHS if staging.get(tokens, path.encode()) is not None}
        if len(paths) == 1:
            self.core.reset.reset(self.repository, name, "object", *paths)
        else:
            self.core.reset.reset(self.repository, name, "common_prefix", "")
        self.model.reset_some(name, paths, sealed)

    def _commit(self, name):
        contents = self.model.of(name)
        self.versions.clock.advance(1)
        commit = self.versions.commit_staged(name, allow_empty=True).id
        self.model.contents[commit] = contents
        self.model.move(name, commit, discard=False)

    def stored(self):
        """Returns the operations of the log, the oldest first."""
        return list(self.core.operation_log.all(self.repository))[::-1]

    def undo_one(self):
        """Undoes an operation, or finds that it cannot be undone."""
        index = self.chosen.randrange(len(self.model.operations))
        done, stored = self.model.operations[index], self.stored()[index]
        if self.model.can_undo(done):
            assert self.core.undo.apply(self.core.undo.plan_undo(self.repository, stored.id))
            self.model.undo(done)
        else:
            with pytest.raises((Conflict, Denied)):
                self.core.undo.plan_undo(self.repository, stored.id)

    def restore_one(self):
        """Restores the references after an operation."""
        index = self.chosen.randrange(len(self.model.operations))
        self._restore(index, self.stored()[index].id)

    def _restore(self, index, operation_id):
        """Restores the references after an operation, once nothing that it changes is staged."""
        if not self.model.is_free(self.model.first_since(index)):
            with pytest.raises(Conflict, match="uncommitted"):
                self.core.undo.plan_restore(self.repository, operation_id)
            for name in [name for name, staged in self.model.staged.items() if staged]:
                self._commit(name)
        plan = self.core.undo.plan_restore(self.repository, operation_id)
        assert self.core.undo.apply(plan)
        self.model.restore(index)

    def restore_each(self):
        """Restores the references after each operation, and compares with what they were."""
        ids = [each.id for each in self.stored()]
        order = list(range(len(ids)))
        self.chosen.shuffle(order)
        for index in order:
            self._restore(index, ids[index])
            assert self.commits() == self.model.commits == self.model.operations[index].after
            for name, staged in self.model.staged.items():
                if staged:
                    assert self.versions.contents(name) == self.model.of(name)

    def commits(self):
        """Returns the commits of all references by name."""
        found = (*self.core.branches.all(self.repository), *self.core.tags.all(self.repository))
        return {each.id: each.commit_id for each in found}

    def require_equal(self):
        """Compares all references, what they show, and the number of operations."""
        model = self.model
        assert self.commits() == model.commits
        for name in model.commits:
            expected = model.of(name) if name in BRANCHES else model.contents[model.commits[name]]
            assert self.versions.contents(name) == expected, name
        assert self._settings() == model.settings
        assert len(self.stored()) == len(model.operations)


def check_history(versions, seed, steps):
    chosen = random.Random(seed)
    sides = Sides(versions, chosen)
    for number in range(steps):
        versions.clock.advance(chosen.choice([0, 1, 3600]))
        kind = chosen.random()
        if kind < 0.8:
            sides.step(number)
        elif kind < 0.92:
            sides.undo_one()
        else:
            sides.restore_one()
        sides.require_equal()
        if chosen.random() < 0.1:  # nothing is dropped that an operation keeps
            versions.clock.advance(120)
            versions.core.cleaner.clean()
    sides.restore_each()
    sides.require_equal()


def check_histories(new_versions, seeds, steps):
    for seed in seeds:
        with TemporaryDirectory(dir=MEMORY_FOLDER) as folder:
            check_history(new_versions(Path(folder)), seed, steps)


@pytest.mark.parametrize("part", range(20))
def test_histories_are_undone_and_restored_as_the_model_says(new_versions, seed, part):
    check_histories(new_versions, [seed + part], steps=40)


@pytest.mark.systems
@pytest.mark.sample(5)
@pytest.mark.parametrize("part", range(20))
def test_a_thousand_histories(new_versions, seed, part):
    first = seed + 1000 + part * 50
    check_histories(new_versions, range(first, first + 50), steps=30)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(100))
def test_ten_thousand_histories(new_versions, seed, part):
    first = seed + 10_000 + part * 100
    check_histories(new_versions, range(first, first + 100), steps=40)
