"""`anabranch migrate from-lakefs` of a database that lakeFS wrote, and servers over the result."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import boto3
import psycopg
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from support.histories.described_installation import RestCalls, describe
from support.services.postgres import Cluster
from support.services.recorded_lakefs import (
    ACCESS_KEY_ID,
    ENCRYPT_KEY,
    SECRET_ACCESS_KEY,
    expected,
    load_database,
    rows,
    unpack_blocks,
)
from support.session.forked_python import forked_python

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.records import lakefs_pb2 as records
from anabranch.testing.server import Server, running_server

REFUSING = "_lakefs_actions/refuse.yaml"
KEY_PAIR = (ACCESS_KEY_ID, SECRET_ACCESS_KEY)
LAKEFS_KEY = {"LAKEFS_AUTH_ENCRYPT_SECRET_KEY": ENCRYPT_KEY}


@pytest.fixture(scope="module")
def recorded(postgres_cluster: Cluster) -> str:
    """lakeFS's database, which tests only read."""
    return load_database(postgres_cluster)


@pytest.fixture
def lakefs(postgres_cluster: Cluster) -> str:
    """lakeFS's database, which the test may change."""
    return load_database(postgres_cluster)


@pytest.fixture
def block(tmp_path: Path) -> Path:
    return unpack_blocks(tmp_path / "block")


def migrate(
    *arguments: str, within: list[str] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = within or [forked_python(), "-m", "anabranch"]
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("ANABRANCH_")
    }
    return subprocess.run(
        [*command, "migrate", "from-lakefs", *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def postgres_settings(url: str, block: Path, key: str = ENCRYPT_KEY) -> dict[str, str]:
    return {
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": url,
        "ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(block),
        "ANABRANCH_AUTH_ENCRYPT_SECRET_KEY": key,
    }


@contextmanager
def served(data: Path, settings: Mapping[str, str]) -> Iterator[Server]:
    # without an administrator in the settings: lakeFS's must exist
    unset = dict.fromkeys(
        (
            "ANABRANCH_INSTALLATION_USER_NAME",
            "ANABRANCH_INSTALLATION_ACCESS_KEY_ID",
            "ANABRANCH_INSTALLATION_SECRET_ACCESS_KEY",
        ),
        "",
    )
    with running_server(data, env={**settings, **unset}) as server:
        yield server


def check_server(server: Server, storage: str = "local://") -> None:
    """Checks that the server has what lakeFS reported, and that lakeFS's user can change it."""
    calls = RestCalls(server.api, KEY_PAIR)
    actual, wanted = describe(calls), expected()
    for repository in wanted.values():
        repository["repository"]["storage_namespace"] = moved(
            repository["repository"]["storage_namespace"], storage
        )
    assert actual.keys() == wanted.keys()
    for name, repository in wanted.items():
        for topic, value in repository.items():
            if topic != "pulls":
                assert actual[name][topic] == value, (name, topic)
    assert calls.call("GET", "/user")["user"]["id"] == "captain"
    s3 = s3_client(server)
    assert [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]] == sorted(wanted)
    for name, repository in wanted.items():
        objects = {
            entry["checksum"]: (f"{branch}/{entry['path']}", entry["size_bytes"])
            for branch in repository["branches"]
            for entry in repository["trees"][branch]
        }
        for checksum, (key, size) in objects.items():
            body = s3.get_object(Bucket=name, Key=key)["Body"].read()
            assert (hashlib.md5(body).hexdigest(), len(body)) == (checksum, size)
    commit_and_merge(calls)


def moved(namespace: str, storage: str) -> str:
    """Returns a recorded storage namespace in another store."""
    return namespace if storage == "local://" else storage + namespace[8:].lstrip("/")


def commit_and_merge(calls: RestCalls) -> None:
    """Commits the uncommitted changes, also those of lakeFS's sealed staging areas, and merges. The
    hook that refused every commit of `blocked` in lakeFS refuses them here, too.
    """
    branches = "/repositories/sea/branches"
    with pytest.raises(Exception, match=r"pre-commit hook aborted.*hook 'refuse': .*no"):
        calls.call("POST", f"{branches}/blocked/commits", {"message": "came over"})
    calls.call("DELETE", f"{branches}/blocked/objects", path=REFUSING)
    for branch in ("dev", "blocked"):
        wanted = expected()["sea"]["trees"][branch]
        calls.call("POST", f"{branches}/{branch}/commits", {"message": "came over"})
        entries = calls.pages(f"/repositories/sea/refs/{branch}@/objects/ls")
        kept = [path for entry in wanted if (path := entry["path"]) != REFUSING]
        assert [entry["path"] for entry in entries] == kept
        assert calls.pages(f"{branches}/{branch}/diff") == []
    calls.call("POST", "/repositories/sea/refs/dev/merge/main", {"strategy": "source-wins"})
    with pytest.raises(Exception, match="cannot write to protected branch"):
        calls.call("POST", f"{branches}/main/objects", None, b"no", path="a")
    with pytest.raises(Exception, match="read-only repository"):
        calls.call("POST", "/repositories/archive/branches/main/objects", None, b"no", path="a")


def s3_client(server: Server, secret: str = SECRET_ACCESS_KEY) -> boto3.client:
    return boto3.client(
        "s3",
        endpoint_url=server.url,
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=secret,
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 1}),
    )


