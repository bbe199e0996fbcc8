"""A verification on Spark finds what one in this process finds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from support.verification.planted_faults import FAULTS
from support.verification.used_installation import (
    open_lake,
    settings_of,
    use_every_feature,
    verification_of,
)

from anabranch.cli.main import main
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.installation.verification import open_verification
from anabranch.spark.jobs import verification as spark_verification
from anabranch.spark.jobs.verification import SparkLooks

pytestmark = pytest.mark.timeout(600)

SPREAD = (
    *("table_missing", "table_damaged", "range_description"),
    *("object_missing", "object_size", "object_damaged"),
)
"""The kinds of findings that tasks look for."""
CASES = [
    pytest.param(kind, fault, id=f"{kind}-{number}")
    for kind in SPREAD
    for number, fault in enumerate(FAULTS[kind])
]


@pytest.fixture(scope="session")
def used_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("used")
    with open_lake(folder / "lake") as lake:
        use_every_feature(lake, folder)
    return folder


@pytest.fixture
def folder(used_once, tmp_path):
    """A data folder that was used, and is not open."""
    shutil.copytree(used_once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake"


def verified_on_spark(spark, folder: Path):
    with open_verification(settings_of(folder)) as installation:
        looks = SparkLooks(spark, installation.stores.blocks)
        return Verification(installation.stores, sample=None, looks=looks).run(installation.files)


def told(report):
    """What a report says, without how long it took."""
    document = msgspec.to_builtins(report)
    for check in document["checks"]:
        del check["seconds"]
    document["findings"].sort(key=str)
    return document


def test_a_sound_installation_has_no_findings(spark, folder, monkeypatch):
    monkeypatch.setattr(spark_verification, "_ENTRIES_PER_TASK", 10)
    monkeypatch.setattr(spark_verification, "_TREES_PER_TASK", 2)
    monkeypatch.setattr(spark_verification, "_OBJECTS_PER_TASK", 7)
    monkeypatch.setattr(spark_verification, "_TASKS_PER_JOB", 3)
    report = verified_on_spark(spark, folder)
    assert report.findings == []
    assert report.objects_read > 60
    assert told(report) == told(verification_of(folder, sample=None))


@pytest.mark.sample(3)
@pytest.mark.parametrize(("kind", "fault"), CASES)
def test_tasks_find_what_one_process_finds(spark, folder, kind, fault):
    fault(folder)
    report = verified_on_spark(spark, folder)
    assert kind in report.counts
    assert told(report) == told(verification_of(folder, sample=None))


@pytest.mark.usefixtures("spark")
def test_the_command_says_the_same(folder, capsys):
    words = ["fsck", "--data", str(folder), "--all", "--json"]
    documents = {}
    for fault, code in ((lambda _: None, 0), (FAULTS["object_damaged"][0], 1)):
        fault(folder)
        for engine in ("local", "spark"):
            assert main([*words, "--engine", engine]) == code
            documents[engine] = json.loads(capsys.readouterr().out)
        local, on_spark = documents["local"], documents["spark"]
        assert local.keys() == on_spark.keys()
        assert local["counts"] == on_spark["counts"]
        assert local["findings"] == on_spark["findings"]


@pytest.mark.usefixtures("spark")
def test_a_job_that_fails_could_not_look(folder, capsys, monkeypatch):
    monkeypatch.setattr(spark_verification, "_look", _fail)
    words = ["fsck", "--data", str(folder), "--engine", "spark"]
    assert main(words) == 2
    assert "Spark" in capsys.readouterr().err


def _fail(*_):
    raise RuntimeError("the task fails")
