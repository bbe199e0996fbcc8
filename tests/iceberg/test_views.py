"""Views: definitions in dialects of SQL that branch as tables do."""

from __future__ import annotations

from .test_protocol import SCHEMA, TABLES, create, error_of, get

VIEWS = "/namespaces/city/views"


def version(number, sql, **more):
    return {
        "version-id": number,
        "timestamp-ms": 1_700_000_000_000 + number,
        "schema-id": -1,
        "summary": {"engine-name": "test"},
        "default-namespace": ["city"],
        "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
        **more,
    }


def make(lake, name="seen", reference="main", **more):
    body = {
        "name": name,
        "schema": SCHEMA,
        "view-version": version(1, "select 1 id"),
        "properties": {"owner": "ana"},
    }
    return lake.post(reference, VIEWS, body | more)


def replacement(made, sql):
    uuid = made.json()["metadata"]["view-uuid"]
    return {
        "requirements": [{"type": "assert-view-uuid", "uuid": uuid}],
        "updates": [
            {"action": "add-schema", "schema": SCHEMA},
            {"action": "add-view-version", "view-version": version(2, sql)},
            {"action": "set-current-view-version", "view-version-id": -1},
        ],
    }


def sql_of(response):
    metadata = response.json()["metadata"]
    (current,) = [
        each
        for each in metadata["versions"]
        if each["version-id"] == metadata["current-version-id"]
    ]
    return current["representations"][0]["sql"]


def test_a_view_is_made_replaced_renamed_and_dropped(lake):
    made = make(lake)
    assert "storage-credentials" not in made.json()
    assert get(lake, VIEWS).json()["identifiers"] == [{"namespace": ["city"], "name": "seen"}]
    assert get(lake, f"{VIEWS}/seen").json()["metadata"] == made.json()["metadata"]
    assert lake.http.head(lake.path("main", f"{VIEWS}/seen")).status_code == 204
    lake.post("main", f"{VIEWS}/seen", replacement(made, "select 2 id"))
    assert sql_of(get(lake, f"{VIEWS}/seen")) == "select 2 id"
    names = [{"namespace": ["city"], "name": name} for name in ("seen", "watched")]
    renaming = {"source": names[0], "destination": names[1]}
    lake.post("main", "/views/rename", renaming, status=204)
    assert sql_of(get(lake, f"{VIEWS}/watched")) == "select 2 id"
    assert error_of(get(lake, f"{VIEWS}/seen", status=404)) == "NoSuchViewException"
    assert lake.http.delete(lake.path("main", f"{VIEWS}/watched")).status_code == 204
    assert get(lake, VIEWS).json()["identifiers"] == []
    assert lake.messages()[:4] == [
        "Iceberg: drop city.watched",
        "Iceberg: rename city.seen to city.watched",
        "Iceberg: replace view city.seen",
        "Iceberg: create view city.seen",
    ]


def test_a_view_branches_with_the_lake(lake):
    made = make(lake)
    lake.branch("dev")
    lake.post("dev", f"{VIEWS}/seen", replacement(made, "select 3 id"))
    assert sql_of(get(lake, f"{VIEWS}/seen")) == "select 1 id"
    assert lake.merge("dev").status_code == 200
    assert sql_of(get(lake, f"{VIEWS}/seen")) == "select 3 id"
    lake.post("main~1", f"{VIEWS}/seen", replacement(made, "select 4 id"), status=403)


def test_a_name_is_a_table_or_a_view(lake):
    make(lake)
    taken = lake.post("main", TABLES, {"name": "seen", "schema": SCHEMA}, status=409)
    assert error_of(taken) == "AlreadyExistsException"
    create(lake, "trips")
    body = {"name": "trips", "schema": SCHEMA, "view-version": version(1, "select 1")}
    assert error_of(lake.post("main", VIEWS, body, status=409)) == "AlreadyExistsException"
    assert get(lake, f"{TABLES}/seen", status=404)


def test_a_requirement_that_does_not_hold_is_a_conflict(lake):
    made = make(lake)
    commit = replacement(made, "select 2")
    commit["requirements"][0]["uuid"] = "00000000-0000-4000-8000-000000000000"
    refused = lake.post("main", f"{VIEWS}/seen", commit, status=409)
    assert error_of(refused) == "CommitFailedException"
    moved = {"updates": [{"action": "set-location", "location": "file:///etc"}]}
    lake.post("main", f"{VIEWS}/seen", moved, status=400)
    body = {"name": "x", "schema": SCHEMA, "view-version": {}}
    assert error_of(lake.post("main", VIEWS, body, status=400)) == "IllegalArgumentException"
    elsewhere = make(lake, "placed", location="file:///etc").json()["metadata"]["location"]
    assert elsewhere.startswith(f"s3://{lake.name}/.tables/")


def test_a_view_keeps_its_namespace(lake):
    make(lake)
    answer = lake.http.delete(lake.path("main", "/namespaces/city"))
    assert error_of(answer) == "NamespaceNotEmptyException"
