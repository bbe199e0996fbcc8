"""Who may do what by the catalog, and what the keys that it gives reach."""

from __future__ import annotations

import httpx2
import pytest
from botocore.exceptions import ClientError
from pyiceberg.exceptions import ForbiddenError, NoSuchTableError

from anabranch.iceberg.routes import ALL_OPERATIONS
from tests.iceberg.access.test_table_files import Files, area_of, code_of, s3_of
from tests.iceberg.conftest import ids, trips
from tests.server.access.conftest import allow

KEYS = {"X-Iceberg-Access-Delegation": "vended-credentials"}
TABLES = "/namespaces/city/tables"


def object_of(lake, path):
    return f"arn:lakefs:fs:::repository/{lake.name}/object/{path}"


def on_branch(lake, branch):
    return f"arn:lakefs:fs:::repository/{lake.name}/branch/{branch}"


def keys_of(lake, table, auth, reference="main"):
    """Returns the settings with keys that the catalog gives a user for a table."""
    url = f"{lake.url}/iceberg{lake.path(reference, f'{TABLES}/{table}')}"
    answer = httpx2.get(url, auth=auth, headers=KEYS)
    assert answer.status_code == 200, answer.text
    return answer.json()["config"]


@pytest.fixture
def lake(lake_of_team):
    """A lake with two tables whose names begin alike."""
    catalog = lake_of_team.catalog()
    for name in ("city.orders", "city.orders2"):
        catalog.create_table(name, trips().schema).append(trips(1))
    return lake_of_team


def files_of(lake, config, table):
    s3 = s3_of(lake.server, config["s3.access-key-id"], config["s3.secret-access-key"])
    return Files(s3, lake.name, area_of(lake, table))


def minimal(lake, operation):
    """Returns a request of an operation, about the table `orders`."""
    route = operation.route.replace("/v1/", "").replace("{prefix}/", "")
    path = route.format(namespace="city", table="orders", view="seen")
    names = {"namespace": ["city"], "name": "orders"}
    body = {
        "iceberg createNamespace": {"namespace": ["made"]},
        "iceberg updateProperties": {"updates": {"a": "b"}},
        "iceberg createTable": {"name": "made", "schema": {"type": "struct", "fields": []}},
        "iceberg updateTable": {"requirements": [], "updates": []},
        "iceberg createView": {"name": "seen2", "schema": {}, "view-version": {}},
        "iceberg replaceView": {"updates": []},
        "iceberg renameTable": {"source": names, "destination": {**names, "name": "moved"}},
        "iceberg renameView": {"source": names, "destination": {**names, "name": "moved"}},
        "iceberg commitTransaction": {
            "table-changes": [{"identifier": names, "requirements": [], "updates": []}]
        },
        "iceberg registerTable": {
            "name": "made",
            "metadata-location": f"s3://{lake.name}/main/absent.metadata.json",
        },
        "iceberg signRequest": {
            "region": "us-east-1",
            "method": "GET",
            "headers": {},
            "uri": f"{lake.url}/{lake.name}/.tables/{'0' * 32}/data/a",  # there is none
        },
    }.get(operation.id, {})
    url = f"/v1/{lake.name}/main/{path}"
    if operation.id == "iceberg getConfig":
        url = f"/v1/config?warehouse={lake.name}"
    return operation.method, f"{lake.url}/iceberg{url}", body


READING = {
    "iceberg getConfig",
    "iceberg listNamespaces",
    "iceberg loadNamespaceMetadata",
    "iceberg namespaceExists",
    "iceberg listTables",
    "iceberg loadTable",
    "iceberg tableExists",
    "iceberg loadCredentials",
    "iceberg reportMetrics",
    "iceberg signRequest",
    "iceberg listViews",
    "iceberg loadView",
    "iceberg viewExists",
}


@pytest.mark.parametrize("group", ["nobody", "Viewers", "Developers"])
def test_operations_are_performed_for_exactly_the_groups_that_may(team, lake, group):
    member = team.member(groups=() if group == "nobody" else (group,))
    passed = set()
    for operation in ALL_OPERATIONS:
        method, url, body = minimal(lake, operation)
        content = {"json": body} if method == "POST" else {}
        answer = httpx2.request(method, url, auth=member.keys, timeout=60, **content)
        assert answer.status_code < 500, (operation.id, answer.text)
        if answer.status_code not in {401, 403}:
            passed.add(operation.id)
    every = {operation.id for operation in ALL_OPERATIONS}
    assert passed == {"nobody": set(), "Viewers": READING, "Developers": every}[group]


