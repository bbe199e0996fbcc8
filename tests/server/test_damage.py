"""Damaged and lost files of a server: reported by name, never returned as data."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from anabranch.testing.server import running_server


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A folder with a commit of a hundred objects, the paths of its tables, and what is read."""
    folder = tmp_path_factory.mktemp("damaged")
    with (
        running_server(folder) as server,
        httpx2.Client(base_url=server.api, auth=server.auth) as api,
    ):
        body = {"name": "sea", "storage_namespace": "local://sea"}
        assert api.post("/repositories", json=body).status_code == 201
        for number in range(100):
            url = "/repositories/sea/branches/main/objects"
            made = api.post(url, params={"path": f"o{number:03}"}, content=b"x" * number)
            assert made.status_code == 201
        commit = api.post("/repositories/sea/branches/main/commits", json={"message": "all"})
        tree = commit.json()["meta_range_id"]
        truth = [api.get(f"/repositories/sea/{path}").content for path in READS]
    tables = [path for path in (folder / "block/sea/_lakefs").iterdir() if len(path.name) == 64]
    metarange = next(path for path in tables if path.name == tree)
    return folder, metarange, next(path for path in tables if path != metarange), truth


READS = [
    "refs/main/objects/stat?path=o050",
    "refs/main/objects?path=o050",
    "refs/main/objects/ls",
    "refs/main/diff/main~1?type=two_dot",
]


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    path.chmod(0o644)
    if how == "lost":
        path.unlink()
        return
    if how == "cut":
        data = data[: len(data) // 2]
    elif how == "empty":
        data = bytearray()
    else:
        middle = len(data) // 3
        data[middle] ^= 0x55
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["flipped", "cut", "empty", "lost"])
@pytest.mark.parametrize("which", ["metarange", "range"])
@pytest.mark.sample(1)
def test_a_damaged_table(lake, which, how):
    folder, metarange, range_, truth = lake
    victim = metarange if which == "metarange" else range_
    whole = victim.read_bytes()
    damage(victim, how)
    try:
        with running_server(folder) as server:
            answers = [
                httpx2.get(f"{server.api}/repositories/sea/{path}", auth=server.auth)
                for path in READS
            ]
            refused = [answer for answer in answers if answer.status_code != 200]
            # one byte of a range damages one block of it, and what reads all reads that
            assert refused
            if (which, how) != ("range", "flipped"):
                assert len(refused) == len(answers)
            for answer, true in zip(answers, truth, strict=True):
                if answer in refused:
                    assert answer.status_code in {410, 500}
                    assert victim.name in answer.json()["message"]
                else:
                    assert answer.content == true
            assert "Traceback" not in server.log.read_text()
    finally:
        victim.unlink(missing_ok=True)
        victim.write_bytes(whole)


def test_lost_content_is_gone_and_nothing_else(lake):
    folder, *_ = lake
    with (
        running_server(folder) as server,
        httpx2.Client(base_url=server.api, auth=server.auth) as api,
    ):
        url = "/repositories/sea/refs/main/objects"
        stat = api.get(f"{url}/stat", params={"path": "o007"}).json()
        file = Path(stat["physical_address"].removeprefix("local://"))
        content = file.read_bytes()
        file.unlink()
        try:
            assert api.get(url, params={"path": "o007"}).status_code == 410
            assert api.get(url, params={"path": "o008"}).content == b"x" * 8
            copy = api.post(
                "/repositories/sea/branches/main/objects/copy",
                params={"dest_path": "copy"},
                json={"src_path": "o007"},
            )
            assert copy.status_code == 410
        finally:
            file.write_bytes(content)
