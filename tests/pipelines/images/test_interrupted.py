"""Killed builds, sources that are deleted during a build, and stopped servers: an image is either
complete or does not exist.
"""

from __future__ import annotations

import random
import threading
import time

import pytest
from support.eventually import eventually
from support.faults.image_builds import ADMINISTRATOR, builder

from anabranch.blocks.local.external_objects import LocalExternalObjects
from anabranch.errors import Corrupt, Gone, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.library import open_lake
from anabranch.pipelines.images.assemble import plan_image
from anabranch.pipelines.images.build_job import require_sources_exist
from anabranch.pipelines.jobs.progress import NO_PROGRESS
from anabranch.versioning.records.image_builds import IMAGE_BUILDS

TEXT = "FROM lakefs://sea/main\nADD lakefs://sea/main/a/ b\nLABEL a=1"
OBJECTS = {f"a/{number}": b"%d" % number for number in range(20)}


@pytest.mark.slow
def test_killed_build_leaves_no_tag(tmp_path):
    with open_lake(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        for path, content in OBJECTS.items():
            lake.objects.upload("sea", "main", path, [content])
        lake.commits.commit("sea", "main", committer="jane", message="m")
    expected = OBJECTS | {path.replace("a/", "b/"): content for path, content in OBJECTS.items()}
    for attempt in range(3):
        process = builder(tmp_path / "lake", TEXT, f"try{attempt}")
        try:
            assert process.stdout is not None
            printed = [process.stdout.readline().strip() for _ in range(3)]
            time.sleep(random.random() / 20)  # a random moment of the next build
        finally:
            process.kill()
            rest = process.communicate()[0]
        printed += [line for line in rest.splitlines(keepends=False) if line]
        with open_lake(tmp_path / "lake") as lake:
            tags = [image.tag for image in lake.images.list(amount=1000).items]
            built = [tag for tag in tags if tag.startswith(f"try{attempt}-")]
            assert set(printed) <= set(built)
            assert len(built) <= len(printed) + 1
            for tag in built:
                stats = lake.objects.listing("image", tag, amount=1000).items
                assert {stat.path for stat in stats} == expected.keys()
            last = built[-1]
            for path, content in expected.items():
                assert lake.objects.open("image", last, path).read_bytes() == content


def test_source_deleted_during_build_raises_gone(images, lake):
    images.commit("sea", {"a": b"1"})
    images.commit("sky", {"b": b"2"})
    request = images.request("v1", "FROM lakefs://sky/main\nADD lakefs://sea/main/ b")
    with lake.core.trees.scratch() as folder:
        planned = plan_image(lake.core, lake.blocks, None, request, folder, NO_PROGRESS)
        require_sources_exist(lake.core, planned.sources)
        lake.repositories.delete("sea")
        with pytest.raises(Gone, match=r"Lakefile:2: .*sea was deleted meanwhile"):
            require_sources_exist(lake.core, planned.sources)
        lake.repositories.create("sea", "local://another-sea")
        with pytest.raises(Gone, match=r"Lakefile:2: .*sea was deleted meanwhile"):
            require_sources_exist(lake.core, planned.sources)


@pytest.fixture
def gate(lake, monkeypatch):  # noqa: ARG001  the lake waits for its builds when it is closed
    """An event that listings wait for before their first file."""
    gate = threading.Event()
    listing = LocalExternalObjects.list

    def wait_and_list(self, prefix):
        for source in listing(self, prefix):
            assert gate.wait(60)
            yield source

    monkeypatch.setattr(LocalExternalObjects, "list", wait_and_list)
    yield gate
    gate.set()


def test_build_completes_without_a_waiting_caller(images, lake, fill, import_folder, gate):
    fill({"a": b"1"})
    request = images.request("v1", f"ADD local://{import_folder}/ x")
    started = lake.builds.build(request, ADMINISTRATOR, wait_seconds=0)
    assert started.image is None
    assert not lake.builds.status("v1", started.id).ended
    for tag, build_id in (("v2", started.id), ("v1", "v1/none")):
        with pytest.raises(NotFound):
            lake.builds.status(tag, build_id)
    gate.set()
    while not (status := lake.builds.status("v1", started.id)).ended:
        time.sleep(0.01)
    assert (status.completed, status.progress) == (True, 2)
    assert status.commit is not None
    assert status.commit.id == lake.images.get("v1").commit_id


def test_running_build_renews_pins_of_its_sources(
    images, lake, fill, import_folder, gate, monkeypatch
):
    monkeypatch.setattr("anabranch.pipelines.jobs.job._HEARTBEAT_INTERVAL", 0.01)
    fill({"a": b"1"})
    images.commit("sea", {"b": b"2"})
    request = images.request("v1", f"ADD lakefs://sea/main/ b\nADD local://{import_folder}/ x")
    started = lake.builds.build(request, ADMINISTRATOR, wait_seconds=0)
    running = lake.builds._jobs._running[started.id]
    eventually(lambda: running._pins)
    [pin] = running._pins
    eventually(lambda: running._pins != [pin])  # a pin's end is stored in whole seconds
    gate.set()
    assert running.wait_done(60)
    assert lake.images.find("v1") is not None


def test_builds_are_not_recorded_as_imports(images, lake):
    images.commit("sea", {"b": b"2"})
    images.build("v1", "ADD lakefs://sea/main/ b")
    repository = lake.core.repositories.get("image")
    [record] = lake.core.image_builds.all(repository)
    assert record.status.id.startswith("v1/")
    assert record.status.commit == lake.commits.get("image", "v1")
    assert not list(lake.core.imports.all(repository))


def test_damaged_build_record_raises_corrupt(images, lake):
    images.commit("sea", {"b": b"2"})
    images.build("v1", "ADD lakefs://sea/main/ b")
    repository = lake.core.repositories.get("image")
    [record] = lake.core.image_builds.all(repository)
    for damaged in (record.raw[:-1], b'{"id": 1}', b"\xff"):
        key = IMAGE_BUILDS.key(record.status.id)
        lake.core.image_builds._keyvalue.apply([Write(repository.partition, key, damaged)])
        with pytest.raises(Corrupt, match="record of an image build"):
            lake.builds.status("v1", record.status.id)


def test_stopped_server_marks_builds_as_interrupted(images, lake, fill, import_folder, gate):
    fill({str(number): b"1" for number in range(3000)})
    request = images.request("v1", f"ADD local://{import_folder}/ x")
    started = lake.builds.build(request, ADMINISTRATOR, wait_seconds=0)
    running = lake.builds._jobs._running[started.id]
    closing = threading.Thread(target=lake.builds.close)
    closing.start()
    while running._stop_reason is None:
        time.sleep(0.01)
    gate.set()
    closing.join(60)
    status = lake.builds.status("v1", started.id)
    assert status.error == "interrupted: the server was stopped"
    assert lake.images.find("v1") is None
