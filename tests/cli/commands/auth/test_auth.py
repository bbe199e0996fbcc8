"""`anabranch auth recover`: with a server running, without one, and over PostgreSQL."""

from __future__ import annotations

import httpx2
import pytest

import anabranch
from anabranch.testing.server import running_server, shared_environment

USER = b"users/superAdmin"
NO_CACHE = {"ANABRANCH_AUTH_CACHE_ENABLED": "false"}


def status(server, pair) -> int:
    return httpx2.get(f"{server.api}/repositories", auth=pair).status_code


def recovered(run, *words):
    said = run.ok("auth", "recover", "--json", *words).json
    return (said["access_key_id"], said["secret_access_key"]), said


def test_a_pair_is_replaced_under_a_running_server(run, tmp_path):
    with running_server(tmp_path, env=NO_CACHE) as server:
        assert status(server, server.auth) == 200
        pair, said = recovered(run, "--data", tmp_path)
        assert said == {
            "user": "tester",
            "access_key_id": pair[0],
            "secret_access_key": pair[1],
            "user_created": False,
            "replaced": 1,
        }
        assert (status(server, pair), status(server, server.auth)) == (200, 401)
        assert pair[1] not in server.log.read_text()


@pytest.mark.slow
def test_deleted_administrator_is_created_again_while_no_server_runs(run, tmp_path):
    with running_server(tmp_path) as server:
        old = server.auth
    with anabranch.open(tmp_path) as lake:
        for key, _ in list(lake.keyvalue.scan("basicAuth")):
            assert lake.keyvalue.apply([("basicAuth", key, None)])
    with running_server(tmp_path) as server:
        assert status(server, old) == 401  # settings under `installation` count once
    ran = run.ok("auth", "recover", "--data", tmp_path, "--user", "grace")
    shown = dict(line.split(": ", 1) for line in ran.lines)
    assert shown["user"].strip() == "grace"
    assert "the user was created" in ran.err
    with running_server(tmp_path) as server:
        pair = shown["access key id"].strip(), shown["secret access key"].strip()
        user = httpx2.get(f"{server.api}/user", auth=pair).json()["user"]
        assert user["id"] == "grace"


def test_it_works_over_postgresql_with_the_settings_of_the_server(
    run, tmp_path, monkeypatch, postgres_database
):
    common = shared_environment(tmp_path) | NO_CACHE
    with running_server(tmp_path / "one", database=postgres_database, env=common) as server:
        common["ANABRANCH_DATABASE_TYPE"] = "postgres"
        common["ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING"] = postgres_database
        for name, value in common.items():
            monkeypatch.setenv(name, value)
        pair, _ = recovered(run, "--data", tmp_path / "other")
        assert (status(server, pair), status(server, server.auth)) == (200, 401)
        monkeypatch.setenv("ANABRANCH_AUTH_ENCRYPT_SECRET_KEY", "another")
        refused = run("auth", "recover", "--data", tmp_path / "other")
        assert refused.code == 1
        assert "auth.encrypt.secret_key differs" in refused.err
        monkeypatch.delenv("ANABRANCH_AUTH_ENCRYPT_SECRET_KEY")
        refused = run("auth", "recover", "--data", tmp_path / "other")
        assert "auth.encrypt.secret_key is neither set nor in" in refused.err
        assert status(server, pair) == 200
    assert not (tmp_path / "other").exists()


def test_where_there_is_no_installation_none_is_made(run, tmp_path, monkeypatch):
    ran = run("auth", "recover", "--data", tmp_path / "none")
    assert ran.code == 1
    assert "there is no installation here" in ran.err
    monkeypatch.setenv("ANABRANCH_DATABASE_TYPE", "mem")
    assert run("auth", "recover", "--data", tmp_path / "none").code == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_lost_key_is_named_and_none_is_made(run, tmp_path):
    with running_server(tmp_path):
        pass
    (tmp_path / "keys" / "encrypt").unlink()
    ran = run("auth", "recover", "--data", tmp_path)
    assert ran.code == 1
    assert str(tmp_path / "keys" / "encrypt") in ran.err
    assert "migrate --adopt" in ran.err
    assert not (tmp_path / "keys" / "encrypt").exists()
    # the way that it names
    run.ok("migrate", "--adopt", "--data", tmp_path)
    pair, _ = recovered(run, "--data", tmp_path)
    with running_server(tmp_path) as server:
        assert status(server, pair) == 200


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["grace", "a%"])
def test_a_name_that_does_not_fit_changes_nothing(run, tmp_path, name):
    with running_server(tmp_path) as server:
        assert run("auth", "recover", "--data", tmp_path, "--user", name).code == 1
        assert status(server, server.auth) == 200
