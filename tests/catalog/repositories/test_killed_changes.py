"""Processes that `kill -9` ends at each step of undo, expiry, and the deletion and restoration of
repositories: what a later process finds is the state before or after, and it can go on.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess

import pytest
from support.session.forked_python import forked_python
from support.session.sizes import sized

PROGRAM = """
import json, os, shutil, signal, sys
from pathlib import Path

from anabranch.errors import AnabranchError
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.repositories.retention import RetentionRules
from anabranch.testing.lake import Clock, lake_in
from anabranch.testing.stores import FaultyStore

NOW = 1_700_000_000
DAY = 86_400


class Killed(FaultyStore):
    '''Kills the process before or after a change: at the step with a number, 0 for none.'''

    def __init__(self, store, number):
        super().__init__(store, lambda *_: None)
        self.number, self.steps = number, 0

    def step(self):
        self.steps += 1
        if self.steps == self.number:
            os.kill(os.getpid(), signal.SIGKILL)

    def apply(self, writes, expect=()):
        self.step()
        done = super().apply(writes, expect)
        self.step()
        return done

    def drop(self, partition):
        self.step()
        super().drop(partition)
        self.step()


def opened(folder, number=0, later=0):
    store = SQLiteStore(Path(folder, "db"))
    return lake_in(folder, Clock(NOW + later), Killed(store, number))


def put(lake, repository, branch, *paths):
    for path in paths:
        lake.objects.upload(repository, branch, path, [path.encode()])


def prepare(lake):
    for name in ("sea", "lost"):
        lake.repositories.create(name, f"local://{name}")
        put(lake, name, "main", "a")
        lake.commits.commit(name, "main", message="m", committer="ada")
        put(lake, name, "main", "staged")
        lake.tags.create(name, "v1", "main")
        lake.branches.create(name, "ends", "main", expires_at=NOW + 60)
        put(lake, name, "ends", "on-ends")
        lake.branches.create(name, "gone", "main")
        put(lake, name, "gone", "on-gone")
        lake.branches.delete(name, "gone")
        lake.branches.create(name, "some", "main")
        put(lake, name, "some", "p/1", "p/2", "q")
        lake.branches.reset(name, "some", "common_prefix", "p/")
        put(lake, name, "some", "r/1", "r/2")
        lake.branches.create(name, "dev", "main")
        put(lake, name, "dev", "d")
        lake.commits.commit(name, "dev", message="d", committer="ada")
        lake.branches.create(name, "into", "main")
        pull = lake.pulls.create(name, title="P", source="dev", destination="into", author="ada")
        lake.pulls.merge(name, pull.id, committer="ada")
        lake.garbage_rules.set(name, RetentionRules(7))
    lake.repositories.delete("lost")


def operation(lake, is_it):
    operations = lake.operations.list("sea", amount=100).items
    return next(each.id for each in reversed(operations) if is_it(each))


def undo(lake, is_it):
    return lake.operations.undo("sea", operation(lake, is_it))


def first_change(each):
    return each.changes[0] if each.changes else None


def is_deletion(each):
    change = first_change(each)
    return change is not None and change.name == "gone" and change.after is None


def is_creation(each):
    change = first_change(each)
    return change is not None and change.name == "dev" and change.before is None


ACTIONS = {
    "undo a deletion": lambda lake: undo(lake, is_deletion),
    "undo a merge": lambda lake: undo(
        lake, lambda each: each.changes and any(s.kind == "pull_request" for s in each.settings)
    ),
    "undo a reset of a prefix": lambda lake: undo(
        lake, lambda each: getattr(first_change(each), "is_of_some_paths", False)
    ),
    "reset a prefix": lambda lake: lake.branches.reset("sea", "some", "common_prefix", "r/"),
    "restore all": lambda lake: lake.operations.restore("sea", operation(lake, is_creation)),
    "expire": lambda lake: lake.expiry.delete_due(),
    "compact": lambda lake: lake.operations.compact(),
    "delete a repository": lambda lake: lake.repositories.delete("sea"),
    "restore a repository": lambda lake: lake.repositories.restore("lost"),
    "forget a repository": lambda lake: lake.repositories.forget("lost"),
}
LATER = {"expire": 61, "compact": 31 * DAY}