def test_a_reader_of_one_table_sees_and_reads_that_alone(team, lake):
    reader = team.member(
        allow("fs:ReadObject", on=object_of(lake, "_tables/city/orders/*")),
        allow("fs:ListObjects"),
    )
    catalog = lake.catalog(keys=reader.keys)
    assert catalog.list_namespaces() == [("city",)]
    assert catalog.list_tables("city") == [("city", "orders")]
    table = catalog.load_table("city.orders")
    assert ids(table) == [1]
    with pytest.raises(ForbiddenError):
        catalog.load_table("city.orders2")
    with pytest.raises(ForbiddenError):
        catalog.load_table("city.absent")
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        table.append(trips(2))
    with pytest.raises(ForbiddenError):
        catalog.drop_table("city.orders")


def test_a_writer_of_one_branch_writes_there(team, lake):
    lake.branch("dev")
    on = object_of(lake, "_tables/city/*")
    writer = team.member(
        allow("fs:ReadObject", on=on),
        allow("fs:ListObjects"),
        allow("fs:WriteObject", on=on, StringEquals={"lakefs:branch": ["dev"]}),
        allow("fs:CreateCommit", on=on_branch(lake, "dev")),
    )
    table = lake.catalog("dev", keys=writer.keys).load_table("city.orders")
    table.append(trips(2))
    assert ids(lake.catalog("dev").load_table("city.orders")) == [1, 2]
    main = lake.catalog("main", keys=writer.keys).load_table("city.orders")
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        main.append(trips(3))
    with pytest.raises(ForbiddenError):
        main.transaction().set_properties(a="b").commit_transaction()
    assert ids(lake.catalog().load_table("city.orders")) == [1]


def test_a_writer_without_the_right_to_commit_is_refused(team, lake):
    on = object_of(lake, "_tables/city/*")
    writer = team.member(allow("fs:ReadObject", "fs:WriteObject", on=on), allow("fs:ListObjects"))
    table = lake.catalog(keys=writer.keys).load_table("city.orders")
    with pytest.raises(ForbiddenError):
        table.append(trips(2))
    assert ids(lake.catalog().load_table("city.orders")) == [1]


def test_keys_of_a_table_reach_its_area_alone(lake):
    config = keys_of(lake, "orders", lake.server.auth)
    own, other = files_of(lake, config, "orders"), files_of(lake, config, "orders2")
    own.put("data/mine", b"x")
    assert own.get("data/mine") == b"x"
    assert "data/mine" in own.names()[0]
    s3, bucket = own.s3, lake.name
    attempts = [
        lambda: other.put("data/a", b"x"),
        lambda: other.get("metadata/a"),
        other.names,
        lambda: other.upload("data/a", b"x"),
        lambda: other.s3.delete_object(**other.key("a")),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix=".tables/"),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix=""),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix="main/"),
        lambda: s3.list_objects_v2(Bucket=bucket, Prefix=f".tables/{own.area[:-1]}"),
        lambda: s3.get_object(Bucket=bucket, Key="main/_tables/city/orders/table.json"),
        lambda: s3.put_object(Bucket=bucket, Key="main/a", Body=b"x"),
        lambda: s3.head_bucket(Bucket=bucket),
        s3.list_buckets,
        lambda: s3.create_bucket(Bucket="another-bucket"),
        lambda: s3.copy_object(Bucket=bucket, Key="main/a", CopySource=own.key("data/mine")),
    ]
    for attempt in attempts:
        with pytest.raises(ClientError) as refused:
            attempt()
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403, refused.value
    gone = s3.delete_objects(
        Bucket=bucket,
        Delete={"Objects": [{"Key": other.key("a")["Key"]}, {"Key": "main/a"}]},
    )
    assert [each["Code"] for each in gone["Errors"]] == ["AccessDenied"] * 2


def test_keys_of_a_table_are_no_credentials_elsewhere(lake):
    config = keys_of(lake, "orders", lake.server.auth)
    pair = config["s3.access-key-id"], config["s3.secret-access-key"]
    assert httpx2.get(f"{lake.url}/api/v1/repositories", auth=pair).status_code == 401
    listed = httpx2.get(f"{lake.url}/iceberg{lake.path('main', TABLES)}", auth=pair)
    assert listed.status_code == 401
    body = {"access_key_id": pair[0], "secret_access_key": pair[1]}
    assert httpx2.post(f"{lake.url}/api/v1/auth/login", json=body).status_code == 401


