"""The published `lakefs` and `lakefs-sdk` import from a folder of the server's machine."""

from __future__ import annotations

import re
import time
from datetime import timedelta
from pathlib import Path

import lakefs
import lakefs_sdk
import pytest
from lakefs.client import Client
from lakefs.exceptions import ConflictException, ImportManagerException

from anabranch.testing.server import running_server

POLL = timedelta(milliseconds=50)


@pytest.fixture
def client(importing):
    return Client(
        host=importing.url,
        username=importing.access_key_id,
        password=importing.secret_access_key,
    )


@pytest.fixture
def branch(client, fresh):
    repository = lakefs.Repository(fresh, client=client).create(f"local://{fresh}")
    return repository.branch("main")


@pytest.fixture
def imports(client):
    """The generated client's calls."""
    return client.sdk_client.import_api


def creation(*paths, **fields):
    locations = [
        lakefs_sdk.ImportLocation(type=kind, path=path, destination=destination)
        for kind, path, destination in paths
    ]
    commit = lakefs_sdk.CommitCreation(message="Bring in")
    return lakefs_sdk.ImportCreation(paths=locations, commit=commit, **fields)


def wait(imports, repository, import_id):
    deadline = time.monotonic() + 60
    while True:
        status = imports.import_status(repository, "main", import_id)
        if status.completed or status.error:
            return status
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_manager_imports_prefixes_and_objects(branch, import_folder):
    for name in ("sea/a", "sea/deep/b", "single"):
        (import_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (import_folder / name).write_text(name)
    manager = branch.import_data("Bring in", metadata={"colour": "blue"})
    manager.prefix(f"local://{import_folder}/sea/", "tables").object(
        f"local://{import_folder}/single", "one"
    )
    status = manager.run(POLL)
    assert status.completed
    assert status.ingested_objects == 3
    assert status.commit.message == "Bring in"
    assert status.commit.metadata == {"colour": "blue", ".lakefs.merge.strategy": "source-wins"}
    assert status.commit.id == branch.get_commit().id
    assert status.metarange_id == status.commit.meta_range_id
    paths = ["one", "tables/a", "tables/deep/b"]
    assert [found.path for found in branch.objects()] == paths
    for found in branch.objects():
        assert found.physical_address.startswith(f"local://{import_folder}/")
    reader = branch.object("tables/deep/b").reader()
    assert reader.read() == b"sea/deep/b"
    with pytest.raises(ConflictException):
        manager.cancel()


def test_the_example_of_the_page_runs(branch, importing, import_folder, capsys):
    page = Path(__file__).parents[2] / "docs" / "import.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    for name in ("raw/2024/a", "raw/2024/b", "raw/stations.csv"):
        (import_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (import_folder / name).write_text(name)
    for old, new in (
        ("http://HOST:8000", importing.url),
        ("SECRET_ACCESS_KEY", importing.secret_access_key),
        ("ACCESS_KEY_ID", importing.access_key_id),
        ("rides-of-the-city", branch.repo_id),
        ("/data", str(import_folder)),
        ("run()", "run(POLL)"),
    ):
        assert old in example
        example = example.replace(old, new)
    exec(example, {"POLL": POLL})  # noqa: S102  the point of the test
    assert capsys.readouterr().out.split() == ["3", branch.get_commit().id]
    paths = ["rides/2024/a", "rides/2024/b", "stations.csv"]
    assert [found.path for found in branch.objects()] == paths


def test_the_server_says_that_it_imports(client):
    config = client.sdk_client.config_api.get_config().storage_config
    assert config.import_support
    assert config.import_validity_regex == "^local://"


def test_failed_import_is_reported_and_leaves_the_branch_unchanged(branch, import_folder):
    before = branch.get_commit().id
    manager = branch.import_data().prefix(f"local://{import_folder}/nowhere/", "a")
    with pytest.raises(ImportManagerException, match=r"Import Error: import error: .*no such fold"):
        manager.run(POLL)
    assert branch.get_commit().id == before
    manager.cancel()  # nothing to be done, and no harm
    assert "no such folder" in manager.status().error.message


def test_a_dirty_branch_takes_no_import(branch, import_folder):
    (import_folder / "dirty").mkdir()
    (import_folder / "dirty/a").write_text("a")
    branch.object("staged").upload("content")
    manager = branch.import_data().prefix(f"local://{import_folder}/dirty/", "a")
    with pytest.raises(ImportManagerException, match=r"uncommitted changes \(dirty branch\)"):
        manager.run(POLL)
    assert [found.path for found in branch.objects()] == ["staged"]


def test_a_cancelled_import_stops(branch, imports, import_folder):
    folder = import_folder / "large"
    folder.mkdir()
    for number in range(3_000):
        (folder / f"{number}").touch()
    before = branch.get_commit().id
    paths = [("common_prefix", f"local://{folder}/", f"{number}") for number in range(200)]
    started = imports.import_start(branch.repo_id, "main", creation(*paths))
    imports.import_cancel(branch.repo_id, "main", started.id)
    status = wait(imports, branch.repo_id, started.id)
    assert status.error.message == "import error: Canceled"
    assert not status.completed
    imports.import_cancel(branch.repo_id, "main", started.id)
    assert branch.get_commit().id == before


def test_force_is_for_read_only_repositories(client, imports, import_folder, fresh, refused):
    (import_folder / "fixed").mkdir()
    (import_folder / "fixed/a").write_text("a")
    client.sdk_client.repositories_api.create_repository(
        lakefs_sdk.RepositoryCreation(
            name=fresh, storage_namespace=f"local://{fresh}", read_only=True
        )
    )
    path = ("common_prefix", f"local://{import_folder}/fixed/", "")
    with refused(403, "read-only repository"):
        imports.import_start(fresh, "main", creation(path))
    started = imports.import_start(fresh, "main", creation(path, force=True))
    assert wait(imports, fresh, started.id).completed


def test_invalid_import_is_rejected_immediately(branch, imports, import_folder, refused):
    def start(path, destination="a", kind="common_prefix", ref="main"):
        imports.import_start(branch.repo_id, ref, creation((kind, path, destination)))

    with refused(400, "invalid import source"):
        start("s3://bucket/")
    with refused(403, "not in allowed external prefixes"):
        start("local:///etc/")
    with refused(403, "not in allowed external prefixes"):
        start(f"local://{import_folder}/../")
    with refused(404, "branch not found"):
        start(f"local://{import_folder}/", ref="nowhere")
    with refused(400, "missing path"):
        start(f"local://{import_folder}/a", destination="", kind="object")
    with refused(400, "import paths are missing"):
        imports.import_start(branch.repo_id, "main", creation())


def test_an_unknown_import_is_not_found(branch, imports, refused):
    for call in (imports.import_status, imports.import_cancel):
        with refused(404, "import not found"):
            call(branch.repo_id, "main", "unknown")
        with refused(404, "branch not found"):
            call(branch.repo_id, "nowhere", "unknown")


@pytest.mark.usefixtures("server")
def test_server_without_import_support_refuses_imports(repo, refused):
    config = repo.sdk.config_api.get_config().storage_config
    assert not config.import_support
    assert config.import_validity_regex == ""
    with refused(403, "import is not supported for this storage"):
        path = ("common_prefix", "local:///data/", "a")
        repo.sdk.import_api.import_start(repo.id, "main", creation(path))


def test_import_interrupted_by_the_end_of_its_server_reports_that(import_folder, tmp_path):
    folder = import_folder / "interrupted"
    folder.mkdir()
    for number in range(3_000):
        (folder / f"{number}").touch()
    settings = {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(import_folder),
    }

    def client(server):
        return Client(
            host=server.url, username=server.access_key_id, password=server.secret_access_key
        )

    with running_server(tmp_path, env=settings) as server:
        first = client(server)
        repository = lakefs.Repository("sea", client=first).create("local://sea")
        before = repository.branch("main").get_commit().id
        paths = [("common_prefix", f"local://{folder}/", f"{number}") for number in range(200)]
        started = first.sdk_client.import_api.import_start("sea", "main", creation(*paths))
        server.stop()
    with running_server(tmp_path, env=settings) as server:
        second = client(server)
        status = second.sdk_client.import_api.import_status("sea", "main", started.id)
        assert status.error.message == "import error: interrupted: the server was stopped"
        assert second.sdk_client.branches_api.get_branch("sea", "main").commit_id == before
