"""The protocol itself, by plain requests: forms of answers, paging, ETags, repeated requests."""

from __future__ import annotations

import base64
import uuid

import httpx2
import msgspec
import pytest

from .conftest import ids, trips

SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "id", "type": "long", "required": False}],
}
NAMESPACES = "/namespaces"
TABLES = "/namespaces/city/tables"


def create(lake, name, **fields):
    return lake.post("main", TABLES, {"name": name, "schema": SCHEMA, **fields})


def get(lake, path, *, status=200, reference="main", headers=None, **params):
    response = lake.http.get(lake.path(reference, path), params=params, headers=headers)
    assert response.status_code == status, response.text
    return response


def error_of(response):
    error = response.json()["error"]
    assert error["code"] == response.status_code
    assert error["message"]
    return error["type"]


def property_commit(response, **updates):
    """Returns the body of a commit to the table of a response, which sets properties."""
    metadata = response.json()["metadata"]
    return {
        "requirements": [{"type": "assert-table-uuid", "uuid": metadata["table-uuid"]}],
        "updates": [{"action": "set-properties", "updates": updates}],
    }


def test_the_configuration_names_a_prefix_and_what_can_be_done(lake):
    for warehouse in (lake.name, f"lakefs://{lake.name}/main", f"{lake.name}/main/"):
        config = lake.http.get("/v1/config", params={"warehouse": warehouse}).json()
        assert config["overrides"]["prefix"] == f"{lake.name}/main"
    assert "POST /v1/{prefix}/transactions/commit" in config["endpoints"]
    assert config["idempotency-key-lifetime"] == "PT24H"
    for warehouse, status in (("", 400), ("absent", 404), (f"{lake.name}/absent", 404)):
        answer = lake.http.get("/v1/config", params={"warehouse": warehouse})
        assert answer.status_code == status, answer.text


def test_expressions_are_references_too(lake):
    create(lake, "trips")
    lake.tag("v1.0")
    for reference in ("main~1", "v1.0", "main@", "main"):
        warehouse = f"{lake.name}/{reference}"
        config = lake.http.get("/v1/config", params={"warehouse": warehouse}).json()
        prefix = config["overrides"]["prefix"]
        for form in (prefix, prefix.replace("/", "%2F")):
            answer = lake.http.get(f"/v1/{form}/namespaces")
            assert answer.status_code == 200, (form, answer.text)


@pytest.mark.parametrize("grant", ["form", "basic"])
def test_an_access_key_is_exchanged_for_a_token(lake, grant):
    key, secret = lake.server.auth
    form = {"grant_type": "client_credentials", "scope": "catalog"}
    url = f"{lake.url}/iceberg/v1/oauth/tokens"
    if grant == "form":
        answer = httpx2.post(url, data=form | {"client_id": key, "client_secret": secret})
    else:
        answer = httpx2.post(url, data=form, auth=(key, secret))
    token = answer.json()
    assert (token["token_type"], token["expires_in"] > 3600) == ("bearer", True)
    headers = {"Authorization": f"Bearer {token['access_token']}"}
    listed = httpx2.get(f"{lake.url}/iceberg{lake.path('main', NAMESPACES)}", headers=headers)
    assert listed.json()["namespaces"] == [["city"]]


def test_a_token_is_exchanged_for_itself_or_with_the_access_key(lake):
    url = f"{lake.url}/iceberg/v1/oauth/tokens"
    form = {"grant_type": "client_credentials"}
    token = httpx2.post(url, data=form, auth=lake.server.auth).json()["access_token"]
    exchange = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
    }
    same = httpx2.post(url, data=exchange, headers={"Authorization": f"Bearer {token}"}).json()
    assert (same["access_token"], same["expires_in"] > 3600) == (token, True)
    renewed = httpx2.post(url, data=exchange, auth=lake.server.auth).json()
    assert renewed["access_token"] != token
    for subject in ("x", "", token[:-2], "workspace-AKIAW-x"):
        answer = httpx2.post(url, data={**exchange, "subject_token": subject})
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_grant")


def test_wrong_credentials_are_refused(lake):
    url = f"{lake.url}/iceberg/v1/oauth/tokens"
    form = {"grant_type": "client_credentials", "client_id": "a", "client_secret": "b"}
    answer = httpx2.post(url, data=form)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    answer = httpx2.post(url, data={"grant_type": "password"})
    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}):
        answer = httpx2.get(f"{lake.url}/iceberg{lake.path('main', NAMESPACES)}", headers=headers)
        assert answer.status_code == 401
        assert error_of(answer) == "NotAuthorizedException"