def test_keys_that_were_made_up_are_refused(lake):
    config = keys_of(lake, "orders", lake.server.auth)
    key, secret = config["s3.access-key-id"], config["s3.secret-access-key"]
    text, _, code = key.partition(".")
    flipped = text[:20] + ("A" if text[20] != "A" else "B") + text[21:]
    for made in (f"{flipped}.{code}", f"{text}.{code[:-1]}", f"{text}.", "TBL.", "TBLAAAA.x"):
        files = Files(s3_of(lake.server, made, secret), lake.name, area_of(lake, "orders"))
        assert code_of(files.names) == "InvalidAccessKeyId"
    files = Files(s3_of(lake.server, key, "wrong"), lake.name, area_of(lake, "orders"))
    assert code_of(files.names) == "SignatureDoesNotMatch"


def test_keys_end_with_the_right_of_their_user(team, lake):
    on = object_of(lake, "_tables/city/orders/*")
    reader = team.member(allow("fs:ReadObject", on=on))
    files = files_of(lake, keys_of(lake, "orders", reader.keys), "orders")
    files.names()
    assert code_of(lambda: files.put("data/a", b"x")) == "AccessDenied"
    policies = team.admin.api.get(f"/auth/users/{reader.name}/policies").json()["results"]
    place = f"/auth/users/{reader.name}/policies/{policies[0]['id']}"
    assert team.admin.api.delete(place).status_code == 204
    assert code_of(files.names) == "AccessDenied"
    assert team.admin.api.delete(f"/auth/users/{reader.name}").status_code == 204
    assert code_of(files.names) == "InvalidAccessKeyId"
    assert team.admin.api.post("/auth/users", json={"id": reader.name}).status_code == 201
    assert code_of(files.names) == "InvalidAccessKeyId"


@pytest.mark.sample(1)
@pytest.mark.parametrize("by_token", [False, True], ids=["key", "token"])
def test_keys_end_with_the_access_key_that_asked_for_them(team, lake, by_token):
    """A key that others have got hold of is deleted, and what they have got by it ends with it."""
    on = object_of(lake, "_tables/city/orders/*")
    reader = team.member(allow("fs:ReadObject", on=on))
    key, secret = reader.keys
    auth = httpx2.BasicAuth(key, secret)
    if by_token:
        form = {"grant_type": "client_credentials", "client_id": key, "client_secret": secret}
        token = httpx2.post(f"{lake.url}/iceberg/v1/oauth/tokens", data=form).json()
        auth = Bearer(token["access_token"])
    files = files_of(lake, keys_of(lake, "orders", auth), "orders")
    files.names()
    place = f"/auth/users/{reader.name}/credentials"
    other = team.admin.api.post(place).json()
    pair = other["access_key_id"], other["secret_access_key"]
    others = files_of(lake, keys_of(lake, "orders", pair), "orders")
    assert team.admin.api.delete(f"{place}/{key}").status_code == 204
    assert code_of(files.names) == "InvalidAccessKeyId"
    others.names()


