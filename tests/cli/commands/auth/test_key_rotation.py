"""Rotation of the installation's key: every step, with servers that run meanwhile."""

from __future__ import annotations

import httpx2
import pytest

from anabranch.testing.server import running_server, shared_environment

OLD, NEW = "the-earlier-key-of-all", "the-new-key-of-all"


def settings_of(folder, key, other=""):
    return shared_environment(folder) | {
        "ANABRANCH_AUTH_ENCRYPT_SECRET_KEY": key,
        "ANABRANCH_AUTH_ENCRYPT_OTHER_SECRET_KEY": other,
    }


def log_in(server):
    pair = dict(zip(("access_key_id", "secret_access_key"), server.auth, strict=True))
    response = httpx2.post(f"{server.api}/auth/login", json=pair)
    return response.json()["token"]


def status(server, token=None):
    place = f"{server.api}/repositories"
    if token is None:
        return httpx2.get(place, auth=server.auth).status_code
    return httpx2.get(place, headers={"Authorization": f"Bearer {token}"}).status_code


@pytest.fixture
def rotate(run, monkeypatch):
    def rotate(folder, key, other):
        for name, value in settings_of(folder, key, other).items():
            monkeypatch.setenv(name, value)
        return run("auth", "rotate-key", "--data", folder / "a", "--json")

    return rotate


@pytest.mark.slow
def test_no_key_or_login_stops_working_during_the_steps(
    rotate, tmp_path, new_postgres_database, monkeypatch
):
    database = new_postgres_database()
    monkeypatch.setenv("ANABRANCH_DATABASE_TYPE", "postgres")
    monkeypatch.setenv("ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING", database)

    def serve(name, key, other=""):
        env = settings_of(tmp_path, key, other)
        return running_server(tmp_path / name, database=database, env=env)

    with serve("a", OLD, NEW) as one:
        early = log_in(one)
        with serve("b", NEW, OLD) as other:
            tokens = [early, log_in(one), log_in(other)]
            for server in (one, other):
                assert status(server) == 200
                assert [status(server, token) for token in tokens] == [200] * 3
            ran = rotate(tmp_path, NEW, OLD)
            assert (ran.code, ran.json["rotated"], ran.json["current"]) == (0, 1, 0)
            assert rotate(tmp_path, NEW, OLD).json["current"] == 1
            for server in (one, other):
                assert status(server) == 200
                assert [status(server, token) for token in tokens] == [200] * 3
    with serve("a", NEW) as server:
        assert (status(server), status(server, early), status(server, tokens[2])) == (200, 401, 200)
    with pytest.raises(AssertionError, match="secret_key differs"), serve("b", OLD):
        pass


def test_rotation_needs_the_other_key(rotate, tmp_path):
    with running_server(tmp_path / "a", env=settings_of(tmp_path, OLD)):
        pass
    ran = rotate(tmp_path, NEW, "")
    assert ran.code == 1
    assert "auth.encrypt.other_secret_key is not set" in ran.err
    ran = rotate(tmp_path, NEW, "a third key")
    assert (ran.code, "auth.encrypt.secret_key differs" in ran.err) == (1, True)
