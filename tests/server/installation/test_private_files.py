"""Files of a server are readable by its own user only, with every umask."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import httpx2
import pytest
from support.clients.s3_client import s3_client

import anabranch
from anabranch.files.private_folders import make_private_folder
from anabranch.server.config.loader import load_settings
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.modes import check_modes
from anabranch.testing.server import running_server


@pytest.fixture(params=[0o000, 0o022])
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder):
    """Returns the modes, by path, of a folder and its contents as far as others may read them."""
    modes = {}
    for path in [folder, *folder.rglob("*")]:
        with suppress(FileNotFoundError):  # a temporary file of a running server
            modes[str(path.relative_to(folder.parent))] = stat.S_IMODE(path.lstat().st_mode)
    return {path: oct(mode) for path, mode in modes.items() if mode & 0o077}


@pytest.mark.usefixtures("umask")
@pytest.mark.sample(1)
def test_files_of_a_server_are_private(tmp_path):
    data = tmp_path / "above" / "data"
    with (
        running_server(data) as server,
        httpx2.Client(base_url=server.api, auth=server.auth) as api,
    ):
        body = {"name": "sea", "storage_namespace": "local://sea/deep"}
        assert api.post("/repositories", json=body).status_code == 201
        url = "/repositories/sea/branches/main"
        for size in (10, 200_000):
            created = api.post(f"{url}/objects", params={"path": f"o{size}"}, content=b"x" * size)
            assert created.status_code == 201
        s3 = s3_client(server)
        named = {"Bucket": "sea", "Key": "main/parts"}
        upload = s3.create_multipart_upload(**named)["UploadId"]
        s3.upload_part(**named, UploadId=upload, PartNumber=1, Body=b"x" * 100)
        assert api.post(f"{url}/commits", json={"message": "all"}).status_code == 201
        assert open_to_others(tmp_path / "above") == {}
        names = {path.name for path in data.rglob("*") if path.is_file()}
        assert {"metadata.db", "metadata.db-wal", "metadata.db-changes", "encrypt"} <= names
    with running_server(data):  # again, with existing files
        pass
    assert open_to_others(tmp_path / "above") == {}


@pytest.mark.usefixtures("umask")
def test_files_of_the_library_are_private(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        lake.commits.commit("sea", "main", message="all", committer="me")
    assert open_to_others(tmp_path / "lake") == {}


def test_existing_folders_keep_their_mode(tmp_path):
    existing = tmp_path / "existing"
    existing.mkdir()
    existing.chmod(0o755)
    make_private_folder(existing / "a" / "b")
    assert open_to_others(existing) == {"existing": "0o755"}
    (existing / "file").touch()
    with pytest.raises(OSError, match="Not a directory"):
        make_private_folder(existing / "file")


def test_doctor_reports_folders_that_others_may_read(tmp_path):
    data = tmp_path / "lake"
    anabranch.open(data).close()
    settings = load_settings({"data": str(data)}, {}).settings
    assert check_modes(settings) == []
    data.chmod(0o755)
    (data / "block").chmod(0o755)
    (data / "metadata").chmod(0o750)
    results = {result.message: result for result in check_modes(settings)}
    assert len(results) == 2
    for name, path in (("blockstore.local.path", "block"), ("database.local.path", "metadata")):
        result = results[f"{name}: other users of this machine may read {data / path}"]
        assert (result.state, result.hint) == (State.DOUBTFUL, f"chmod -R go= {data / path}")
    data.chmod(0o700)
    assert check_modes(settings) == []
    outside = tmp_path / "elsewhere"
    outside.mkdir(mode=0o755)
    env = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(outside)}
    (result,) = check_modes(load_settings({"data": str(data)}, env).settings)
    assert str(outside) in result.message