def test_listings_have_pages(lake):
    names = [f"t{number}" for number in range(5)]
    for name in names:
        create(lake, name)
        lake.post("main", NAMESPACES, {"namespace": ["city", name]})
    for path, key, params in (
        (TABLES, "identifiers", {}),
        (NAMESPACES, "namespaces", {"parent": "city"}),
    ):
        token, found = "", []
        while token is not None:
            page = get(lake, path, pageSize=2, pageToken=token, **params).json()
            assert len(page[key]) <= 2
            found += [each["name"] if isinstance(each, dict) else each[-1] for each in page[key]]
            token = page["next-page-token"]
        assert found == names
        assert len(get(lake, path, **params).json()[key]) == 5
    for bad in ({"pageSize": "0"}, {"pageSize": "x"}, {"pageToken": "%"}):
        assert error_of(get(lake, TABLES, status=400, **bad)) == "BadRequestException"


@pytest.mark.parametrize(
    "name", ["a.b", "a/b", "%2F", "\x1e", "..", ".", "né 🚲", "table.json", "a%1Fb"]
)
@pytest.mark.sample(3)
def test_odd_names(lake, name):
    lake.post("main", NAMESPACES, {"namespace": [name]})
    lake.post("main", NAMESPACES, {"namespace": [name, name]})
    encoded = "".join(f"%{byte:02X}" for byte in name.encode())
    place = f"/namespaces/{encoded}%1F{encoded}/tables"
    lake.post("main", place, {"name": name, "schema": SCHEMA})
    assert [name] in get(lake, NAMESPACES).json()["namespaces"]
    inner = get(lake, NAMESPACES, parent=name).json()["namespaces"]
    assert inner == [[name, name]]
    assert get(lake, place).json()["identifiers"] == [{"namespace": [name, name], "name": name}]
    loaded = get(lake, f"{place}/{encoded}").json()
    other = {"namespace": ["city"], "name": f"{name} 2"}
    source = {"namespace": [name, name], "name": name}
    lake.post("main", "/tables/rename", {"source": source, "destination": other}, status=204)
    renamed = get(lake, f"{TABLES}/{encoded}%202").json()
    assert renamed["metadata"] == loaded["metadata"]


@pytest.mark.parametrize("names", [[], [""], ["x" * 1100], ["a"] * 40, "city", [1], None])
def test_names_that_are_none(lake, names):
    answer = lake.http.post(lake.path("main", NAMESPACES), json={"namespace": names})
    assert answer.status_code in {400, 409}, answer.text


def test_a_table_that_has_not_changed_is_not_sent_again(lake):
    create(lake, "trips")
    first = get(lake, f"{TABLES}/trips")
    etag = {"If-None-Match": first.headers["etag"]}
    assert get(lake, f"{TABLES}/trips", status=304, headers=etag).content == b""
    get(lake, f"{TABLES}/trips", status=200, headers=etag, snapshots="refs")
    lake.post("main", f"{TABLES}/trips", property_commit(first, a="1"))
    changed = get(lake, f"{TABLES}/trips", headers=etag)
    assert changed.json()["metadata"]["properties"]["a"] == "1"


def test_the_snapshots_that_refs_name(lake, table):
    table.append(trips(3))
    loaded = get(lake, f"{TABLES}/trips").json()["metadata"]
    named = get(lake, f"{TABLES}/trips", snapshots="refs").json()["metadata"]
    assert len(loaded["snapshots"]) == 2
    assert [each["snapshot-id"] for each in named["snapshots"]] == [loaded["current-snapshot-id"]]
    assert {**named, "snapshots": 0} == {**loaded, "snapshots": 0}
    assert error_of(get(lake, f"{TABLES}/trips", status=400, snapshots="x"))


def test_a_request_with_a_key_is_carried_out_once(lake):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    body = {"name": "trips", "schema": SCHEMA}
    first = lake.post("main", TABLES, body, **key)
    again = lake.post("main", TABLES, body, **key)
    assert again.json()["metadata-location"] == first.json()["metadata-location"]
    key = {"Idempotency-Key": str(uuid.uuid4())}
    commit = property_commit(first, a="1")
    once = lake.post("main", f"{TABLES}/trips", commit, **key).json()
    lake.post("main", f"{TABLES}/trips", property_commit(first, a="2"))
    assert lake.post("main", f"{TABLES}/trips", commit, **key).json() == once
    other = property_commit(first, a="3")
    refused = lake.post("main", f"{TABLES}/trips", other, status=422, **key)
    assert error_of(refused) == "UnprocessableEntityException"
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for _ in range(2):
        answer = lake.http.delete(lake.path("main", f"{TABLES}/trips"), headers=key)
        assert answer.status_code == 204
    assert lake.http.delete(lake.path("main", f"{TABLES}/trips")).status_code == 404


def test_a_commit_that_is_sent_twice_is_made_once(table):
    """As a client does that has not seen the first response, and has no key."""
    snapshots = len(table.snapshots())
    sent = []
    post = table.catalog._session.post

    def remember(url, **request):
        if url.endswith("/tables/trips"):
            sent.append((url, request))
        return post(url, **request)

    table.catalog._session.post = remember
    table.append(trips(3))
    again = post(sent[-1][0], **sent[-1][1])
    assert (again.status_code, error_of(again)) == (409, "CommitFailedException")
    assert ids(table.refresh()) == [1, 2, 3]
    assert len(table.snapshots()) == snapshots + 1