def test_database_is_opened_in_place(postgres_cluster, lakefs, block, tmp_path):
    settings = postgres_settings(lakefs, block)
    before = rows(postgres_cluster, lakefs)
    dry = migrate("--dry-run", "--data", str(tmp_path / "data"), **settings)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert "in place:" in dry.stdout
    assert rows(postgres_cluster, lakefs) == before
    ran = migrate("--yes", "--data", str(tmp_path / "data"), **settings)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.endswith(
        "Changed 1 record. Stop lakeFS, and start `anabranch serve` with these settings.\n"
    )
    changed = set(rows(postgres_cluster, lakefs)) - set(before)
    assert [(partition, key) for partition, key, _ in changed] == [(b"graveler", b"repos/odd")]
    again = migrate("--data", str(tmp_path / "data"), **settings)
    assert (again.returncode, "Changed nothing" in again.stdout) == (0, True)
    with served(tmp_path / "data", settings) as server:
        check_server(server)


@pytest.mark.slow
def test_database_is_copied_to_sqlite(recorded, postgres_cluster, block, tmp_path):
    data = tmp_path / "data"
    settings = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(block)}
    before = rows(postgres_cluster, recorded)
    arguments = ["--postgres", recorded, "--data", str(data)]
    dry = migrate("--dry-run", *arguments, **settings, **LAKEFS_KEY)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert not data.exists()
    assert not (block / ".anabranch-temporary").exists()
    ran = migrate("--yes", *arguments, **settings, **LAKEFS_KEY)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\nCopied 52 records\n" in ran.stdout
    again = migrate(*arguments, **settings, **LAKEFS_KEY)
    assert again.returncode == 0, "no confirmation is needed if nothing is to be done"
    assert again.stdout.endswith("Everything exists already: nothing was changed\n")
    assert rows(postgres_cluster, recorded) == before
    with served(data, settings) as server:
        check_server(server)
        with pytest.raises(ClientError) as caught:
            s3_client(server, "wrong-secret").list_buckets()
        assert caught.value.response["Error"]["Code"] == "SignatureDoesNotMatch"
    refused = migrate("--yes", *arguments, **settings, **LAKEFS_KEY)
    assert refused.returncode == 1
    assert "the target has the repository with other content" in refused.stderr
    assert "sea" in refused.stderr
    others = migrate("--yes", *arguments, "--repository", "odd", **settings, **LAKEFS_KEY)
    assert others.stdout.endswith("nothing was changed\n")


