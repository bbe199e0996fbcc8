"""What users see of jobs: the names of stages, lines in the log, counts and times of phases."""

from __future__ import annotations

import logging
import re
import time

import pytest
from support.eventually import eventually
from support.garbage import aged

import anabranch.spark
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.jobs.phase_times import PhaseTimes
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.jobs.monitor import JobMonitor

pytestmark = pytest.mark.timeout(600)

GROUP, DESCRIPTION = "spark.jobGroup.id", "spark.job.description"


def option(value):
    """Returns the value of an Option of Scala, or None."""
    return value.get() if value.isDefined() else None


@pytest.fixture
def new_jobs(spark):
    """Returns a function that returns the descriptions of Spark's jobs since the test began."""
    store = spark.sparkContext._jsc.sc().statusStore()

    def jobs():
        listed = store.jobsList(None)
        return {listed.apply(index).jobId(): listed.apply(index) for index in range(listed.size())}

    before = set(jobs())

    def descriptions():
        new = [job for number, job in sorted(jobs().items()) if number not in before]
        return [(option(job.description()), option(job.jobGroup())) for job in new]

    return descriptions


@pytest.mark.slow
def test_all_stages_of_jobs_are_named(spark, lake, new_jobs, tmp_path):
    listing = spark.range(0, 900, 1, 3).selectExpr(
        *("concat('p/', id) AS path", "concat('local://raw/', id) AS physical_address"),
        "10L AS size",
    )
    imported = anabranch.spark.import_listing(lake, "sea", "main", listing, verify="none")
    assert set(imported.phases) == {
        *("sorting and writing ranges", "comparing a sample with the store", "joining ranges")
    }
    sorting = imported.tasks["sorting and writing ranges"]
    assert sorting.completed >= 2 * 3
    assert sorting.shuffled_bytes > 0
    for number in range(3):
        lake.objects.upload("sea", "main", f"q/{number}", [b"1"])
        lake.objects.upload("sea", "main", f"q/{number}", [b"22"])
    lake.objects.delete_many("sea", "main", [f"p/{number}" for number in range(900)])
    lake.commits.commit("sea", "main", message="m", committer="c")
    exported = anabranch.spark.export(spark, lake, "sea", "main", str(tmp_path / "out"))
    assert set(exported.phases) == set(exported.tasks) == {"copying"}
    aged(lake, "local://sea")
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)
    now = {"grace_seconds": -5, "window_seconds": -5}
    with collector.mark("sea", engine=SparkEngine(spark), **now) as run:
        assert run.sweep().swept.objects == 3
        assert {"listing", "comparing", "removing"} <= set(run.summary.phases)
        assert run.summary.tasks["comparing with references"].shuffled_bytes > 0
        assert {"listing the store", "removing"} <= set(run.summary.tasks)
    jobs = new_jobs()
    assert [job for job in jobs if not (job[0] or "").startswith("anabranch: ")] == []
    assert all(group.startswith("anabranch-") for _, group in jobs)
    names = {description.removeprefix("anabranch: ") for description, _ in jobs}
    assert names == {
        "import to sea: sorting and writing ranges",
        "export of sea: planning",
        "export of sea: copying",
        "garbage collection: listing the store",
        "garbage collection: comparing with references",
        "garbage collection: sorting candidates",
        "garbage collection: planning",
        "garbage collection: removing",
    }


def test_names_of_the_caller_are_restored_and_its_group_is_kept(spark, new_jobs):
    context = spark.sparkContext
    context.setJobGroup("mine", "my query")
    try:
        with JobMonitor(spark, "job").phase("phase"):
            spark.range(1).count()
        spark.range(1).count()
    finally:
        for name in (GROUP, DESCRIPTION):
            context.setLocalProperty(name, None)
    found = new_jobs()
    assert set(found) == {("anabranch: job: phase", "mine"), ("my query", "mine")}


def test_progress_and_counts_are_logged(spark, caplog):
    caplog.set_level(logging.INFO, logger="anabranch.spark")
    monitor = JobMonitor(spark, "job", interval=0.05)
    counts = monitor.counts

    def count(batches):
        for batch in batches:
            counts.add(batch.num_rows, 100)
            yield batch

    with monitor.phase("counting"):
        spark.range(0, 30, 1, 3).mapInArrow(count, "id BIGINT").collect()
        eventually(lambda: any("tasks, 30 objects" in line for line in caplog.messages))
    line = re.compile(r"job: counting: \d+ of \d+ tasks, 30 objects, 300 bytes")
    assert any(map(line.fullmatch, caplog.messages))
    assert caplog.messages[0] == "job: counting"
    assert caplog.messages[-1].startswith("job: counting took ")
    assert " s, 30 objects, 300 bytes; 3 tasks, 0 failed, 0 killed, " in caplog.messages[-1]
    assert list(monitor.phases) == ["counting"]


def test_phases_are_measured_even_if_they_fail():
    ticks = iter([0.0, 2.0, 5.0, 9.0])
    times = PhaseTimes(lambda: next(ticks))
    with times.measure("one"):
        pass
    with pytest.raises(ZeroDivisionError), times.measure("one"):
        1 / 0  # noqa: B018
    assert times.seconds == {"one": 6.0}