def test_several_tables_are_committed_together_or_not_at_all(lake):
    made = {name: create(lake, name) for name in ("a", "b")}
    commits = [
        {**property_commit(response, x="1"), "identifier": {"namespace": ["city"], "name": name}}
        for name, response in made.items()
    ]
    before = len(lake.messages())
    lake.post("main", "/transactions/commit", {"table-changes": commits}, status=204)
    assert lake.messages()[: len(lake.messages()) - before] == ["Iceberg: change city.a, city.b"]
    commits[1]["requirements"] = [{"type": "assert-table-uuid", "uuid": str(uuid.uuid4())}]
    commits[0]["updates"][0]["updates"] = {"x": "2"}
    refused = lake.post("main", "/transactions/commit", {"table-changes": commits}, status=409)
    assert error_of(refused) == "CommitFailedException"
    for name in made:
        assert get(lake, f"{TABLES}/{name}").json()["metadata"]["properties"]["x"] == "1"


def test_integers_beyond_a_float_are_exact(lake):
    created = create(lake, "trips")
    large = 2**63 - 25
    snapshot = {
        "snapshot-id": large,
        "sequence-number": 1,
        "timestamp-ms": created.json()["metadata"]["last-updated-ms"],
        "manifest-list": created.json()["metadata"]["location"] + "/metadata/a.avro",
        "summary": {"operation": "append"},
        "schema-id": 0,
    }
    commit = property_commit(created)
    commit["updates"] = [{"action": "add-snapshot", "snapshot": snapshot}]
    content = msgspec.json.encode(commit)
    answer = lake.http.post(lake.path("main", f"{TABLES}/trips"), content=content)
    assert answer.status_code == 200, answer.text
    assert f'"snapshot-id":{large}'.encode() in get(lake, f"{TABLES}/trips").content


def test_missing_things(lake):
    for path, kind in (
        ("/namespaces/none", "NoSuchNamespaceException"),
        ("/namespaces/none/tables", "NoSuchNamespaceException"),
        (f"{TABLES}/none", "NoSuchTableException"),
        ("/other", "NotFoundException"),
    ):
        assert error_of(get(lake, path, status=404)) == kind
    assert get(lake, NAMESPACES, status=404, reference="absent")
    assert lake.http.head(lake.path("main", f"{TABLES}/none")).status_code == 404
    assert lake.http.head(lake.path("main", "/namespaces/city")).status_code == 204
    create(lake, "trips")
    assert lake.http.head(lake.path("main", f"{TABLES}/trips")).status_code == 204


def test_metrics_are_accepted(lake):
    create(lake, "trips")
    lake.post("main", f"{TABLES}/trips/metrics", {"report-type": "scan-report"}, status=204)


def test_a_branch_that_protects_commits_keeps_its_tables(lake):
    created = create(lake, "trips")
    rules = [{"pattern": "main"}]
    answer = lake.api.put(f"{lake.root}/settings/branch_protection", json=rules)
    assert answer.status_code == 204, answer.text
    lake_again = property_commit(created, a="1")
    refused = lake.post("main", f"{TABLES}/trips", lake_again, status=403)
    assert error_of(refused) == "ForbiddenException"


def test_bodies_that_are_none(lake):
    for content in (b"", b"[", b"[]", b'{"name": 1}', b"\xff", b'{"a":' * 5000):
        answer = lake.http.post(lake.path("main", TABLES), content=content)
        assert answer.status_code == 400, (content[:20], answer.text)
        assert error_of(answer) == "BadRequestException"
    token = base64.b64encode(b"\xff").decode()
    assert get(lake, TABLES, status=400, pageToken=token)


def test_updates_that_change_nothing_make_no_commit(lake):
    """As engines send them that set a property to the value that it has."""
    commit = property_commit(create(lake, "trips"), a="b")
    first = lake.post("main", f"{TABLES}/trips", commit).json()
    messages = lake.messages()
    key = str(uuid.uuid4())
    for body in (commit, commit | {"updates": []}):
        for headers in ({}, {"Idempotency-Key": key}, {"Idempotency-Key": key}):
            again = lake.post("main", f"{TABLES}/trips", body, **headers).json()
            assert again["metadata-location"] == first["metadata-location"]
            assert again["metadata"] == first["metadata"]
    change = {"identifier": {"namespace": ["city"], "name": "trips"}, **commit}
    lake.post("main", "/transactions/commit", {"table-changes": [change]}, status=204)
    assert lake.messages() == messages
    assert get(lake, f"{TABLES}/trips").json()["metadata"] == first["metadata"]