@pytest.mark.slow
def test_database_is_copied_to_another_postgresql_database(
    recorded, postgres_cluster, block, tmp_path
):
    target = postgres_cluster.url(postgres_cluster.make_database())
    settings = postgres_settings(target, block, key="another-key-of-the-target")
    secret = tmp_path / "secret"
    secret.write_text(f"{ENCRYPT_KEY}\n")
    arguments = ["--postgres", recorded, "--data", str(tmp_path / "data")]
    arguments += ["--encrypt-secret-file", str(secret)]
    ran = migrate("--yes", *arguments, **settings)
    assert (ran.returncode, "anabranch migrate" in ran.stderr) == (1, True), "it has no tables"
    PostgresDatabase(target).migrate()
    empty = rows(postgres_cluster, target)
    dry = migrate("--dry-run", *arguments, **settings)
    assert dry.returncode == 0
    assert rows(postgres_cluster, target) == empty
    assert migrate("--yes", *arguments, **settings).returncode == 0
    copied = rows(postgres_cluster, target)
    assert migrate("--yes", *arguments, **settings).returncode == 0
    assert rows(postgres_cluster, target) == copied
    with served(tmp_path / "data", settings) as server:
        check_server(server)


@pytest.mark.slow
def test_database_of_an_installation_on_s3_is_opened_in_place(
    postgres_cluster, lakefs, s3_service, block, tmp_path
):
    storage = "s3://from-lakefs/lake/"
    s3_service.make_bucket("from-lakefs")
    store = s3_service.blocks()
    for path in (path for path in block.rglob("*") if path.is_file()):
        key = str(path.relative_to(block)).replace("odd/spelling/", "odd//spelling/")
        store.put(storage + key, [path.read_bytes()])
    store.close()
    with psycopg.connect(lakefs, autocommit=True) as connection:
        for partition, key, value in rows(postgres_cluster, lakefs):
            if partition == b"graveler":
                record = records.RepositoryData.FromString(value)
                record.storage_namespace = moved(record.storage_namespace, storage)
                connection.execute(
                    "UPDATE kv SET value = %s WHERE partition_key = 'graveler' AND key = %s",
                    (record.SerializeToString(), key),
                )
    settings = {**postgres_settings(lakefs, block), **s3_service.settings}
    elsewhere = {**settings, "ANABRANCH_BLOCKSTORE_S3_ENDPOINT": "http://127.0.0.1:1"}
    report = json.loads(migrate("--dry-run", "--json", **elsewhere).stdout)
    reasons = [each["unreachable"] for each in report["repositories"]]
    assert "does not answer" in reasons[0]
    assert reasons[1:] == ["s3://from-lakefs is unavailable, as above"] * 3
    report = json.loads(migrate("--yes", "--json", **settings).stdout)
    assert [each["unreachable"] for each in report["repositories"]] == [""] * 4
    assert report["written"] == 0
    with served(tmp_path / "data", settings) as server:
        check_server(server, storage)


KILLED = """
import os, signal, sys
import anabranch.server.installation.lakefs_migration as migration
from anabranch.cli.main import main
from anabranch.testing.stores import FaultyStore

remaining = int(sys.argv.pop(1))

def before(step, partition):
    global remaining
    if step == "apply":
        remaining -= 1
        if not remaining:
            os.kill(os.getpid(), signal.SIGKILL)

open_keyvalue = migration.open_keyvalue
migration.open_keyvalue = lambda database: FaultyStore(open_keyvalue(database), before)
sys.exit(main())
"""


@pytest.mark.slow
def test_copy_that_was_killed_is_continued(recorded, block, tmp_path):
    data = tmp_path / "data"
    settings = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(block), **LAKEFS_KEY}
    arguments = ["--yes", "--postgres", recorded, "--data", str(data)]
    codes = []
    while 0 not in codes and len(codes) < 20:
        within = [sys.executable, "-c", KILLED, "3"]
        codes.append(migrate(*arguments, within=within, **settings).returncode)
    assert codes[:-1] == [-signal.SIGKILL] * (len(codes) - 1)
    assert len(codes) > 5, "each run makes progress before it is killed"
    assert migrate(*arguments, **settings).returncode == 0
    with served(data, {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(block)}) as server:
        check_server(server)


