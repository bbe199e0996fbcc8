"""A verification on Spark finds what one in this process finds."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import msgspec
import pytest
from support.driver_rows import driver_rows
from support.verification.planted_faults import FAULTS
from support.verification.used_installation import (
    open_lake,
    settings_of,
    use_every_feature,
    verification_of,
)

from anabranch import _kernel as kernel
from anabranch.cli.main import main
from anabranch.model.names import encode_path
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.installation.verification import open_verification
from anabranch.spark.jobs.verification import SparkLooks, listing, looks

pytestmark = pytest.mark.timeout(600)

OBJECTS = 20_000
MD5 = hashlib.md5(b"x", usedforsecurity=False).hexdigest()
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
    """With small pieces of work, and a listing in several rounds."""
    monkeypatch.setattr(looks, "_ENTRIES_PER_TASK", 60)
    monkeypatch.setattr(looks, "_TREES_PER_TASK", 10)
    monkeypatch.setattr(looks, "_TREE_TASKS_PER_JOB", 1)
    monkeypatch.setattr(looks, "_OBJECTS_PER_TASK", 40)
    monkeypatch.setattr(looks, "_STAGED_AT_ONCE", 4)
    monkeypatch.setattr(listing, "ROUND_OBJECTS", 60)
    report = verified_on_spark(spark, folder)
    assert report.findings == []
    assert report.objects_read > 60
    assert told(report) == told(verification_of(folder, sample=None))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("kind", "fault"), CASES)
def test_tasks_find_what_one_process_finds(spark, folder, kind, fault):
    fault(folder)
    report = verified_on_spark(spark, folder)
    assert kind in report.counts
    assert told(report) == told(verification_of(folder, sample=None))


def test_the_driver_receives_no_objects(spark, tmp_path):
    """20,000 hashes alone are 160 kB. The last object is missing."""
    folder = tmp_path / "lake"
    make_many(folder)
    with (
        open_verification(settings_of(folder)) as installation,
        driver_rows(spark, "128k") as received,
    ):
        own = SparkLooks(spark, installation.stores.blocks)
        report = Verification(installation.stores, sample=0, looks=own).run(installation.files)
    assert (report.entries, report.objects) == (OBJECTS, OBJECTS)
    (finding,) = report.findings
    assert (finding.kind, finding.subject) == ("object_missing", f"sea {OBJECTS - 1:05}")
    assert received.total < 50


def make_many(folder):
    """Commits many objects, the last of which is not stored."""
    with open_lake(folder) as lake:
        lake.repositories.create("sea", "local://sea")
        objects = folder / "block" / "sea" / "data" / "many"
        objects.mkdir(parents=True)
        for number in range(OBJECTS - 1):
            objects.joinpath(f"{number:05}").write_bytes(b"x")
        repository = lake.core.repositories.get("sea")
        tables = lake.core.trees.write_folder(repository)
        written = kernel.write_tree(map(row, range(OBJECTS)), tables)
        lake.core.trees.adopt(repository, tables, written)
        lake.commits.commit("sea", "main", message="m", source_metarange=written.metarange_id)


def row(number):
    address = f"data/many/{number:05}"
    return encode_path(f"{number:05}"), kernel.encode_entry(address, 1, 0, 0, 1, MD5, {}, "")


@pytest.mark.usefixtures("spark")
def test_the_command_says_the_same(folder, capsys):
    FAULTS["object_damaged"][0](folder)
    documents = {}
    for engine in ("local", "spark"):
        words = ["fsck", "--data", str(folder), "--all", "--json", "--engine", engine]
        assert main(words) == 1
        documents[engine] = json.loads(capsys.readouterr().out)
    local, on_spark = documents["local"], documents["spark"]
    assert local.keys() == on_spark.keys()
    assert local["counts"] == on_spark["counts"]
    assert local["findings"] == on_spark["findings"]


@pytest.mark.usefixtures("spark")
def test_a_job_that_fails_could_not_look(folder, capsys, monkeypatch):
    monkeypatch.setattr(looks, "_scan_trees", _fail)
    words = ["fsck", "--data", str(folder), "--engine", "spark"]
    assert main(words) == 2
    assert "Spark" in capsys.readouterr().err


def _fail(*_):
    raise RuntimeError("the task fails")
