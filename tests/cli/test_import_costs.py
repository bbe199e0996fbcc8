"""The engine of an import is chosen by the measured cost of a row."""

from __future__ import annotations

import os

import pytest

from anabranch.cli.jobs.import_costs import local_seconds, spark_cores, spark_seconds


def test_estimates_equal_the_measured_times():
    """Those of `benchmarks/README.md`, with two cores, to a fifth."""
    assert local_seconds(20_000_000, 2) == pytest.approx(46.4, rel=0.2)
    assert spark_seconds(20_000_000, 2) == pytest.approx(109, rel=0.2)


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_spark_is_never_faster_on_the_same_few_cores(cores):
    for rows in (1, 10**6, 10**9):
        assert local_seconds(rows, cores) < spark_seconds(rows, cores)


def test_cluster_is_faster_for_many_rows():
    assert local_seconds(20_000_000, 4) < spark_seconds(20_000_000, 16)
    assert local_seconds(25_000_000, 4) > spark_seconds(25_000_000, 16)
    assert local_seconds(70_000_000, 4) < spark_seconds(70_000_000, 8)
    assert local_seconds(80_000_000, 4) > spark_seconds(80_000_000, 8)


def test_cores_of_a_master():
    own = os.cpu_count()
    assert [spark_cores(name) for name in ("", "local[*]", "local[999]")] == [own] * 3
    assert (spark_cores("local"), spark_cores("local[1,4]")) == (1, 1)
    assert {spark_cores(name) for name in ("yarn", "spark://host:7077", "k8s://host")} == {16}