def test_wrong_secret_is_rejected(recorded, block, tmp_path):
    data = tmp_path / "data"
    ran = migrate(
        *("--yes", "--postgres", recorded, "--data", str(data)),
        ANABRANCH_BLOCKSTORE_LOCAL_PATH=str(block),
        LAKEFS_AUTH_ENCRYPT_SECRET_KEY="wrong",
    )
    assert ran.returncode == 1
    assert "decrypts none of the 1 key pairs" in ran.stderr
    dry = migrate("--dry-run", "--data", str(data), **postgres_settings(recorded, block, "wrong"))
    assert dry.returncode == 0
    assert "problem: the settings' auth.encrypt.secret_key is not lakeFS's" in dry.stdout


def test_unknown_schema_and_damage_are_rejected(postgres_cluster, lakefs, block, tmp_path):
    settings = postgres_settings(lakefs, block)
    with psycopg.connect(lakefs, autocommit=True) as connection:
        connection.execute("UPDATE kv SET value = value || '\\xff' WHERE key = 'branches/dev'")
    before = rows(postgres_cluster, lakefs)
    for option in ("--dry-run", "--yes"):
        ran = migrate(option, "--data", str(tmp_path / "data"), **settings)
        assert ran.returncode == 1
        assert "key branches/dev: a BranchData record" in ran.stdout
    assert "Nothing was changed" in ran.stderr
    assert rows(postgres_cluster, lakefs) == before
    with psycopg.connect(lakefs, autocommit=True) as connection:
        connection.execute("UPDATE kv SET value = '3' WHERE key = 'kv/schema/version'")
    ran = migrate("--dry-run", "--data", str(tmp_path / "data"), **settings)
    assert ran.returncode == 1
    assert "has schema version 3" in ran.stderr
    assert "lakefs migrate up" in ran.stderr


def test_running_lakefs_is_a_warning_and_needs_confirmation(recorded, block, tmp_path):
    arguments = ["--postgres", recorded, "--data", str(tmp_path / "data")]
    settings = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(block), **LAKEFS_KEY}
    with psycopg.connect(recorded):
        dry = migrate("--dry-run", *arguments, **settings)
        assert dry.returncode == 0
        assert "another program uses the database: an unnamed program at 127.0.0.1" in dry.stderr
        unconfirmed = migrate(*arguments, **settings)
    assert unconfirmed.returncode == 2
    assert "Copy 4 repositories and the users, although other programs use" in unconfirmed.stderr
    assert "--yes" in unconfirmed.stderr


@pytest.mark.slow  # one form of its report
def test_report_is_json(recorded, block, tmp_path):
    arguments = ["--postgres", recorded, "--data", str(tmp_path / "data"), "--json"]
    settings = {"ANABRANCH_BLOCKSTORE_LOCAL_PATH": str(block), **LAKEFS_KEY}
    dry = json.loads(migrate("--dry-run", *arguments, **settings).stdout)
    assert [each["name"] for each in dry["repositories"]] == ["archive", "empty", "odd", "sea"]
    assert (dry["dry_run"], dry["pending"], dry["written"]) == (True, True, 0)
    done = json.loads(migrate("--yes", *arguments, **settings).stdout)
    assert (done["dry_run"], done["written"]) == (False, 52)
    assert migrate(*arguments, **settings).returncode == 2, "--json cannot ask"


def test_source_must_be_named(tmp_path):
    ran = migrate("--dry-run", "--data", str(tmp_path))
    assert ran.returncode == 2
    assert "which database is lakeFS's?" in ran.stderr


@pytest.mark.slow
def test_missing_client_of_postgresql_is_named(tmp_path):
    program = "import sys; sys.modules['psycopg'] = None; import anabranch.cli.main as program; "
    within = [sys.executable, "-c", f"{program} sys.exit(program.main())"]
    ran = migrate(
        "--dry-run", "--postgres", "postgres://a/b", "--data", str(tmp_path), within=within
    )
    assert ran.returncode == 1
    assert "anabranch[postgres]" in ran.stderr
