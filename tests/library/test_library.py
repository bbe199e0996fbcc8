"""The in-process library: the README's example, and use next to a server."""

from __future__ import annotations

import gc
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

import anabranch
from anabranch.errors import AlreadyExists, Corrupt, Invalid, NotFound
from anabranch.testing.server import running_server

README = Path(__file__).parents[2] / "README.md"


def test_readme_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"<!-- tested -->\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(examples) == 1
    exec(compile(examples[0], "README.md", "exec"), {})  # noqa: S102  the point of the test


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("address", ["http://127.0.0.1:8000", "s3://bucket/lake", "lakefs://sea"])
def test_an_address_is_not_opened_as_a_folder(tmp_path, monkeypatch, address, kind):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Invalid, match="an address") as refused:
        anabranch.open(kind(address))
    assert refused.value.kind == "not_a_folder"
    assert "ANABRANCH_SERVER" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_next_process_reads_what_was_written(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        address = lake.staging.new_address("sea", "main", "b")
        lake.blocks.put(lake.blocks.unqualify(address), [b"2"])
    with anabranch.open(tmp_path / "lake") as lake:
        assert lake.objects.open("sea", "main", "a").read_bytes() == b"1"
        lake.staging.link("sea", "main", "b", address=address, checksum="c", size=1)
        assert lake.objects.open("sea", "main", "b").read_bytes() == b"2"


def test_images_can_be_built_and_read(tmp_path):
    with anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a/1", [b"one"])
        lake.commits.commit("sea", "main", committer="me", message="m", metadata={})
        text = "ARG FOLDER\nADD lakefs://sea/main/${FOLDER}/ b/\nLABEL author=me"
        with pytest.raises(Invalid, match=r"Lakefile:1:5: expected a value"):
            lake.images.build("v1", text)
        plan = lake.images.resolve("v1", text, arguments={"FOLDER": "a"})
        image = lake.images.build("v1", text, arguments={"FOLDER": "a"}, creator="me")
        assert (image.plan.digest, image.creator) == (plan.digest, "me")
        assert lake.images.get("v1") == image
        assert lake.objects.open("image", "v1", "b/1").read_bytes() == b"one"
        with pytest.raises(AlreadyExists):
            lake.images.build("v1", text, arguments={"FOLDER": "a"})
        with pytest.raises(NotFound, match="nothing to add"):
            lake.images.build("v2", text, arguments={"FOLDER": "c"})


def test_two_lakes_on_one_folder_commit_alternately(tmp_path):
    with anabranch.open(tmp_path) as one, anabranch.open(tmp_path) as other:
        one.repositories.create("sea", "local://sea")

        def write(number):
            lake = (one, other)[number % 2]
            lake.objects.upload("sea", "main", f"{number:03}", [b"%d" % number])
            return lake.commits.commit(
                "sea", "main", message=str(number), committer="ada", allow_empty=True
            ).id

        with ThreadPoolExecutor(8) as pool:
            commits = list(pool.map(write, range(60)))
        log = one.commits.log("sea", "main", amount=100)
        assert {commit.id for commit in log.items} >= set(commits)
        assert len(log.items) == 61
        page = other.objects.listing("sea", "main@", amount=100)
        assert [item.path for item in page.items] == [f"{number:03}" for number in range(60)]


def test_library_and_server_share_folder(tmp_path):
    with running_server(tmp_path) as server, anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        with httpx2.Client(base_url=server.api, auth=server.auth) as client:
            response = client.post(
                "/repositories/sea/branches/main/objects",
                params={"path": "a"},
                content=b"over HTTP",
            )
            assert response.status_code == 201
            assert lake.objects.open("sea", "main", "a").read_bytes() == b"over HTTP"
            lake.commits.commit("sea", "main", message="in-process", committer="ada")
            log = client.get("/repositories/sea/refs/main/commits").json()["results"]
            assert [commit["message"] for commit in log] == ["in-process", "Repository created"]


@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_damaged_metadata_raises_corrupt_with_path(tmp_path, damage):
    with anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        for number in range(50):
            lake.objects.upload("sea", "main", f"{number:03}", [b"1"])
        lake.commits.commit("sea", "main", message="m", committer="ada")
    tables = [path for path in (tmp_path / "block/sea/_lakefs").iterdir() if len(path.name) == 64]
    assert len(tables) == 2
    for table in tables:
        intact = table.read_bytes()
        offset = len(intact) // 3
        damaged = intact[:offset] + bytes([intact[offset] ^ 1]) + intact[offset + 1 :]
        table.chmod(0o600)
        table.write_bytes(damaged if damage == "flip" else intact[:-10])
        with anabranch.open(tmp_path) as lake, pytest.raises(Corrupt) as error:
            lake.objects.listing("sea", "main", amount=100)
        assert table.name in error.value.message
        table.write_bytes(intact)


def test_unknown_attribute_of_package_raises():
    with pytest.raises(AttributeError, match="no attribute 'sea'"):
        anabranch.sea  # noqa: B018


def test_a_closed_lake_leaves_no_table_mapped(tmp_path):
    """A process may map 65,530 areas of memory: notebooks open lakes again and again."""
    folder = str(tmp_path / "block")
    for number in range(5):
        with anabranch.open(tmp_path) as lake:
            if not number:
                lake.repositories.create("sea", "local://sea")
                lake.objects.upload("sea", "main", "a", [b"1"])
                lake.commits.commit("sea", "main", message="First", committer="ada")
            assert lake.objects.stat("sea", "main", "a").entry.size == 1
        del lake
    gc.collect()
    assert folder not in Path("/proc/self/maps").read_text()
