"""Key pairs of a server that are deleted in the middle of jobs."""

from __future__ import annotations

import time
import uuid

import lakefs
import pytest
from lakefs.client import Client
from support.garbage import addresses

import anabranch.spark
from anabranch.errors import Unauthenticated
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs.garbage import SparkEngine, served_installation
from anabranch.spark.sources.stores import open_store
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)

OBJECTS = 6


@pytest.fixture(scope="module")
def remote(emulated_s3, tmp_path_factory):
    emulated_s3.make_bucket("revoked")
    with running_server(tmp_path_factory.mktemp("lake"), env=emulated_s3.settings) as remote:
        yield remote


@pytest.fixture(scope="module")
def client(remote):
    name, secret = remote.auth
    return Client(host=remote.url, username=name, password=secret)


@pytest.fixture(scope="module")
def store(emulated_s3):
    return emulated_s3.task_store()


@pytest.fixture
def repository(client):
    """A repository with a commit, and as many dead objects."""
    name = f"revoked-{uuid.uuid4().hex[:8]}"
    repository = lakefs.Repository(name, client=client).create(f"s3://revoked/{name}")
    main = repository.branch("main")
    for _ in range(2):
        for number in range(OBJECTS):
            main.object(f"p/{number}").upload(b"%d" % number)
    main.commit("m")
    return repository


class RevokedServer(anabranch.spark.Server):
    """A server with a key pair of its own, which is deleted before the change at index `changes`
    that a job makes there, or when `revoke` is called.
    """

    def __init__(self, client, changes=None):
        self._auth = client.sdk_client.auth_api
        self._user = self._auth.get_current_user().user.id
        self._key = self._auth.create_credentials(self._user)
        super().__init__(
            client.config.host.removesuffix("/api/v1"),
            self._key.access_key_id,
            self._key.secret_access_key,
        )
        self._left = changes
        self._change = self.client.change
        self.client.change = self._count

    def revoke(self):
        self._auth.delete_credentials(self._user, self._key.access_key_id)

    def _count(self, *arguments, **options):
        if self._left is not None:
            if self._left == 0:
                self.revoke()
            self._left -= 1
        return self._change(*arguments, **options)


@pytest.fixture
def valid(remote):
    return anabranch.spark.Server(remote.url, *remote.auth)


@pytest.fixture
def listing(spark):
    return spark.range(0, 500, 1, 2).selectExpr(
        "concat('f/', id) AS path",
        "concat('s3://elsewhere/', id) AS physical_address",
        "id AS size",
    )


def assert_explained(error, remote):
    assert error.value.message.startswith(remote.url)
    assert "no longer accepts the key pair" in error.value.message
    assert "Run it again with a key pair that is valid" in error.value.hint


def import_objects(remote, repository, listing, store):
    return anabranch.spark.import_listing(
        remote, repository.id, "main", listing, store=store, destination="in", verify="none"
    )


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("create a branch", marks=pytest.mark.slow),
        pytest.param("commit", marks=pytest.mark.slow),
        "merge",
    ],
)
def test_import_changes_no_branch_and_can_be_repeated(
    client, repository, listing, store, remote, valid, step
):
    changes = ["create a branch", "commit", "merge"].index(step)
    before = repository.branch("main").head.id
    with pytest.raises(Unauthenticated) as error:
        import_objects(RevokedServer(client, changes), repository, listing, store)
    assert_explained(error, remote)
    left = getattr(error.value, "__notes__", [])
    assert len(left) == (changes > 0)
    assert all("hidden branch import-" in note for note in left)
    assert repository.branch("main").head.id == before
    assert import_objects(valid, repository, listing, store).objects == 500
    paths = {each.path for each in repository.branch("main").objects(max_amount=1_000)}
    assert paths == {f"in/f/{n}" for n in range(500)} | {f"p/{n}" for n in range(OBJECTS)}


@pytest.mark.slow  # before it, above
def test_import_succeeds_if_the_key_is_deleted_after_the_merge(
    client, repository, listing, store, caplog
):
    """Only the hidden branch stays."""
    done = import_objects(RevokedServer(client, 3), repository, listing, store)
    assert repository.branch("main").head.id == done.commit.id
    assert "the hidden branch import-" in caplog.text


@pytest.mark.slow
def test_export_fails_or_ends_without_the_key_and_can_be_continued(
    spark, client, repository, store, remote, valid
):
    """Before the first object the key is needed; afterwards the store is enough."""
    target = f"s3://revoked/out-{uuid.uuid4().hex[:8]}"
    revoked = RevokedServer(client)
    revoked.client.get(repository.id)
    revoked.revoke()
    with pytest.raises(Unauthenticated) as error:
        anabranch.spark.export(spark, revoked, repository.id, "main", target, store=store)
    assert_explained(error, remote)
    late = RevokedServer(client)
    done = anabranch.spark.export(
        *(spark, late, repository.id, "main", target),
        store=store,
        progress=RevokingProgress(late),
    )
    assert done.stored == OBJECTS
    again = anabranch.spark.export(spark, valid, repository.id, "main", target, store=store)
    assert again.stored == 0


class RevokingProgress:
    """Deletes the key of a server when a job begins to copy."""

    def __init__(self, remote):
        self._server = remote

    def begin(self, step, _):
        if step == "copying":
            self._server.revoke()

    def advance(self, _):
        pass


def test_tables_read_by_tasks_name_the_server_and_the_reason(spark, client, repository, remote):
    revoked = RevokedServer(client)
    table = anabranch.spark.objects(spark, revoked_plain(revoked), repository.id, "main")
    revoked.revoke()
    with pytest.raises(Exception, match="no longer accepts the key pair") as error:
        table.count()
    assert remote.url in str(error.value)
    assert "Run it again with a key pair that is valid" in str(error.value)


def revoked_plain(revoked):
    """Returns a server with the same key that can be pickled."""
    key = revoked._key
    return anabranch.spark.Server(revoked.url, key.access_key_id, key.secret_access_key)


@pytest.mark.slow
def test_garbage_collection_removes_nothing_and_can_be_repeated(
    spark, client, repository, store, remote, valid, tmp_path
):
    now = {"grace_seconds": -60, "window_seconds": -60}
    revoked = RevokedServer(client)
    with open_store(store) as blocks:
        collector = Collector(
            served_installation(revoked, blocks, tmp_path), blocks, tmp_path, clock=time.time
        )
        engine = SparkEngine(spark, store, slices=2, tasks=1)
        with collector.mark(repository.id, engine=engine, **now) as run:
            assert len(addresses(run.due())) == OBJECTS
            revoked.revoke()
            with pytest.raises(Unauthenticated) as error:
                run.sweep()
        assert_explained(error, remote)
        assert run.summary.state == "failed"
        assert run.summary.swept.objects == 0
        assert len(list(blocks.list(f"s3://revoked/{repository.id}/data/"))) == 2 * OBJECTS
        time.sleep(1.1)  # ids of runs within a second are not ordered
        collector = Collector(
            served_installation(valid, blocks, tmp_path), blocks, tmp_path, clock=time.time
        )
        engine = SparkEngine(spark, store, slices=2, tasks=1)
        with collector.mark(repository.id, engine=engine, **now) as run:
            assert run.sweep().swept.objects == OBJECTS
