"""Attempts at the tasks of a sweep into quarantine, without Spark: each is a call of what a task
runs.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from support.garbage import DAY
from support.quarantine import WEEK, QuarantineScenario

from anabranch.blocks.local.store import LocalBlocks
from anabranch.pipelines.garbage.addresses.namespace import to_namespace
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.sweeping.quarantine_files import QuarantineFiles
from anabranch.pipelines.garbage.sweeping.removal import QuarantineTime
from anabranch.spark.jobs.garbage import sweep as spark_sweep
from anabranch.spark.jobs.garbage.quarantine import RoundQuarantine
from anabranch.spark.jobs.garbage.round_gate import RoundGate
from anabranch.spark.jobs.garbage.store_deadline import StoreDeadline
from anabranch.spark.jobs.monitor import NO_COUNTS
from anabranch.spark.jobs.parts import PartWriter
from anabranch.testing.stores import FaultyBlocks
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

RUN = "c" * 20


class Round:
    """A round of a sweep of `sea`, whose attempts are made one after the other."""

    def __init__(
        self, scenario: QuarantineScenario, seconds: float = 600.0, kept: float = WEEK
    ) -> None:
        blocks = scenario.lake.blocks
        deadline = Deadline.after(seconds)
        self.namespace = to_namespace(scenario.lake.core.repositories.get("sea"), blocks)
        self.scenario, self.gate = (
            scenario,
            RoundGate.open(blocks, f"{scenario.namespace}/_lakefs/attempts/"),
        )
        self.quarantine = RoundQuarantine.of(
            self.namespace, RUN, QuarantineTime(kept, scenario.clock), deadline
        )
        self.conditions = spark_sweep._Conditions(
            StoreDeadline.of(deadline, blocks, f"{scenario.namespace}/_lakefs/clock/"),
            self.gate,
            self.quarantine,
            named=False,
        )
        self.names = sorted(scenario.dead)

    def attempt(self, store=None, names=()):
        """Makes an attempt at the task of all dead objects; returns its totals."""
        names = list(names or self.names)
        schema = spark_sweep._DUE
        batch = pa.RecordBatch.from_pydict({"address": names, "size": [6] * len(names)}, schema)
        folder = f"{self.scenario.namespace}/_lakefs/due/"
        with PartWriter(self.scenario.lake.blocks, folder, schema) as writer:
            writer.write(batch)
        ((file, _),) = writer.files
        root = str(self.scenario.folder / "blocks")
        parameters = spark_sweep._TaskParameters(
            store or (lambda: LocalBlocks(root)), self.namespace.prefix, None, NO_COUNTS
        )
        (totals,) = spark_sweep._remove(parameters, self.conditions, folder + file)
        return totals.to_pylist()[0]


class _Dying:
    """A store whose quarantine removes the first object of a batch, and then fails."""

    def __init__(self, blocks):
        self._blocks = blocks
        self.quarantine = self

    def __getattr__(self, name):
        return getattr(self._blocks, name)

    def require(self, stem):
        self._blocks.quarantine.require(stem)

    def size_and_version(self, address):
        return self._blocks.quarantine.size_and_version(address)

    def remove(self, removals):
        self._blocks.quarantine.remove(removals[:1])
        raise OSError("the worker is killed")


def test_retried_task_keeps_one_record_of_all_objects(local_scenario):
    scenario = local_scenario()
    current = Round(scenario)
    root = str(scenario.folder / "blocks")
    with pytest.raises(OSError, match="killed"):
        current.attempt(lambda: _Dying(LocalBlocks(root)))
    assert len(scenario.data()) == 3
    totals = current.attempt()
    assert (totals["candidates"], totals["objects"], totals["size"], totals["late"]) == (
        3,
        3,
        18,
        0,
    )
    assert scenario.data() == {scenario.kept}
    (run,) = scenario.restorer.runs("sea")
    assert (run.run_id, run.quarantined.objects, run.quarantined.bytes) == (RUN, 3, 18)
    done = scenario.restorer.restore("sea", RUN)
    assert (done.restored.objects, done.present, done.failed) == (3, 0, 0)
    assert {name: scenario.read(name) for name in scenario.dead} == scenario.dead


def test_attempt_that_is_overtaken_while_it_writes_takes_over_the_record(local_scenario):
    """Another attempt moves all objects after this one has looked up what exists."""
    scenario = local_scenario()
    current = Round(scenario)
    root = str(scenario.folder / "blocks")
    blocks = LocalBlocks(root)
    other = []

    def act(operation, subject):
        if operation == "put" and "/quarantine/" in subject and not other:
            other.append(current.attempt())

    totals = current.attempt(lambda: FaultyBlocks(blocks, act))
    assert (totals["objects"], other[0]["objects"]) == (3, 3)
    (part,) = QuarantineFiles(scenario.lake.blocks, current.namespace).parts(RUN)
    assert len(QuarantineFiles(scenario.lake.blocks, current.namespace).read(part)) == 3
    assert scenario.restorer.restore("sea", RUN).restored.objects == 3


def test_attempt_that_begins_after_the_round_moves_nothing_again(local_scenario):
    scenario = local_scenario()
    current = Round(scenario)
    totals = current.attempt()
    assert current.gate.close(scenario.lake.blocks, {totals["attempt"]})
    assert scenario.restorer.restore("sea", RUN).restored.objects == 3
    totals = current.attempt()
    assert (totals["attempt"], totals["objects"], totals["late"]) == ("", 0, 3)
    assert scenario.data() == {scenario.kept, *scenario.dead}


def test_gate_reports_an_attempt_without_a_result(local_scenario):
    scenario = local_scenario()
    blocks = scenario.lake.blocks
    gate = RoundGate.open(blocks, "local://sea/_lakefs/attempts/")
    known, unknown = gate.enter(blocks), gate.enter(blocks)
    assert known != unknown
    assert not gate.close(blocks, {known})
    assert list(blocks.list("local://sea/_lakefs/attempts/")) == []
    gate = RoundGate.open(blocks, "local://sea/_lakefs/attempts/")
    assert gate.close(blocks, {gate.enter(blocks)})


def test_attempt_enters_before_the_gate_closes_or_finds_it_closed(local_scenario):
    """The driver closes the gate between the two steps of an attempt."""
    scenario = local_scenario()
    gate = RoundGate.open(scenario.lake.blocks, "local://sea/_lakefs/attempts/")
    closed = []

    def act(operation, subject):
        if operation == "stat" and subject.endswith("/open"):
            closed.append(gate.close(scenario.lake.blocks, set()))

    name = gate.enter(FaultyBlocks(LocalBlocks(scenario.folder / "blocks"), act))
    assert (name, closed) == ("", [False])


def test_object_is_restorable_for_its_time_from_the_deadline_on(local_scenario):
    scenario = local_scenario()
    before = scenario.clock()
    current = Round(scenario, seconds=600.0, kept=DAY)
    assert current.attempt()["objects"] == 3
    (run,) = scenario.restorer.runs("sea")
    assert run.removed_at == int(before)
    assert 600 + DAY <= run.until - int(before) <= 601 + DAY
    scenario.clock.advance(600 + DAY + CLOCK_SKEW_SECONDS - 1)
    assert scenario.collector.purge("sea").purged.objects == 0
    scenario.clock.advance(3)
    assert scenario.collector.purge("sea").purged.objects == 3


def test_late_attempt_moves_nothing(local_scenario):
    scenario = local_scenario()
    current = Round(scenario, seconds=-10.0)
    totals = current.attempt()
    assert (totals["candidates"], totals["objects"], totals["late"]) == (0, 0, 3)
    assert scenario.data() == {scenario.kept, *scenario.dead}
    assert scenario.restorer.runs("sea") == []


def test_objects_that_are_gone_are_not_recorded(local_scenario):
    scenario = local_scenario()
    current = Round(scenario)
    first, *others = current.names
    scenario.lake.blocks.delete([f"{scenario.namespace}/{first}"])
    totals = current.attempt()
    assert (totals["candidates"], totals["objects"], totals["size"]) == (3, 2, 12)
    current = Round(scenario)
    assert current.attempt(names=[first])["objects"] == 0
    (run,) = scenario.restorer.runs("sea")
    assert run.quarantined.objects == len(others)
