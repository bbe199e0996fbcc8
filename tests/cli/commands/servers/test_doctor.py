"""`anabranch doctor` on sound and on faulty installations."""

from __future__ import annotations

from support.faults.forbidding_proxy import ForbiddingProxy
from support.stored_files import stored_files

import anabranch
from anabranch.testing.server import running_server, shared_environment


def files(folder):
    """Returns the files of a folder without SQLite's auxiliary files and journals."""
    return {
        path: path.read_bytes() for path in stored_files(folder) if "metadata" not in path.parts
    }


def test_a_missing_data_folder_is_sound_and_is_not_created(run, tmp_path):
    data = tmp_path / "new"
    ran = run.ok("doctor", "--data", data)
    assert {line.split()[0] for line in ran.lines} == {"sound"}
    assert not data.exists()


def test_a_running_installation_is_sound_and_unchanged(run, tmp_path, monkeypatch):
    with running_server(tmp_path), anabranch.open(tmp_path) as lake:
        lake.repositories.create("sea", "local://sea")
        lake.objects.upload("sea", "main", "a", [b"1"])
        before = files(tmp_path)
        monkeypatch.setenv("ANABRANCH_LISTEN_ADDRESS", "127.0.0.1:0")
        ran = run.ok("doctor", "--data", tmp_path, "--json")
        assert {result["state"] for result in ran.json} == {"sound"}
        messages = [result["message"] for result in ran.json]
        assert "local:// can be written, read, listed and cleaned" in messages
        assert "they are those of the database's servers" in messages
        assert files(tmp_path) == before


def test_a_fault_is_reported_with_a_hint(run, tmp_path):
    anabranch.open(tmp_path).close()
    (tmp_path / "metadata" / "metadata.db").write_bytes(b"no database " * 1000)
    ran = run("doctor", "--data", tmp_path)
    assert ran.code == 1
    (at,) = [number for number, line in enumerate(ran.lines) if line.startswith("wrong")]
    assert "metadata.db" in ran.lines[at]
    assert ran.lines[at + 1].startswith(" " * 20)
    assert ran.lines[-1].endswith(" checks failed")
    assert "Traceback" not in ran.err


def test_an_invalid_setting_is_reported(run, tmp_path, monkeypatch):
    monkeypatch.setenv("ANABRANCH_DATABASE_TYPE", "redis")
    ran = run("doctor", "--data", tmp_path)
    assert ran.code == 1
    assert "'redis', not one of" in ran.err


def test_differing_shared_settings_are_reported(run, tmp_path, monkeypatch, postgres_database):
    common = shared_environment(tmp_path)
    with running_server(tmp_path / "one", database=postgres_database, env=common):
        pass
    common["ANABRANCH_AUTH_ENCRYPT_SECRET_KEY"] = "another"
    common["ANABRANCH_DATABASE_TYPE"] = "postgres"
    common["ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING"] = postgres_database
    for name, value in common.items():
        monkeypatch.setenv(name, value)
    ran = run("doctor", "--data", tmp_path / "two", "--json")
    assert ran.code == 1
    (fault,) = [result for result in ran.json if result["state"] == "wrong"]
    assert fault["message"] == "auth.encrypt.secret_key differs"
    assert "--adopt" in fault["hint"]


def test_a_missing_permission_of_the_store_is_named(run, tmp_path, monkeypatch, s3):
    s3.make_bucket("guarded")
    with ForbiddingProxy("s3", s3.port, {"list", "delete"}) as proxy:
        for name, value in s3.settings.items():
            monkeypatch.setenv(name, value.replace(str(s3.port), str(proxy.port)))
        monkeypatch.setenv("ANABRANCH_BLOCKSTORE_DEFAULT_NAMESPACE_PREFIX", "s3://guarded/lakes")
        ran = run("doctor", "--data", tmp_path)
    assert ran.code == 1
    assert ran.lines[-1].startswith("2 of ")
    assert "Grant the server's access key s3:ListBucket on arn:aws:s3:::guarded." in ran.out
    assert "Grant the server's access key s3:DeleteObject on arn:aws:s3:::guarded/*." in ran.out
