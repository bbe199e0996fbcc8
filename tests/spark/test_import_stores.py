"""Imports by tasks into buckets, of a lake and of a server."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager
from functools import partial

import lakefs
import pytest
from lakefs.client import Client
from support.services.s3_service import CREDENTIALS

import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.errors import (
    Denied,
    DirtyBranch,
    Invalid,
    NotFound,
    NotSupported,
    PreconditionFailed,
)
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.spark.jobs.server_import_target import ServerTarget
from anabranch.spark.sources.stores import open_store
from anabranch.testing.server import running_server

pytestmark = pytest.mark.timeout(600)


def listing_at(spark, root):
    """Returns 3,000 rows of objects that are not stored, unsorted, in three partitions."""
    return spark.range(0, 3_000, 1, 3).selectExpr(
        "concat('p', lpad(id % 7, 2, '0'), '/f', lpad(id, 6, '0')) AS path",
        f"concat('{root}/', id) AS physical_address",
        "id AS size",
        "md5(string(id)) AS checksum",
        "timestamp_seconds(1700000000 + id) AS last_modified",
    )


@pytest.fixture(scope="module")
def listing(spark):
    return listing_at(spark, "s3://elsewhere")


def import_unverified(*listing, **options):
    """Imports a listing without comparing it with the store."""
    return anabranch.spark.import_listing(*listing, **{"verify": "none", **options})


@pytest.fixture
def lake(s3_service, bucket, tmp_path):
    """A lake in the bucket with the repository `sea`."""
    with lake_over(s3_service.blocks(), f"s3://{bucket}", tmp_path) as lake:
        yield lake


@contextmanager
def lake_over(blocks, root, tmp_path):
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "sea", signing_secret=b"secret"
    ) as lake:
        lake.repositories.create("sea", f"{root}/{uuid.uuid4().hex}")
        yield lake


@pytest.fixture(scope="module")
def bucket(s3_service):
    name = f"tasks-{uuid.uuid4().hex[:12]}"
    s3_service.make_bucket(name)
    return name


@pytest.fixture(scope="module")
def store(s3_service):
    return anabranch.spark.S3Store(
        endpoint=s3_service.endpoint,
        region=s3_service.region,
        access_key_id=CREDENTIALS.access_key_id,
        secret_access_key=CREDENTIALS.secret.reveal(),
        path_style=True,
    )


@pytest.fixture(scope="module")
def served(s3_service, tmp_path_factory):
    """A server with the bucket as its store, for Spark."""
    folder = tmp_path_factory.mktemp("lake")
    with running_server(folder, env=s3_service.settings) as server:
        yield anabranch.spark.Server(server.url, *server.auth)


@pytest.fixture
def repository(served, bucket):
    """A new repository of that server, as an object of the package `lakefs`."""
    return create_repository(served, f"s3://{bucket}")


def create_repository(served, root):
    keys = {"username": "AKIAJTESTTESTTESTTEQ", "password": "a-secret-that-is-known-to-every-test"}
    client = Client(host=served.url, **keys)
    name = f"repository-{uuid.uuid4().hex}"
    return lakefs.Repository(name, client=client).create(f"{root}/{name}")


def branches(repository):
    return {each.id for each in repository.branches(max_amount=100)}


def import_locally(lake, listing, **options):
    """Imports a listing with the local engine and returns the commit."""
    options = {"verify": "none", **options}
    return lake.import_listing("sea", "main", listing.toArrow(), **options).commit


def test_import_to_a_lake_in_a_bucket(spark, lake, listing, s3_service, bucket, store, tmp_path):
    with Lake(
        MemoryStore(), s3_service.blocks(), cache_folder=tmp_path / "cache", signing_secret=b"s"
    ) as remote:
        remote.repositories.create("land", f"s3://{bucket}/land")
        with pytest.raises(NotSupported, match="need access to the store") as refused:
            import_unverified(remote, "land", "main", listing)
        assert "S3Store" in refused.value.hint
        for part in (listing, listing.where("size < 50")):  # to an empty branch, and to a commit
            options = {"destination": "in", "committer": "me", "message": "m"}
            result = import_unverified(remote, "land", "main", part, store=store, **options)
            assert result.commit.metarange_id == import_locally(lake, part, **options).metarange_id
        objects = anabranch.spark.objects(spark, remote, "land", "main", store=store)
        assert objects.count() == 50


def test_import_of_a_prefix_of_a_bucket(spark, s3_service, bucket, store, tmp_path):
    names = [f"day={number % 5:02}/{number}.csv" for number in range(10)]
    names += ["top", "day=7/x", "ä b+%/\N{SNOWMAN}"]
    with Lake(
        MemoryStore(), s3_service.blocks(), cache_folder=tmp_path / "cache", signing_secret=b"s"
    ) as remote:
        root = f"s3://{bucket}/with space/{uuid.uuid4().hex}/"
        for name in names:
            remote.blocks.put(root + name, [name.encode()])
        remote.repositories.create("land", f"s3://{bucket}/prefixes")
        remote.branches.create("land", "other", "main")
        with pytest.raises(NotSupported, match="need access to the store"):
            anabranch.spark.prefix_listing(spark, remote, root)
        listing = anabranch.spark.prefix_listing(spark, remote, root, store=store, min_tasks=8)
        assert listing.rdd.getNumPartitions() > 4
        result = import_unverified(*(remote, "land", "main", listing), store=store, destination="x")
        assert result.objects == len(names)
        source = ImportSource(type="common_prefix", path=root, destination="x")
        request = ImportRequest(branch="other", sources=[source], committer="me")
        import_id = remote.imports.start("land", request)
        while not (status := remote.imports.status("land", "other", import_id)).ended:
            time.sleep(0.01)
        assert status.metarange_id == result.commit.metarange_id
        remote.blocks.put(root, [b""])  # a directory marker
        for prefix in (root, f"{root}day=0"):
            listing = anabranch.spark.prefix_listing(
                spark, remote, prefix, store=store, min_tasks=8
            )
            assert listing.count() == sum((root + each).startswith(prefix) for each in names)


def test_listing_of_a_prefix_with_most_of_the_objects_has_balanced_tasks(
    spark, lake, bucket, store
):
    names = ["cold/x", *(f"hot/{number:02}.csv" for number in range(59))]
    root = f"s3://{bucket}/skewed/{uuid.uuid4().hex}/"
    for name in names:
        lake.blocks.put(root + name, [b"x"])
    listing = anabranch.spark.prefix_listing(
        spark, lake, root, store=store, objects_per_task=4, min_tasks=4
    )
    assert {row["path"] for row in listing.select("path").collect()} == set(names)
    sizes = listing.selectExpr("spark_partition_id() AS task").groupBy("task").count().collect()
    assert max(row["count"] for row in sizes) <= 16


def test_import_through_a_server(spark, lake, listing, served, repository, store):
    result = import_unverified(
        *(served, repository.id, "main", listing), store=store, message="All", metadata={"k": "v"}
    )
    assert result.objects == 3_000
    assert result.commit.message == "All"
    assert result.commit.metadata == {"k": "v", ".lakefs.merge.strategy": "source-wins"}
    first = import_locally(lake, listing)
    assert result.commit.metarange_id == first.metarange_id
    head = repository.branch("main").head.get_commit()
    assert (head.id, len(head.parents)) == (result.commit.id, 1)
    part = listing.where("size % 2 = 0")
    second = import_unverified(
        *(served, repository.id, "main", part), store=store, destination="p03"
    ).commit
    assert second.parents == (result.commit.id,)
    assert second.metarange_id == import_locally(lake, part, destination="p03").metarange_id
    assert branches(repository) == {"main"}
    assert anabranch.spark.objects(spark, served, repository.id, "main").count() > 3_000


ACTION = b"""
name: tickets
on:
  pre-merge: {branches: [main]}
