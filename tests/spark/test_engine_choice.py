"""Commands run their job on the engine that `--engine auto` chooses."""

from __future__ import annotations

import json
import logging
import re

import pytest

import anabranch
from anabranch.cli.commands import exports
from anabranch.cli.commands.garbage import group as garbage
from anabranch.cli.jobs import engine_costs
from anabranch.cli.jobs.engine_costs import JobCosts
from anabranch.cli.main import main

pytestmark = pytest.mark.timeout(600)

CHEAP_ON_SPARK = JobCosts(serial=1.0, parallel=0.0, threads=1, spark=0.0)
"""Costs with which Spark is faster from one object on."""


@pytest.fixture
def data(tmp_path):
    with anabranch.open(tmp_path / "data") as lake:
        lake.repositories.create("sea", "local://sea")
        for number in range(30):
            lake.objects.upload("sea", "main", f"a/{number}", [b"1"])
        lake.commits.commit("sea", "main", message="m", committer="c")
    return tmp_path / "data"


@pytest.fixture
def run(spark, data, tmp_path, monkeypatch):
    """Runs a command in this process, whose session is the one that it uses."""
    assert spark.sparkContext is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine_costs, "_SPARK_START", 0.0)
    monkeypatch.setattr(exports, "EXPORT", CHEAP_ON_SPARK)
    monkeypatch.setattr(garbage, "COLLECTION", CHEAP_ON_SPARK)

    def run(*words):
        summary = tmp_path / "summary.json"
        given = ("--data", str(data), "--summary", str(summary), "--master", "local[2]")
        assert main([*words, *given]) == 0
        return json.loads(summary.read_text())

    return run


def test_export_runs_on_the_chosen_engine(run, tmp_path, capsys):
    out = tmp_path / "out"
    done = run("export", "lakefs://sea/main", str(out))
    assert done["engine"] == "spark"
    assert done["why"].startswith("instead of in this process, for 30 objects or less, of 30 B, in")
    assert set(done["result"]["tasks"]) == {"copying"}
    lines = [line for line in capsys.readouterr().err.splitlines() if "export of sea:" in line]
    assert lines[0].endswith("export of sea: copying")
    assert re.search(r"copying took .* 30 objects, 30 bytes; \d+ tasks, 0 failed,", lines[-1])
    log = logging.getLogger("anabranch.spark")
    assert (log.level, log.handlers) == (logging.NOTSET, [])
    assert len(list((out / "a").iterdir())) == 30
    done = run("export", "lakefs://sea/main", str(out))
    # nothing has changed, which is as fast in this process
    assert (done["engine"], done["result"]["tasks"]) == ("local", {})
    done = run("export", "lakefs://sea/main", str(out), "--everything", "--engine", "local")
    assert (done["engine"], done["result"]["tasks"]) == ("local", {})
    assert done["result"]["stored"] == 30


@pytest.mark.slow  # an export does, too
def test_collection_runs_on_the_chosen_engine(run):
    first = run("gc", "lakefs://sea", "--grace", "0")
    assert (first["engine"], first["result"]["engine"]) == ("local", "local")
    second = run("gc", "lakefs://sea", "--grace", "0")
    assert (second["engine"], second["result"]["engine"]) == ("spark", "spark")
    assert "for 30 objects, which the last run listed, in about 30 s" in second["why"]
    assert second["result"]["tasks"]
    third = run("gc", "lakefs://sea", "--grace", "0", "--engine", "local")
    assert (third["why"], third["result"]["engine"]) == ("as requested", "local")
    with_quarantine = run("gc", "lakefs://sea", "--grace", "0", "--quarantine", "7d")
    assert with_quarantine["result"]["engine"] == "spark"
