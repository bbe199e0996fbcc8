"""Installations that earlier versions have written are served as they were, and can be changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import httpx2
import psycopg
import pytest
from upgrades.conftest import WRITTEN
from upgrades.installation import DATA, DUMP, observe

from anabranch.access.access import Access
from anabranch.errors import Unauthenticated
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.secret import Secret

HOUR = 3600
MONTH = 31 * 24 * HOUR


def without_new_fields(now, then):
    """Leaves out of an answer the fields that it did not have then."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {name: without_new_fields(now.get(name), then[name]) for name in then}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [without_new_fields(*pair) for pair in zip(now, then, strict=True)]
    return now


def test_there_are_installations_of_earlier_versions():
    folders = {path.parent for path in WRITTEN.glob(f"*/{DATA}")}
    with_database = {path.parent for path in WRITTEN.glob(f"*/{DUMP}")}
    assert with_database
    assert folders > with_database


def test_a_server_says_what_the_version_that_wrote_it_said(written):
    with written.running_server() as server:
        observed = observe(server)
    then = written.record["observed"]
    assert without_new_fields(observed, then) == then


def test_keys_and_workspaces_go_on_working(written):
    pair, workspace = written.record["keys"]["pair"], written.record["keys"]["workspace"]
    with written.running_server() as server, httpx2.Client(base_url=server.api, timeout=60) as api:
        own = (pair["access_key_id"], pair["secret_access_key"])
        assert api.get("/user", auth=own).json()["user"]["id"] == "lin"
        assert api.get("/repositories/sea/branches/main", auth=own).status_code == 200
        assert api.post("/repositories", auth=own, json={}).status_code in (400, 401, 403)
        token = {"Authorization": f"Bearer {workspace['token']}"}
        path = f"/repositories/sea/branches/{workspace['branch']}/objects"
        put = api.post(path, params={"path": "out/a"}, content=b"1", headers=token)
        # the workspace ends a month after it was made: then its keys are refused
        assert put.status_code in (201, 401), put.text


def test_tokens_are_valid_until_the_end_that_they_were_given(written):
    keys = written.record["keys"]
    tokens = {"login": keys["login"], "workspace": keys["workspace"]["token"]}

    def users(moment):
        """Whose the tokens are, at a moment; None where it is nobody's any more."""
        found = {}
        with closing(store_of(written)) as store:
            key = Secret((written.data / "keys/encrypt").read_text().strip())
            access = Access(store, key, clock=lambda: moment)
            for name, token in tokens.items():
                try:
                    found[name] = access.authenticator.authenticate(f"Bearer {token}").username
                except Unauthenticated:
                    found[name] = None
        return found

    assert users(keys["made_at"] + HOUR) == {"login": "lin", "workspace": "tester"}
    assert users(keys["made_at"] + MONTH) == {"login": None, "workspace": None}


def store_of(written):
    """The key-value store with the records of an installation."""
    if written.database:
        return PostgresStore(written.database, max_open_connections=2)
    return SQLiteStore(written.data / "metadata/metadata.db")


def test_it_can_be_changed_and_what_was_done_before_undone(written):
    with written.running_server() as server:
        with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as api:
            sea = "/repositories/sea"
            message = {"message": "By a later version"}
            assert api.post(f"{sea}/branches/dev/commits", json=message).status_code == 201
            merged = api.post(f"{sea}/refs/dev/merge/main", json={"message": "Merge"})
            assert merged.status_code == 200, merged.text
            staged = api.get(f"{sea}/refs/main/objects", params={"path": "staged"})
            assert staged.content == b"not committed"
            restored = api.post(f"{sea}/operations/restore_branch", json={"name": "gone"})
            if restored.status_code == 200:  # within the days of undo
                lost = api.get(f"{sea}/refs/gone/objects", params={"path": "lost"})
                assert lost.content == b"not committed"
        found = written.run("fsck", "--all")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["serve", "--listen", "127.0.0.1:0"], ["fsck"], ["backup", "copies"]], ids=" ".join
)
def test_a_newer_schema_is_refused_and_left_alone(written, words, monkeypatch):
    """What a downgrade finds."""
    monkeypatch.chdir(written.data.parent)
    set_newer_schema(written)
    before = records(written)
    refused = written.run(*words)
    assert refused.returncode not in (0, None)
    assert "schema version" in refused.stderr
    assert "Use the version of Anabranch that" in refused.stderr
    assert records(written) == before


def set_newer_schema(written):
    if written.database:
        with psycopg.connect(written.database, autocommit=True) as connection:
            changed = connection.execute(
                "UPDATE kv SET value = '5' WHERE key = 'kv/schema/version' AND value = '4'"
            )
            assert changed.rowcount == 1
    else:
        with closing(sqlite3.connect(written.data / "metadata/metadata.db")) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            connection.execute(f"PRAGMA user_version = {version + 1}")


def records(written):
    """All that is in the database."""
    if written.database:
        with psycopg.connect(written.database) as connection:
            return connection.execute("SELECT * FROM kv ORDER BY 1, 2").fetchall()
    with closing(sqlite3.connect(written.data / "metadata/metadata.db")) as connection:
        return [*connection.iterdump()]