hooks:
  - {id: ticket, type: check, properties: {commit_metadata: {ticket: "FL-*"}}}
"""


def test_hooks_examine_the_merge_of_an_import_through_a_server(listing, served, repository, store):
    main = repository.branch("main")
    main.object("_lakefs_actions/tickets.yaml").upload(ACTION)
    head = main.commit("Tickets").id
    import_all = partial(
        import_unverified, *(served, repository.id, "main", listing), store=store, destination="x"
    )
    with pytest.raises(PreconditionFailed, match="pre-merge hook aborted"):
        import_all()
    assert main.head.id == head
    assert branches(repository) == {"main"}
    assert import_all(metadata={"ticket": "FL-1"}).commit.id == main.head.id != head


def test_import_to_google_cloud_storage(spark, emulated_s3, tmp_path):
    listing = listing_at(spark, "gs://elsewhere")
    store = anabranch.spark.GoogleStore(
        credentials_json=emulated_s3.google.file, endpoint=emulated_s3.endpoint
    )
    emulated_s3.make_bucket("tasks-of-google")
    with running_server(tmp_path, env=emulated_s3.google_settings) as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        repository = create_repository(served, "gs://tasks-of-google")
        result = import_unverified(served, repository.id, "main", listing, store=store).commit
        with lake_over(emulated_s3.gcs_blocks(), "gs://tasks-of-google", tmp_path) as lake:
            assert result.metarange_id == import_locally(lake, listing).metarange_id
        assert len(list(repository.branch("main").objects(max_amount=10))) == 10


def test_import_to_azure_blob_storage(spark, azure, tmp_path):
    settings = azure.settings
    names = ("STORAGE_ACCOUNT", "STORAGE_ACCESS_KEY", "TEST_ENDPOINT_URL")
    account, key, endpoint = (settings[f"ANABRANCH_BLOCKSTORE_AZURE_{name}"] for name in names)
    store = anabranch.spark.AzureStore(account=account, access_key=key, endpoint=endpoint)
    azure.make_container("tasks-of-azure")
    with running_server(tmp_path, env=settings) as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        root = f"https://{account}.blob.core.windows.net/tasks-of-azure"
        repository = create_repository(served, root)
        listing = listing_at(spark, f"{root}/elsewhere")
        result = import_unverified(served, repository.id, "main", listing, store=store).commit
        with lake_over(azure.blocks(), root, tmp_path) as lake:
            assert result.metarange_id == import_locally(lake, listing).metarange_id


def test_import_retries_throttled_requests(lake, listing, emulated_s3, tmp_path):
    """The store responds 503 Slow Down to the first request for each method and path."""
    emulated_s3.make_bucket("tasks-throttled")
    throttled = set()

    def throttling(environ, start):
        request = (environ["REQUEST_METHOD"], environ["PATH_INFO"])
        if request in throttled:
            return emulated_s3.pass_on(environ, start)
        throttled.add(request)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start("503 Slow Down", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SlowDown</Code></Error>"]

    store = anabranch.spark.S3Store(
        endpoint=emulated_s3.endpoint,
        access_key_id=CREDENTIALS.access_key_id,
        secret_access_key=CREDENTIALS.secret.reveal(),
        path_style=True,
    )
    blocks = emulated_s3.blocks()
    with Lake(
        MemoryStore(), blocks, cache_folder=tmp_path / "cache", signing_secret=b"s"
    ) as remote:
        remote.repositories.create("land", "s3://tasks-throttled/land")
        emulated_s3.answer = throttling
        try:
            result = import_unverified(remote, "land", "main", listing, store=store)
        finally:
            emulated_s3.answer = None
        assert result.commit.metarange_id == import_locally(lake, listing).metarange_id
        assert len([each for each in throttled if each[0] == "PUT"]) >= 2


def test_invalid_imports_through_a_server_are_refused(listing, served, repository, store):
    with pytest.raises(NotSupported, match="need access to this store"):
        import_unverified(served, repository.id, "main", listing)
    with pytest.raises(Invalid, match="committer"):
        import_unverified(served, repository.id, "main", listing, store=store, committer="me")
    with pytest.raises(NotFound):
        import_unverified(served, repository.id, "nowhere", listing, store=store)
    before = repository.branch("main").head.id
    with pytest.raises(Invalid, match="3000 rows"):
        import_unverified(
            served,
            repository.id,
            "main",
            listing.selectExpr("path", "physical_address", "-1 - size AS size"),
            store=store,
        )
    repository.branch("main").object("staged").upload(b"x")
    with pytest.raises(DirtyBranch):
        import_unverified(served, repository.id, "main", listing, store=store)
    assert repository.branch("main").head.id == before
    assert branches(repository) == {"main"}


def test_rows_are_verified_through_a_server(spark, served, repository, store, bucket):
    """By the rules of the server's store, and with the objects in it."""
    root = f"s3://{bucket}/{uuid.uuid4().hex}"
    with open_store(store) as blocks:
        for name in ("a", "b"):
            blocks.put(f"{root}/{name}", [b"12"])
    checksum = "c20ad4d76fe97759aa27a0c99bff6710"
    columns = "path STRING, physical_address STRING, size BIGINT, checksum STRING"
    good = [("a", f"{root}/a", 2, checksum)]
    wrong = [("b", f"{root}/b", 2, "0" * 32), ("c", f"{root}/c", 2, "")]
    others = [("d", "local:///etc/passwd", 1, ""), ("e", f"s3://{bucket}", 1, "")]
    import_rows = partial(
        anabranch.spark.import_listing, served, repository.id, "main", store=store
    )
    before = repository.branch("main").head.id
    listing = spark.createDataFrame([*good, *wrong], columns).repartition(2)
    with pytest.raises(Invalid, match="2 of 3 rows that were looked up"):
        import_rows(listing)
    listing = spark.createDataFrame([*good, *wrong, *others], columns).repartition(2)
    with pytest.raises(Invalid, match="1 with an address of another store"):
        import_rows(listing)
    assert repository.branch("main").head.id == before
    result = import_rows(listing, verify="all", unfit="skip")
    assert (result.objects, result.skipped) == (
        1,
        {
            "an ETag that is not the object's": 1,
            "an address of another store": 1,
            "an address that no object of the store can have": 1,
            "an object that is not stored": 1,
        },
    )
    assert repository.branch("main").object("a").reader().read() == b"12"


