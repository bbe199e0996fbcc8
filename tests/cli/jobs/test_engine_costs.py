"""The engine of a job is chosen by measured costs."""

from __future__ import annotations

import importlib.util
import os
import re
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch
from anabranch.cli.jobs.engine_costs import (
    COLLECTION,
    EXPORT,
    IMPORT,
    Amount,
    choose_engine,
    spark_cores,
)
from anabranch.errors import NotFound

PAGE = (Path(__file__).parents[3] / "docs" / "spark.md").read_text(encoding="utf-8")
MANY = Amount(10**9, 10**12, "10⁹ objects")
JOBS = {"import": IMPORT, "export": EXPORT, "collection": COLLECTION}


def choose(costs, amount, **options):
    """Returns the choice for an amount, or for what the function raises."""
    given = Namespace(**{"engine": "auto", "master": "", **options})
    find = amount if callable(amount) else lambda: amount
    return choose_engine(SimpleNamespace(arguments=given), costs, find)


def test_estimates_equal_the_measured_times():
    """Those of `benchmarks/README.md`, with two cores, to a fifth."""
    assert IMPORT.local_seconds(20_000_000, 2) == pytest.approx(46.4, rel=0.2)
    assert IMPORT.spark_seconds(20_000_000, 2) == pytest.approx(109, rel=0.2)


@pytest.mark.parametrize(
    ("job", "cores"), [*((job, 1) for job in JOBS), ("import", 2), ("export", 2), ("import", 4)]
)
def test_spark_is_never_faster_on_the_same_few_cores(job, cores):
    costs = JOBS[job]
    for items in (1, 10**6, 10**9):
        for size in (0, items << 10, items << 20):
            assert costs.local_seconds(items, cores, size) < costs.spark_seconds(items, cores, size)


@pytest.mark.parametrize(
    ("row", "costs", "item_bytes"),
    [("Import,", IMPORT, 0), ("Export of", EXPORT, 1024), ("Garbage collection,", COLLECTION, 0)],
)
def test_page_has_the_sizes_from_which_spark_is_faster(row, costs, item_bytes):
    """To three percent, compared with a process on four cores."""
    (line,) = re.findall(rf"^\| {row}[^|]*\|(.*)\|$", PAGE, re.MULTILINE)
    for cores, cell in zip((2, 4, 8, 16), line.split("|"), strict=True):
        found = re.match(r" ([\d,]+) (rows|objects) $", cell)
        if found is None:
            assert cell == " never "
            assert not is_spark_faster(costs, 10**11, cores, item_bytes)
            continue
        items = int(found[1].replace(",", ""))
        assert not is_spark_faster(costs, items * 97 // 100, cores, item_bytes)
        assert is_spark_faster(costs, items * 103 // 100, cores, item_bytes)


def is_spark_faster(costs, items, cores, item_bytes):
    here = costs.local_seconds(items, 4, items * item_bytes)
    return here > costs.spark_seconds(items, cores, items * item_bytes)


def test_cores_of_a_master():
    own = os.cpu_count()
    assert [spark_cores(name) for name in ("", "local[*]", "local[999]")] == [own] * 3
    assert (spark_cores("local"), spark_cores("local[1,4]")) == (1, 1)
    assert {spark_cores(name) for name in ("yarn", "spark://host:7077", "k8s://host")} == {16}


@pytest.mark.parametrize("job", JOBS)
def test_large_jobs_are_for_clusters_and_small_ones_are_not(job, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    large = choose(JOBS[job], MANY, master="yarn")
    assert large.engine == "spark"
    assert large.why.startswith("instead of in this process, for 10⁹ objects in about ")
    assert large.why.endswith(" s on Spark with 16 cores")
    small = choose(JOBS[job], Amount(1000, 1000, "1,000 objects"), master="yarn")
    assert small == ("local", "for 1,000 objects in about 0 s, and in 20 s on Spark with 16 cores")


def test_options_decide_without_an_amount():
    def unexpected():
        raise AssertionError

    for engine in ("local", "spark", "server"):
        assert choose(EXPORT, unexpected, engine=engine) == (engine, "as requested")


def test_missing_library_leaves_the_job_to_this_process(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    chosen = choose(COLLECTION, MANY, master="yarn")
    assert chosen.engine == "local"
    assert chosen.why.endswith("but PySpark is not installed")


def test_unknown_amount_leaves_the_job_to_this_process():
    def missing():
        raise NotFound("repository")

    assert choose(EXPORT, "because of this", master="yarn") == ("local", "because of this")
    assert choose(EXPORT, missing, master="yarn").engine == "local"


def test_warnings_of_settings_are_printed_once(run, tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
    (tmp_path / "lakefs.yaml").write_text(f"data: {tmp_path / 'lake'}\nstats: {{enabled: false}}\n")
    rows = {"path": ["a"], "physical_address": ["s3://x/a"], "size": [1]}
    pq.write_table(pa.table(rows), tmp_path / "l.parquet")
    arguments = ("import", "--listing", tmp_path / "l.parquet", "--to", "lakefs://sea/main")
    ran = run(*arguments, "-c", tmp_path / "lakefs.yaml", "--engine", "auto")
    assert "an address of another store" in ran.err  # both have opened the stores
    assert ran.err.count("stats.enabled is a setting of lakeFS") == 1