def content(lake, repository, reference):
    listed = lake.objects.listing(repository, reference, amount=100).items
    return {
        each.path: lake.objects.open(repository, reference, each.path).read_bytes().decode()
        for each in listed
    }


def repository_state(lake, name):
    stored = lake.core.repositories.get(name)
    branches = lake.branches.list(name, amount=100, show_hidden=True).items
    # what the log says that it keeps is there
    kept = [
        sorted(key.decode() for token in each.discarded for key, _ in lake.keyvalue.scan(token))
        for each in lake.core.operation_log.all(stored)
        if each.discarded
    ]
    return {
        "branches": {each.id: content(lake, name, each.id) for each in branches},
        "changes": {
            each.id: [c.path for c in lake.branches.changes(name, each.id, amount=100).items]
            for each in branches
        },
        "tags": {each.id: each.commit_id for each in lake.tags.list(name, amount=100).items},
        "pulls": [str(each.status) for each in lake.pulls.list(name, amount=100).items],
        "kept": sorted(kept),
        "undone": sum(1 for each in lake.core.operation_log.all(stored) if each.undone_at),
        "given up": sum(1 for each in lake.core.operation_log.all(stored) if each.given_up_at),
    }


def state(lake):
    live = [each.id for each in lake.repositories.list(amount=100).items]
    deleted = [each.repository.id for each in lake.repositories.deleted()]
    return {"live": {each: repository_state(lake, each) for each in live}, "deleted": deleted}


def child(work):
    '''Runs work in a process of its own; returns its exit code, negative for a signal.'''
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(folder, action, stride):
    template = Path(folder, "template")
    later = LATER.get(action, 0)
    template.mkdir()

    def write_template():
        with opened(template) as lake:
            prepare(lake)

    def act(copy, number):
        with opened(copy, number, later) as lake:
            ACTIONS[action](lake)

    def examine(copy, name):
        with opened(copy, later=later) as lake:
            found = state(lake)
            try:
                ACTIONS[action](lake)
            except (AnabranchError, StopIteration):
                pass
            final = state(lake)
        Path(folder, name).write_text(json.dumps([found, final]))

    def tried(number):
        copy = Path(folder, f"copy-{number}")
        shutil.copytree(template, copy)
        code = 0 if number is None else child(lambda: act(copy, number))
        assert child(lambda: examine(copy, f"state-{number}")) == 0
        found = json.loads(Path(folder, f"state-{number}").read_text())
        shutil.rmtree(copy)
        return code, found

    assert child(write_template) == 0
    _, (before, after) = tried(None)
    steps = []
    number = 1
    while True:
        code, found = tried(number)
        if code == 0:
            break
        assert code == -signal.SIGKILL, code
        steps.append([code, found])
        # the first steps and every so many after them
        number += 1 if number < 3 else int(stride)
    print(json.dumps({"before": before, "after": after, "steps": steps}))


main(*sys.argv[1:])
"""

ACTIONS = [
    "undo a deletion",
    "undo a merge",
    "undo a reset of a prefix",
    "reset a prefix",
    "restore all",
    "expire",
    "compact",
    "delete a repository",
    "restore a repository",
    "forget a repository",
]


@pytest.mark.parametrize("action", ACTIONS)
def test_a_killed_process_leaves_the_state_before_or_after(tmp_path, action):
    ran = subprocess.run(
        [forked_python(), "-c", PROGRAM, tmp_path, action, str(sized(5, weekly=1))],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    before, after = told["before"], told["after"]
    assert before != after
    assert len(told["steps"]) >= 2
    for code, (found, final) in told["steps"]:
        assert code == -signal.SIGKILL
        assert found in (before, after)
        assert final == after
    shutil.rmtree(tmp_path)