def test_server_refuses_folders_that_only_the_store_of_the_workers_allows(spark, tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a").write_bytes(b"12")
    columns = "path STRING, physical_address STRING, size BIGINT"
    listing = spark.createDataFrame([("a", f"local://{tmp_path}/raw/a", 2)], columns)
    with running_server(tmp_path / "lake") as server:
        served = anabranch.spark.Server(server.url, *server.auth)
        repository = create_repository(served, "local://of-a-server")
        blocks = LocalBlocks(tmp_path / "lake" / "block", external_prefixes=[f"{tmp_path}/raw"])
        before = repository.branch("main").head.id
        with pytest.raises(Denied, match="outside the folders that imports may read") as caught:
            anabranch.spark.import_listing(
                served, repository.id, "main", listing, store=blocks.opener()
            )
        assert caught.value.kind == "address_forbidden"
        assert repository.branch("main").head.id == before
        assert branches(repository) == {"main"}


def test_store_of_another_type_than_the_servers_is_refused(listing, served, repository):
    store = anabranch.spark.GoogleStore(endpoint=served.url)
    with pytest.raises(Invalid, match="the server's store is s3, but the given store is gs"):
        import_unverified(served, repository.id, "main", listing, store=store)


def test_concurrent_commit_before_the_merge_is_kept(
    listing, served, repository, store, monkeypatch
):
    """Another client commits after the tree was built from the previous head."""
    main = repository.branch("main")
    commit_tree, once = ServerTarget._commit_tree, []

    def late(self, name, tree, request):
        commit_tree(self, name, tree, request)
        if not once:
            once.append(name)
            main.object("theirs").upload(b"theirs")
            main.commit("Theirs")

    monkeypatch.setattr(ServerTarget, "_commit_tree", late)
    result = import_unverified(
        served, repository.id, "main", listing, store=store, destination="in"
    )
    paths = {each.path for each in main.objects(max_amount=10)}
    assert "in/p00/f000000" in paths
    assert main.object("theirs").reader().read() == b"theirs"
    assert main.head.get_commit().parents == list(result.commit.parents)
    assert branches(repository) == {"main"}


def test_objects_of_a_commit_during_the_merge_are_replaced(
    listing, served, repository, store, monkeypatch
):
    main = repository.branch("main")
    merge, once = ServerTarget._merge, []

    def late(self, name, request):
        if not once:
            once.append(name)
            for path in ("theirs", "in/theirs"):
                main.object(path).upload(b"theirs")
            main.commit("Theirs")
        return merge(self, name, request)

    monkeypatch.setattr(ServerTarget, "_merge", late)
    few = listing.where("size < 9")
    result = import_unverified(served, repository.id, "main", few, store=store, destination="in")
    paths = {each.path for each in main.objects(max_amount=20)}
    assert paths == {"theirs", *(f"in/p{size % 7:02}/f{size:06}" for size in range(9))}
    assert main.head.get_commit().id == result.commit.id
    assert [each.message for each in main.log(max_amount=3)][-1] == "Theirs"
    assert branches(repository) == {"main"}
