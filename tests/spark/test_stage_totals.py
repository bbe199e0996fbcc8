"""What tasks of a phase have used, as Spark's listener has recorded it."""

from __future__ import annotations

import time

import pytest

from anabranch.pipelines.jobs.task_totals import TaskTotals
from anabranch.spark.jobs.monitor import JobMonitor
from anabranch.spark.jobs.stage_totals import StageTotals

pytestmark = pytest.mark.timeout(600)

GROUP = "spark.jobGroup.id"
TASK_SECONDS = 0.2


def slow(batches):
    """Returns the batches of a task that takes a known time."""
    time.sleep(TASK_SECONDS)
    yield from batches


def fail(batches):
    raise ValueError(sum(batch.num_rows for batch in batches))


def shuffle(spark, work=slow):
    """Runs four tasks that take a known time, and three that receive their rows."""
    rows = spark.range(0, 4000, 1, 4).mapInArrow(work, "id BIGINT")
    # an RDD, because Spark would merge small partitions of a DataFrame
    return rows.repartition(3).rdd.count()


def test_totals_are_those_of_the_tasks_of_a_phase(spark):
    monitor = JobMonitor(spark, "job")
    with monitor.phase("one"):
        assert shuffle(spark) == 4000
    with monitor.phase("two"):
        spark.range(0, 10, 1, 2).mapInArrow(slow, "id BIGINT").collect()
    with monitor.phase("none"):
        pass
    one, two = monitor.tasks["one"], monitor.tasks["two"]
    assert list(monitor.tasks) == ["one", "two"]
    assert (one.completed, one.failed, one.killed) == (4 + 3, 0, 0)
    assert (two.completed, two.failed, two.killed) == (2, 0, 0)
    assert one.executor_seconds >= 4 * TASK_SECONDS
    assert two.executor_seconds >= 2 * TASK_SECONDS
    # 4,000 numbers of 8 bytes, which Spark compresses
    assert 1_000 < one.shuffled_bytes < 200_000
    assert two.shuffled_bytes == 0


@pytest.mark.slow  # figures
def test_repeated_phases_add_up_and_are_counted_once(spark):
    monitor = JobMonitor(spark, "job")
    for _ in range(3):
        with monitor.phase("round"):
            spark.range(0, 10, 1, 2).mapInArrow(slow, "id BIGINT").collect()
        monitor._totals.collect(wait=True)
    assert monitor.tasks["round"].completed == 3 * 2


def test_failed_tasks_of_a_failed_phase_are_counted(spark):
    monitor = JobMonitor(spark, "job")
    with pytest.raises(Exception, match="ValueError"), monitor.phase("failing"):
        shuffle(spark, fail)
    assert monitor.tasks["failing"].failed >= 1


@pytest.mark.slow  # figures
def test_earlier_jobs_in_the_group_of_the_caller_are_left_out(spark):
    spark.sparkContext.setLocalProperty(GROUP, "mine")
    try:
        for _ in range(2):
            monitor = JobMonitor(spark, "job")
            with monitor.phase("phase"):
                spark.range(0, 10, 1, 2).mapInArrow(slow, "id BIGINT").collect()
            assert monitor.tasks["phase"].completed == 2
    finally:
        spark.sparkContext.setLocalProperty(GROUP, None)


class OtherContext:
    """A context of a version of Spark whose internal classes differ."""

    def __init__(self, context, scala):
        self._context = context
        self._scala = scala
        self._jsc = self

    def sc(self):
        return self._scala

    def statusTracker(self):  # noqa: N802  PySpark's name
        return self._context.statusTracker()


def test_other_versions_of_spark_have_no_totals_and_no_errors(spark):
    context = spark.sparkContext
    other = context._jvm.java.util.ArrayList()
    for changed in (OtherContext(context, other), OtherContext(context, None), None):
        totals = StageTotals(changed)
        totals.add_group("group")
        totals.collect(wait=True)
        totals.collect()
        assert totals.get("anabranch: job: phase") is None


def test_totals_are_added_up_and_the_largest_heap_is_kept():
    one = TaskTotals(completed=1, failed=2, executor_seconds=0.1, peak_heap_bytes=7)
    two = TaskTotals(completed=3, killed=1, executor_seconds=0.2, shuffled_bytes=5)
    assert one + two == TaskTotals(
        completed=4,
        failed=2,
        killed=1,
        executor_seconds=0.3,
        shuffled_bytes=5,
        peak_heap_bytes=7,
    )
