"""What a catalog must not believe: addresses elsewhere, forged areas, too much of everything."""

from __future__ import annotations

import copy
import json
import time

import httpx2
import pytest

from .conftest import ids, trips
from .test_protocol import SCHEMA, TABLES, create, error_of, get, property_commit


def foreign_places(lake, other):
    return [
        "file:///etc/passwd",
        "http://169.254.169.254/latest",
        "https://example.org/x",
        "s3://another-bucket/x",
        f"s3://{lake.name}/main/x",
        f"s3://{lake.name}/.tables",
        f"s3://{lake.name}/.tables/{'0' * 32}/x",
        other,
        f"{other}/metadata/a.avro",
        "",
    ]


@pytest.fixture
def made(lake):
    """The response to the creation of a table, and the location of another one."""
    other = create(lake, "other").json()["metadata"]["location"]
    return create(lake, "trips"), other


def test_addresses_outside_of_the_area_are_refused(lake, made):
    created, other = made
    own = created.json()["metadata"]["location"]
    places = [*foreign_places(lake, other), f"{own}2/x", f"{own}/../{other[-32:]}/x"]
    for place in places:
        snapshot = {
            "snapshot-id": 7,
            "sequence-number": 1,
            "timestamp-ms": created.json()["metadata"]["last-updated-ms"],
            "manifest-list": place,
            "summary": {"operation": "append"},
        }
        statistics = {
            "snapshot-id": 7,
            "statistics-path": place,
            "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
        for update in (
            {"action": "set-location", "location": place},
            {"action": "set-properties", "updates": {"write.data.path": place}},
            {"action": "set-properties", "updates": {"write.metadata.path": place}},
            {"action": "add-snapshot", "snapshot": snapshot},
            {"action": "set-statistics", "statistics": statistics},
            {"action": "set-partition-statistics", "partition-statistics": statistics},
        ):
            commit = {"requirements": [], "updates": [update]}
            refused = lake.post("main", f"{TABLES}/trips", commit, status=400)
            assert error_of(refused) == "BadRequestException", (place, update)
    assert get(lake, f"{TABLES}/trips").json()["metadata"] == created.json()["metadata"]


def test_a_location_is_not_chosen_by_the_client(lake, made):
    for number, place in enumerate(foreign_places(lake, made[1])):
        answer = create(lake, f"placed{number}", location=place).json()["metadata"]
        assert answer["location"].startswith(f"s3://{lake.name}/.tables/")
        assert answer["location"] not in {made[1], made[0].json()["metadata"]["location"]}
    body = {"name": "placed", "schema": SCHEMA, "properties": {"write.data.path": "file:///x"}}
    lake.post("main", TABLES, body, status=400)


def staged_commit(staged):
    metadata = staged["metadata"]
    return {
        "requirements": [{"type": "assert-create"}],
        "updates": [
            {"action": "assign-uuid", "uuid": metadata["table-uuid"]},
            {"action": "upgrade-format-version", "format-version": 2},
            {"action": "add-schema", "schema": metadata["schemas"][0], "last-column-id": 1},
            {"action": "set-current-schema", "schema-id": -1},
            {"action": "add-spec", "spec": metadata["partition-specs"][0]},
            {"action": "set-default-spec", "spec-id": -1},
            {"action": "add-sort-order", "sort-order": metadata["sort-orders"][0]},
            {"action": "set-default-sort-order", "sort-order-id": -1},
            {"action": "set-location", "location": metadata["location"]},
        ],
    }


def test_a_table_that_was_prepared_is_created_in_its_own_area(lake, made):
    staged = create(lake, "planned", **{"stage-create": True}).json()
    assert staged.get("metadata-location") is None
    get(lake, f"{TABLES}/planned", status=404)
    commit = staged_commit(staged)
    for place in foreign_places(lake, made[1]):
        forged = copy.deepcopy(commit)
        forged["updates"][-1]["location"] = place
        answer = lake.http.post(lake.path("main", f"{TABLES}/planned"), json=forged)
        assert answer.status_code in {400, 404}, (place, answer.text)
    lake.post("main", f"{TABLES}/stolen", commit, status=400)
    lake.post("main", f"{TABLES}/planned", commit)
    again = lake.post("main", f"{TABLES}/planned", commit, status=409)
    assert error_of(again) == "AlreadyExistsException"


def test_metadata_are_registered_from_the_repository_alone(lake, made):
    other = made[1]
    body = {"name": "taken"}
    for place in [*foreign_places(lake, other), f"s3://{lake.name}/main/../x", "s3://", "x"]:
        answer = lake.http.post(
            lake.path("main", "/namespaces/city/register"), json=body | {"metadata-location": place}
        )
        assert answer.status_code in {400, 404}, (place, answer.text)
        assert error_of(answer)


def test_what_is_no_metadata_is_not_registered(lake):
    for number, content in enumerate([b"", b"[]", b"{}", b'{"format-version": 2}', b"\xff"]):
        path = f"old/{number}.metadata.json"
        place = f"{lake.root}/branches/main/objects"
        assert lake.api.post(place, params={"path": path}, content=content).status_code == 201
        body = {"name": "taken", "metadata-location": f"s3://{lake.name}/main/{path}"}
        lake.post("main", "/namespaces/city/register", body, status=400)


def test_a_table_of_a_branch_is_registered(lake, table):
    """As tables that other catalogs have written, whose files are objects of the branch."""
    metadata = get(lake, f"{TABLES}/trips").json()["metadata"]
    text = json.dumps(metadata | {"location": f"s3://{lake.name}/main/old"})
    place = f"{lake.root}/branches/main/objects"
    params = {"path": "old/v7.metadata.json"}
    assert lake.api.post(place, params=params, content=text.encode()).status_code == 201
    location = f"s3a://{lake.name}/main/old/v7.metadata.json"
    body = {"name": "old", "metadata-location": location}
    registered = lake.post("main", "/namespaces/city/register", body).json()
    assert registered["metadata-location"].split("/")[-1].startswith("00008-")
    key, secret = lake.server.auth
    own = {"s3.access-key-id": key, "s3.secret-access-key": secret}
    old = lake.catalog(**own).load_table("city.old")
    old.append(trips(3))
    assert ids(old) == [1, 2, 3]
    assert ids(table) == [1, 2]


@pytest.mark.sample(1)
@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("kind", ["data", "metadata", "object-storage", "folder-storage"])
def test_places_of_a_registered_table_are_not_those_of_its_new_files(lake, kind):
    metadata = lake.http.get(lake.path("main", "/namespaces/city/tables/trips")).json()["metadata"]
    metadata["properties"] = {f"write.{kind}.path": "s3://elsewhere/files", "a": "b"}
    place = f"{lake.root}/branches/main/objects"
    path = {"path": "old/metadata/v1.metadata.json"}
    assert lake.api.post(place, params=path, json=metadata).status_code == 201
    body = {"name": "old", "metadata-location": f"s3://{lake.name}/main/{path['path']}"}
    lake.post("main", "/namespaces/city/register", body)
    loaded = lake.http.get(lake.path("main", "/namespaces/city/tables/old"))
    assert loaded.status_code == 200, loaded.text
    assert loaded.json()["metadata"]["properties"] == {"a": "b"}


def test_a_dropped_table_is_registered_again(lake, table):
    location = table.metadata_location
    lake.catalog().drop_table("city.trips")
    again = lake.catalog().register_table("city.trips", location)
    again.append(trips(3))
    assert ids(again) == [1, 2, 3]


def test_a_damaged_record_is_reported(lake):
    create(lake, "trips")
    place = f"{lake.root}/branches/main/objects"
    params = {"path": "_tables/city/trips/table.json"}
    for content in (
        b"",
        b"x" * (2 << 20),
        b"{}",
        b"\xff",
        b'{"format":"iceberg","uuid":"","area":"x","metadata":""}',
    ):
        assert lake.api.post(place, params=params, content=content).status_code == 201
        assert error_of(get(lake, f"{TABLES}/trips", status=422)) == "UnprocessableEntityException"


@pytest.mark.parametrize("kind", ["requirements", "updates"])
@pytest.mark.parametrize("value", [[{}], [{"type": "no"}], [{"action": "no"}], [1], {}, None, "x"])
@pytest.mark.sample(7)
def test_commits_that_are_none(lake, kind, value):
    create(lake, "trips")
    body = {"requirements": [], "updates": []} | {kind: value}
    answer = lake.http.post(lake.path("main", f"{TABLES}/trips"), json=body)
    assert answer.status_code == 400, answer.text


def test_a_body_that_is_too_large_is_refused(lake):
    created = create(lake, "trips")
    commit = property_commit(created, a="x" * (20 << 20))
    answer = lake.http.post(lake.path("main", f"{TABLES}/trips"), json=commit, timeout=120)
    assert answer.status_code in {400, 413}
    assert get(lake, f"{TABLES}/trips").json()["metadata"] == created.json()["metadata"]


@pytest.mark.slow
def test_ten_thousand_namespaces(lake):
    staged = {"anabranch.commit": "staged"}
    for number in range(10_000):
        body = {"namespace": [f"n{number:05}"], "properties": staged}
        assert lake.http.post(lake.path("main", "/namespaces"), json=body).status_code == 200
    body = {"message": "namespaces"}
    lake.api.post(f"{lake.root}/branches/main/commits", json=body)
    began = time.perf_counter()
    listed = get(lake, "/namespaces").json()["namespaces"]
    assert len(listed) == 10_001
    assert time.perf_counter() - began < 30
    page = get(lake, "/namespaces", pageSize=100).json()
    assert page["namespaces"] == listed[:100]


def put_object(lake, path, content=b"{}"):
    place = f"{lake.root}/branches/main/objects"
    answer = lake.api.post(place, params={"path": path}, content=content)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_paths_that_stand_for_no_name_are_not_listed(lake):
    """As everybody stores them who may write anywhere below `_tables/`."""
    create(lake, "trips")
    for part in ("%FF", "%74rips", "%2e", "%", "%2", "a%1f", "\N{SNOWMAN}", "x"):
        for path in (f"{part}/namespace.json", f"city/{part}/table.json"):
            put_object(lake, f"_tables/{path}")
    names = [each["name"] for each in get(lake, TABLES).json()["identifiers"]]
    assert names == ["trips", "x"]
    assert get(lake, "/namespaces").json()["namespaces"] == [["city"], ["x"]]
    page = get(lake, TABLES, pageSize=1).json()
    assert [each["name"] for each in page["identifiers"]] == ["trips"]
    rest = get(lake, TABLES, pageSize=1, pageToken=page["next-page-token"]).json()
    assert [each["name"] for each in rest["identifiers"]] == ["x"]


def test_a_record_is_read_as_far_as_its_entry_says(lake):
    """A client that stages an object by its address says how long it is."""
    created = create(lake, "trips").json()
    path = "_tables/city/trips/table.json"
    record = lake.api.get(f"{lake.root}/refs/main/objects", params={"path": path}).content
    long = put_object(lake, "long", record + b" " * (3 << 20) + b"x")
    body = {
        "physical_address": long["physical_address"],
        "checksum": "x",
        "size_bytes": len(record),
    }
    place = f"{lake.root}/branches/main/objects"
    assert lake.api.put(place, params={"path": path}, json=body).status_code == 201
    assert get(lake, f"{TABLES}/trips").json()["metadata"] == created["metadata"]


def test_a_request_for_a_token_is_short(lake):
    with httpx2.Client(base_url=f"{lake.url}/iceberg", timeout=60) as nobody:
        for length in (1 << 20, 20 << 20):
            form = b"a=b&" * (length // 4)
            answer = nobody.post("/v1/oauth/tokens", content=form)
            assert answer.status_code in {400, 413}, answer.text
            assert "longer than" in answer.text


@pytest.mark.usefixtures("table")
def test_a_registered_table_that_was_dropped_has_files_elsewhere_still(lake):
    """So no keys of its area alone are given for it."""
    metadata = get(lake, f"{TABLES}/trips").json()["metadata"]
    put_object(lake, "old/v7.metadata.json", json.dumps(metadata).encode())
    body = {"name": "old", "metadata-location": f"s3://{lake.name}/main/old/v7.metadata.json"}
    keys = {"X-Iceberg-Access-Delegation": "vended-credentials"}
    place = "/namespaces/city/register"
    first = lake.post("main", place, body, **keys).json()
    assert lake.http.delete(lake.path("main", f"{TABLES}/old")).status_code == 204
    again = {"name": "old", "metadata-location": first["metadata-location"]}
    registered = lake.post("main", place, again, **keys).json()
    loaded = get(lake, f"{TABLES}/old", headers=keys).json()
    for answer in (first, registered, loaded):
        assert "s3.access-key-id" not in answer["config"]
        assert "storage-credentials" not in answer


@pytest.mark.parametrize("mode", ["no", "", 1, ["auto"]])
def test_a_mode_of_commits_that_is_none_is_not_set(lake, mode):
    """Else no commit to the table, not even one that removes the property, would be made."""
    created = create(lake, "trips")
    wrong = {"anabranch.commit": mode}
    lake.post("main", f"{TABLES}/trips", property_commit(created, **wrong), status=400)
    lake.post("main", "/namespaces/city/properties", {"updates": wrong}, status=400)
    lake.post("main", "/namespaces", {"namespace": ["n"], "properties": wrong}, status=400)
    body = {"name": "other", "schema": SCHEMA, "properties": wrong}
    lake.post("main", TABLES, body, status=400)
    lake.post("main", f"{TABLES}/trips", property_commit(created, a="b"))


def test_a_mode_of_commits_that_is_none_can_be_mended(lake):
    """As a table has it whose namespace others have written."""
    created = create(lake, "trips")
    record = json.dumps({"properties": {"anabranch.commit": "no"}}).encode()
    put_object(lake, "_tables/city/namespace.json", record)
    body = {"message": "a namespace"}
    assert lake.api.post(f"{lake.root}/branches/main/commits", json=body).status_code == 201
    lake.post("main", f"{TABLES}/trips", property_commit(created, a="b"))
    body = {"removals": ["anabranch.commit"]}
    lake.post("main", "/namespaces/city/properties", body)