def test_a_repeated_request_is_answered_as_far_as_the_caller_may_read_now(team, lake):
    """A table was renamed meanwhile, and another one has its name."""
    catalog = lake.catalog()
    rights = [object_of(lake, f"_tables/city/{name}/*") for name in ("orders", "moved")]
    url = f"{lake.url}/iceberg{lake.path('main', f'{TABLES}/moved')}"
    catalog.rename_table("city.orders", "city.moved")
    both = team.member(
        allow("fs:ReadObject", "fs:WriteObject", on=rights), allow("fs:CreateCommit")
    )
    body = {
        "requirements": [],
        "updates": [{"action": "set-properties", "updates": {"a": "b"}}],
    }
    headers = {"Idempotency-Key": "0197-once"}
    for _ in range(2):
        answer = httpx2.post(url, auth=both.keys, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
    policy = team.admin.api.get(f"/auth/users/{both.name}/policies").json()["results"][0]["id"]
    statements = [
        allow("fs:ReadObject", "fs:WriteObject", on=rights[1]),
        allow("fs:CreateCommit"),
    ]
    changed = team.admin.api.put(
        f"/auth/policies/{policy}", json={"id": policy, "statement": statements}
    )
    assert changed.status_code == 200, changed.text
    assert httpx2.post(url, auth=both.keys, json=body, headers=headers).status_code == 403


class Bearer(httpx2.Auth):
    """Authenticates by a token."""

    def __init__(self, token):
        self.token = token

    def auth_flow(self, request):
        request.headers["Authorization"] = f"Bearer {self.token}"
        yield request


def test_a_record_that_names_another_table_opens_nothing(team, lake):
    """As a user who may write one path does, to reach the files of another."""
    own = object_of(lake, "_tables/city/mine/*")
    thief = team.member(allow("fs:*", on=own), allow("fs:ListObjects"), allow("fs:CreateCommit"))
    secret = lake.http.get(lake.path("main", f"{TABLES}/orders2")).json()
    area = area_of(lake, "orders2")
    record = {
        "format": "iceberg",
        "uuid": secret["metadata"]["table-uuid"],
        "area": area,
        "metadata": secret["metadata-location"],
    }
    place = {"Bucket": lake.name, "Key": "main/_tables/city/mine/table.json"}
    thief.s3.put_object(**place, Body=httpx2.Request("POST", "http://a", json=record).content)
    catalog = lake.catalog(keys=thief.keys)
    with pytest.raises(ForbiddenError):
        catalog.load_table("city.mine")
    with pytest.raises(ForbiddenError):
        catalog.rename_table("city.mine", "city.mine2")
    body = {"name": "mine2", "metadata-location": secret["metadata-location"]}
    url = f"{lake.url}/iceberg{lake.path('main', '/namespaces/city/register')}"
    assert httpx2.post(url, auth=thief.keys, json=body).status_code == 403
    for metadata in ("https://example.org/x", f"s3://{lake.name}/.tables/{'0' * 32}/x", "file:/x"):
        forged = httpx2.Request("POST", "http://a", json=record | {"metadata": metadata}).content
        thief.s3.put_object(**place, Body=forged)
        answer = httpx2.get(
            f"{lake.url}/iceberg{lake.path('main', f'{TABLES}/mine')}", auth=thief.keys
        )
        assert answer.status_code == 422, answer.text
    with pytest.raises(NoSuchTableError):
        lake.catalog().load_table("city.none")


def test_a_renamed_table_needs_rights_to_both_names(team, lake):
    catalog = lake.catalog()
    catalog.rename_table("city.orders", "city.renamed")
    new, old = (object_of(lake, f"_tables/city/{name}/*") for name in ("renamed", "orders"))
    one = team.member(allow("fs:ReadObject", on=new), allow("fs:ListObjects"))
    both = team.member(allow("fs:ReadObject", on=[new, old]), allow("fs:ListObjects"))
    with pytest.raises(ForbiddenError):
        lake.catalog(keys=one.keys).load_table("city.renamed")
    assert ids(lake.catalog(keys=both.keys).load_table("city.renamed")) == [1]


def test_who_may_write_alone_learns_no_names(team, lake):
    lake.post("main", "/namespaces", {"namespace": ["hidden"]})
    body = {"name": "secret", "schema": {"type": "struct", "fields": []}}
    lake.post("main", "/namespaces/hidden/tables", body)
    hidden = object_of(lake, "_tables/hidden/*")
    no_reads = allow("fs:ReadObject", on=hidden) | {"effect": "deny"}
    everything = allow("fs:ReadObject", "fs:WriteObject", "fs:DeleteObject", "fs:CreateCommit")
    writer = team.member(everything, no_reads)

    def attempt(path, body):
        url = f"{lake.url}/iceberg{lake.path('main', path)}"
        return httpx2.post(url, auth=writer.keys, json=body)

    orders = {"namespace": ["city"], "name": "orders"}
    for name in ("secret", "none"):
        body = {"source": orders, "destination": {"namespace": ["hidden"], "name": name}}
        assert attempt("/tables/rename", body).status_code == 403
    for namespace in (["hidden"], ["hidden", "none"]):
        assert attempt("/namespaces", {"namespace": namespace}).status_code == 403


def test_keys_of_a_workspace_are_refused(lake):
    made = lake.api.post(f"{lake.root}/workspaces", json={"source": "main"}).json()
    pair = made["access_key_id"], made["secret_access_key"]
    for operation in ALL_OPERATIONS:
        method, url, body = minimal(lake, operation)
        content = {"json": body} if method == "POST" else {}
        url = url.replace("/main/", f"/{made['id']}/")
        assert httpx2.request(method, url, auth=pair, **content).status_code == 403
    files = Files(s3_of(lake.server, *pair), lake.name, area_of(lake, "orders"))
    attempts = [
        lambda: files.get("metadata/a"),
        lambda: files.put("a", b"x"),
        files.names,
        lambda: files.upload("a", b"x"),
    ]
    assert [code_of(each) for each in attempts] == ["AccessDenied"] * 4
