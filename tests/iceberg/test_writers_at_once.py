"""Many writers of one table and of one branch, through two servers over one store."""

from __future__ import annotations

import itertools
import threading
import time

import pytest
from pyiceberg.exceptions import CommitFailedException
from support.session.sizes import sized

from anabranch.testing.server import running_server

from .conftest import Lake, ids, trips

WRITERS, ROWS = sized(4, weekly=8), sized(3, weekly=5)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    data = tmp_path_factory.mktemp("shared")
    with running_server(data) as one, running_server(data) as two:
        yield one, two


def run(works):
    """Runs functions in threads of their own, and raises the first error of them."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001  raised below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    if errors:
        raise errors[0]


def test_each_append_that_was_acknowledged_is_there_once(servers):
    lake = Lake(servers[0])
    lake.catalog().create_table("city.trips", trips().schema)
    acknowledged, numbers = [], itertools.count(1)

    def write(server):
        catalog = Lake(server, lake.name).catalog()
        for _ in range(ROWS):
            number = next(numbers)
            for _ in range(200):
                try:
                    catalog.load_table("city.trips").append(trips(number))
                except CommitFailedException:
                    continue
                acknowledged.append(number)
                break

    run([lambda number=number: write(servers[number % 2]) for number in range(WRITERS)])
    assert len(acknowledged) == WRITERS * ROWS
    for server in servers:
        assert ids(Lake(server, lake.name).catalog().load_table("city.trips")) == sorted(
            acknowledged
        )
    appended = [each for each in all_messages(lake) if each == "Iceberg: append to city.trips"]
    assert len(appended) == len(acknowledged)


def all_messages(lake):
    log = lake.api.get(f"{lake.root}/refs/main/commits", params={"amount": 1000}).json()
    return [commit["message"] for commit in log["results"]]


@pytest.mark.slow
def test_commits_to_different_tables_do_not_disturb_each_other(servers):
    lake = Lake(servers[0])
    catalog = lake.catalog()
    for number in range(WRITERS):
        catalog.create_table(f"city.t{number}", trips().schema)

    def write(number):
        table = Lake(servers[number % 2], lake.name).catalog().load_table(f"city.t{number}")
        for row in range(ROWS):
            table.append(trips(row))  # CommitFailedException would fail the test

    run([lambda number=number: write(number) for number in range(WRITERS)])
    for number in range(WRITERS):
        assert ids(catalog.load_table(f"city.t{number}")) == list(range(ROWS))


def test_of_many_creations_of_a_name_one_succeeds(servers):
    lake = Lake(servers[0])
    body = {"name": "trips", "schema": {"type": "struct", "fields": []}}
    statuses = []

    def make(server):
        client = Lake(server, lake.name).http
        path = lake.path("main", "/namespaces/city/tables")
        statuses.append(client.post(path, json=body).status_code)

    run([lambda number=number: make(servers[number % 2]) for number in range(WRITERS)])
    assert sorted(statuses) == [200, *[409] * (WRITERS - 1)]


def test_of_a_table_and_a_view_of_a_name_one_is_made(servers):
    lake = Lake(servers[0])
    schema = {"type": "struct", "schema-id": 0, "fields": []}
    query = {"type": "sql", "sql": "select 1", "dialect": "spark"}
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["city"],
        "representations": [query],
    }
    for attempt in range(4):
        name, statuses = f"trips{attempt}", []
        bodies = {
            "tables": {"name": name, "schema": schema},
            "views": {"name": name, "schema": schema, "view-version": version},
        }

        def make(number, kind, bodies=bodies, statuses=statuses):
            client = Lake(servers[number % 2], lake.name).http
            path = lake.path("main", f"/namespaces/city/{kind}")
            statuses.append(client.post(path, json=bodies[kind]).status_code)

        run([lambda n=n: make(n, ("tables", "views")[n // 2 % 2]) for n in range(WRITERS)])
        assert sorted(statuses) == [200, *[409] * (WRITERS - 1)]


@pytest.mark.slow
def test_equal_requests_at_once_are_one_staged_change(servers):
    """Those that lose do not go on trying."""
    lake = Lake(servers[0])
    schema = {"type": "struct", "fields": []}
    body = {"name": "trips", "schema": schema, "properties": {"anabranch.commit": "staged"}}
    lake.post("main", "/namespaces/city/tables", body)
    update = {"action": "set-properties", "updates": {"a": "b"}}
    began = time.monotonic()
    for attempt in range(4):
        places = []

        def change(number, places=places, key=f"key-{attempt}"):
            client = Lake(servers[number % 2], lake.name)
            commit = {"requirements": [], "updates": [update]}
            answer = client.post(
                "main", "/namespaces/city/tables/trips", commit, **{"Idempotency-Key": key}
            )
            places.append(answer.json()["metadata-location"])

        update["updates"] = {"a": str(attempt)}
        run([lambda number=number: change(number) for number in range(WRITERS)])
        assert len(set(places)) == 1
    assert time.monotonic() - began < 50
