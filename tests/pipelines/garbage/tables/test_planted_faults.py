"""Faults that are planted in what keeps files of tables: the tests of the fence must find each.

A fault is found if a reference succeeds although files are gone, or files are gone at the end.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.session.sizes import sized

from anabranch.errors import NotSupported
from anabranch.pipelines.garbage.marking.table_marks import TableMarks
from anabranch.versioning.garbage.record_admission import RecordAdmission
from anabranch.versioning.garbage.table_files import TableFiles

from .scenario import (
    WAYS,
    TableScenario,
    add_dead_files,
    attempt,
    make_branch,
    make_tag,
    stage_dead_files,
)
from .table_engine import read, readable

LAST = 10**9


def no_admission(patch):
    """Records are admitted without a look at their files."""
    patch.setattr(RecordAdmission, "admit", lambda *_: ())
    patch.setattr(RecordAdmission, "admit_tree", lambda *_: ())


def no_tombstones_checked(patch):
    """Only what has been removed counts, not what is about to be."""
    original = RecordAdmission._admit

    def admit(self, repository, records):
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self._sweeps, "admit_addresses", lambda _: ((), ()))
            return original(self, repository, records)[1:]

    patch.setattr(RecordAdmission, "_admit", admit)


def removed_is_forgotten(patch):
    """It is not recorded that a sweep has removed files of tables."""
    patch.setattr(RecordAdmission, "record_swept", lambda *_: None)


def staged_records_are_missed(patch):
    patch.setattr(TableMarks, "mark_staged", lambda *_: None)


def expired_trees_are_not_examined(patch):
    patch.setattr(RecordAdmission, "missing_file", lambda *_: "")


def manifests_are_not_followed(patch):
    patch.setattr(TableFiles, "manifest", lambda *_: frozenset())


def no_second_look(patch):
    """What was marked before the tombstones counts, and nothing that has come since."""
    original = TableMarks.protects
    calls = []

    def protects(self, addresses):
        calls.append(1)
        result = original(self, addresses)
        return np.zeros(len(addresses), np.bool_) if len(calls) > 1 else result

    patch.setattr(TableMarks, "protects", protects)


FAULTS = (
    (no_admission, add_dead_files),
    (no_admission, stage_dead_files),
    (no_tombstones_checked, add_dead_files),
    (removed_is_forgotten, add_dead_files),
    (staged_records_are_missed, stage_dead_files),
    (expired_trees_are_not_examined, make_branch),
    (expired_trees_are_not_examined, make_tag),
    (manifests_are_not_followed, None),
    (no_second_look, add_dead_files),
)


def is_found(folder, refer, number, way="database"):
    """Returns whether files of a table are gone after a sweep ahead of whose step a reference was
    made; and whether the sweep has such a step.
    """
    folder.mkdir()
    scenario, made = TableScenario(folder, way=way), []
    with scenario.lake:
        live = read(scenario.lake, "main")

        def act():
            made.append(None if refer is None else attempt(scenario, refer))

        try:
            scenario.steps.arm(number, act)
            with scenario.mark() as run:
                run.sweep()
            if number == LAST:
                act()
        except (AssertionError, NotSupported):  # through a server, the run itself finds one
            return True, True
        lost = readable(scenario.lake, "main") is None
        if made and made[0] is not None:
            reference, found = made[0]
            lost |= readable(scenario.lake, reference) != found
        elif not made and refer is None:
            lost |= readable(scenario.lake, "main") != live
        return lost, bool(made)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("fault", "refer"), FAULTS, ids=[f"{each[0].__name__}-{each[1]}"[:40] for each in FAULTS]
)
@pytest.mark.sample(1)
def test_a_planted_fault_is_found(fault, refer, way, tmp_path, monkeypatch):
    fault(monkeypatch)
    if refer is None or is_found(tmp_path / "last", refer, LAST, way)[0]:
        assert refer is not None or is_found(tmp_path / "none", None, LAST, way)[0]
        return
    # what a fault opens stays open for some twenty steps
    for number in range(0, 2000, sized(12, weekly=3)):
        found, has_step = is_found(tmp_path / str(number), refer, number, way)
        if found:
            return
        assert has_step, "no step has shown the fault"


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", WAYS)
def test_without_a_fault_nothing_is_found(way, tmp_path):
    assert not is_found(tmp_path / "none", None, LAST, way)[0]
    assert not is_found(tmp_path / "last", add_dead_files, LAST, way)[0]
