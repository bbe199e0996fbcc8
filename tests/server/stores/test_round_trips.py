"""How often each operation waits for the database and for the store of objects.

With 10 ms each way, a round trip is what an operation costs. An operation that takes another one
fails here; one that takes fewer fails too, so that the table stays true.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from support.faults.faulty_proxy import FaultyProxy

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.server.composition import Composition
from anabranch.server.config.loader import load_settings

REPOSITORY = "trips"


@pytest.fixture(scope="module")
def proxies(postgres_cluster, emulated_s3):
    endpoint = urlsplit(emulated_s3.settings["ANABRANCH_BLOCKSTORE_S3_ENDPOINT"])
    with (
        FaultyProxy(("127.0.0.1", postgres_cluster.port)) as database,
        FaultyProxy((endpoint.hostname, endpoint.port)) as store,
    ):
        yield database, store


@pytest.fixture(scope="module")
def lake(postgres_cluster, emulated_s3, proxies, tmp_path_factory):
    """A lake in this process, whose database and bucket are reached through proxies."""
    database, store = proxies
    name = postgres_cluster.make_database()
    PostgresDatabase(postgres_cluster.url(name)).migrate()
    emulated_s3.make_bucket("trips")
    environment = {
        **emulated_s3.settings,
        "ANABRANCH_BLOCKSTORE_S3_ENDPOINT": f"http://127.0.0.1:{store.port}",
        "ANABRANCH_DATABASE_TYPE": "postgres",
        "ANABRANCH_DATABASE_POSTGRES_CONNECTION_STRING": postgres_cluster.url(
            name, port=database.port
        ),
    }
    folder = tmp_path_factory.mktemp("lake")
    composition = Composition(load_settings({"data": str(folder)}, environment, None).settings)
    lake = composition.lake
    lake.repositories.create(REPOSITORY, "s3://trips/one")
    stage(lake, "main", *(f"first/{number}" for number in range(100)))
    commit(lake, "main")
    yield lake
    composition.close()


def stage(lake, branch, *paths):
    for path in paths:
        lake.objects.upload(REPOSITORY, branch, path, [b"metres"])


def commit(lake, branch):
    return lake.commits.commit(REPOSITORY, branch, message="Commit", committer="ada")


def branch(lake, name, *paths):
    lake.branches.create(REPOSITORY, name, "main")
    if paths:
        stage(lake, name, *paths)
        commit(lake, name)


OPERATIONS = {}


def operation(expected):
    def declare(function):
        OPERATIONS[function.__name__] = (function, expected)
        return function

    return declare


@operation((1, 0))
def get_branch(lake, _):
    return lambda: lake.branches.get(REPOSITORY, "main")


@operation((1, 0))
def get_repository(lake, _):
    return lambda: lake.repositories.get(REPOSITORY)


@operation((1, 0))
def stat(lake, _):
    return lambda: lake.objects.stat(REPOSITORY, "main", "first/1")


@operation((1, 1))
def get(lake, _):
    return lambda: lake.objects.open(REPOSITORY, "main", "first/1").read_bytes()


@operation((2, 0))
def list_objects(lake, _):
    return lambda: lake.objects.listing(REPOSITORY, "main", prefix="first/", amount=10)


@operation((2, 1))
def upload(lake, number):
    return lambda: stage(lake, "main", f"new-{number}")


@operation((2, 0))
def delete(lake, number):
    stage(lake, "main", f"new-{number}")
    return lambda: lake.objects.delete(REPOSITORY, "main", f"new-{number}")


# one looks for action files that are staged on the source, one whether a sweep removed its tree
@operation((4, 0))
def create_branch(lake, number):
    return lambda: lake.branches.create(REPOSITORY, f"new-{number}", "main")


@operation((2, 0))
def delete_branch(lake, number):
    branch(lake, f"gone-{number}")
    return lambda: lake.branches.delete(REPOSITORY, f"gone-{number}")


@operation((3, 0))  # one looks whether a sweep removed its tree
def create_tag(lake, number):
    return lambda: lake.tags.create(REPOSITORY, f"v{number}", "main")


@operation((4, 0))  # one reads the change as it is stored: the operation log keeps it
def reset_object(lake, number):
    stage(lake, "main", f"new-{number}")
    return lambda: lake.branches.reset(REPOSITORY, "main", "object", f"new-{number}")


@operation((5, 4))
def commit_one(lake, number):
    branch(lake, f"commit-{number}")
    stage(lake, f"commit-{number}", "new")
    return lambda: commit(lake, f"commit-{number}")


# two look for pull requests that this merges, and whether a sweep removed the source's tree
@operation((6, 2))
def merge(lake, number):
    branch(lake, f"source-{number}", f"source-{number}")
    branch(lake, f"destination-{number}", f"destination-{number}")
    return lambda: lake.refs.merge(
        REPOSITORY, f"source-{number}", f"destination-{number}", committer="ada"
    )


@operation((1, 0))
def get_commit(lake, _):
    return lambda: lake.commits.get(REPOSITORY, "main")


@operation((1, 0))
def log(lake, _):
    return lambda: lake.commits.log(REPOSITORY, "main", amount=10)


@pytest.mark.parametrize("name", OPERATIONS)
def test_round_trips(lake, proxies, name):
    prepare, expected = OPERATIONS[name]
    counts = []
    # the first learns what is read, and opens connections; on a busy machine, statements that are
    # sent together may seem to be two round trips
    for number in range(10):
        act = prepare(lake, number)
        before = [proxy.round_trips for proxy in proxies]
        act()
        counts.append(
            tuple(proxy.round_trips - begun for proxy, begun in zip(proxies, before, strict=True))
        )
        if counts[1:].count(expected) == 2:
            return
    raise AssertionError(counts)
