"""Policies on tables: what they allow in the catalog, and what they deny on all ways."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx2
import pytest
from botocore.exceptions import ClientError
from pyiceberg.exceptions import ForbiddenError

from anabranch.iceberg.routes import ALL_OPERATIONS
from tests.iceberg.access.test_catalog_rights import TABLES, files_of, keys_of, minimal
from tests.iceberg.access.test_table_files import Files, area_of, code_of, s3_of
from tests.iceberg.conftest import ids, trips
from tests.server.access.conftest import allow, deny

REFUSED = {401, 403}


@pytest.fixture
def lake(lake_of_team):
    """A lake with two tables whose names begin alike, on main and dev."""
    catalog = lake_of_team.catalog()
    for name in ("city.orders", "city.orders2"):
        catalog.create_table(name, trips().schema).append(trips(1))
    lake_of_team.branch("dev")
    return lake_of_team


def on(lake, noun, name):
    return f"arn:lakefs:catalog:::{noun}/{lake.name}/{name}"


def committing(lake, branch):
    return allow("fs:CreateCommit", on=f"arn:lakefs:fs:::repository/{lake.name}/branch/{branch}")


def statuses(lake, member):
    """Returns the status of a request of each operation, by a member."""
    answers = {}
    for operation in ALL_OPERATIONS:
        method, url, body = minimal(lake, operation)
        content = {"json": body} if method == "POST" else {}
        answers[operation.id] = httpx2.request(
            method, url, auth=member.keys, timeout=60, **content
        ).status_code
    return answers


def test_no_operation_is_without_a_permission_on_tables(team, lake):
    denied = team.member(allow("*"), deny("catalog:*"))
    assert set(statuses(lake, denied).values()) == {403}


def test_permissions_on_tables_suffice_for_every_operation(team, lake):
    metadata = f"arn:lakefs:fs:::repository/{lake.name}/object/absent.metadata.json"
    member = team.member(
        allow("catalog:*"), committing(lake, "main"), allow("fs:ReadObject", on=metadata)
    )
    assert not {name for name, status in statuses(lake, member).items() if status in REFUSED}


def test_permissions_on_objects_suffice_as_before(team, lake):
    member = team.member(allow("fs:*"))
    assert not {name for name, status in statuses(lake, member).items() if status in REFUSED}


def test_a_reader_of_one_table(team, lake):
    reader = team.member(
        allow("catalog:ListNamespaces", "catalog:ListTables", on=on(lake, "namespace", "*")),
        allow("catalog:ReadTable", on=on(lake, "table", "city/orders")),
    )
    catalog = lake.catalog(keys=reader.keys)
    assert catalog.list_namespaces() == [("city",)]
    assert catalog.list_tables("city") == [("city", "orders")]
    table = catalog.load_table("city.orders")
    assert ids(table) == [1]
    for name in ("city.orders2", "city.absent"):
        with pytest.raises(ForbiddenError):
            catalog.load_table(name)
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        table.append(trips(2))
    with pytest.raises(ForbiddenError):
        catalog.drop_table("city.orders")
    # other ways are as closed as before
    record = f"{lake.root}/refs/main/objects?path=_tables/city/orders/table.json"
    assert reader.api.get(record).status_code == 401
    assert reader.api.get(f"{lake.root}/refs/main/objects/ls").status_code == 401
    with pytest.raises(ClientError, match="AccessDenied"):
        reader.s3.get_object(Bucket=lake.name, Key="main/_tables/city/orders/table.json")
    own = Files(reader.s3, lake.name, area_of(lake, "orders"))
    assert own.names()[0]
    other = Files(reader.s3, lake.name, area_of(lake, "orders2"))
    assert code_of(other.names) == "AccessDenied"


def test_a_writer_of_tables_on_one_branch(team, lake):
    changing = ("catalog:CreateTable", "catalog:UpdateTable", "catalog:DeleteTable")
    writer = team.member(
        allow("catalog:List*", "catalog:Get*", "catalog:Read*"),
        allow(*changing, on=on(lake, "table", "city/*@dev")),
        committing(lake, "dev"),
        committing(lake, "main"),
    )
    dev = lake.catalog("dev", keys=writer.keys)
    dev.load_table("city.orders").append(trips(2))
    dev.create_table("city.made", trips().schema).append(trips(7))
    dev.drop_table("city.orders2")
    dev.rename_table("city.made", "city.other")
    assert ids(lake.catalog("dev").load_table("city.orders")) == [1, 2]
    assert lake.catalog("dev").list_tables("city") == [("city", "orders"), ("city", "other")]
    main = lake.catalog("main", keys=writer.keys)
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        main.load_table("city.orders").append(trips(3))
    for change in (
        main.load_table("city.orders").transaction().set_properties(a="b").commit_transaction,
        lambda: main.create_table("city.made", trips().schema),
        lambda: main.drop_table("city.orders"),
        lambda: main.rename_table("city.orders", "city.third"),
    ):
        with pytest.raises(ForbiddenError):
            change()
    with pytest.raises(ForbiddenError):
        dev.create_namespace("town")
    # an ordinary key names no branch, so it stores no file of the table
    own = Files(writer.s3, lake.name, area_of(lake, "orders"))
    assert code_of(lambda: own.put("data/x", b"x")) == "AccessDenied"


def test_the_policy_of_the_page(team, lake):
    page = Path(__file__).parents[3] / "docs" / "iceberg.md"
    (block,) = re.findall(r"```json\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    statements = json.loads(block.replace("/rides/", f"/{lake.name}/"))["statement"]
    lake.branch("night")
    program = team.member(*statements, committing(lake, "night"))
    night = lake.catalog("night", keys=program.keys)
    night.load_table("city.orders").append(trips(2))
    night.create_table("city.made", trips().schema).append(trips(3))
    assert ids(lake.catalog("night").load_table("city.orders")) == [1, 2]
    main = lake.catalog("main", keys=program.keys)
    assert ids(main.load_table("city.orders")) == [1]
    with pytest.raises(OSError, match="ACCESS_DENIED"):
        main.load_table("city.orders").append(trips(3))
    with pytest.raises(ForbiddenError):
        night.drop_table("city.orders")


def test_commits_to_tables_need_the_right_to_commit(team, lake):
    writer = team.member(allow("catalog:*"))
    table = lake.catalog(keys=writer.keys).load_table("city.orders")
    with pytest.raises(ForbiddenError):
        table.append(trips(2))
    assert ids(lake.catalog().load_table("city.orders")) == [1]


@pytest.mark.parametrize("staged_first", [True, False])
def test_a_staged_table_lends_a_transaction_no_right_to_change_others(team, lake, staged_first):
    """Which would be left with a staged change, and so could not be committed to."""
    staged = lake.catalog().load_table("city.orders2")
    staged.transaction().set_properties(**{"anabranch.commit": "staged"}).commit_transaction()
    change = {
        "requirements": [],
        "updates": [{"action": "set-properties", "updates": {"a": "b"}}],
    }
    changes = [
        {"identifier": {"namespace": ["city"], "name": name}, **change}
        for name in ("orders2", "orders")
    ]
    body = {"table-changes": changes if staged_first else changes[::-1]}
    url = f"{lake.url}/iceberg{lake.path('main', '/transactions/commit')}"
    writer = team.member(allow("catalog:*"))
    assert httpx2.post(url, auth=writer.keys, json=body).status_code == 403
    only_staged = {"table-changes": changes[:1]}
    assert httpx2.post(url, auth=writer.keys, json=only_staged).status_code == 204
    lake.catalog().load_table("city.orders").append(trips(2))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("action", "on_table"),
    [
        ("catalog:ReadTable", True),
        ("fs:ReadObject", False),
        ("fs:*", False),
        ("*", True),
    ],
)
def test_a_denial_of_either_kind_holds_on_all_ways(team, lake, action, on_table):
    path = "_tables/city/orders/table.json"
    record = f"arn:lakefs:fs:::repository/{lake.name}/object/{path}"
    resource = on(lake, "table", "city/orders") if on_table else record
    member = team.member(allow("*"), deny(action, on=resource))
    catalog = lake.catalog(keys=member.keys)
    assert catalog.list_tables("city") == [("city", "orders2")]
    with pytest.raises(ForbiddenError):
        catalog.load_table("city.orders")
    assert code_of(Files(member.s3, lake.name, area_of(lake, "orders")).names) == "AccessDenied"
    assert member.api.get(f"{lake.root}/refs/main/objects?path={path}").status_code == 401
    listed = member.api.get(f"{lake.root}/refs/main/objects/ls?prefix=_tables/city/orders").json()
    assert [each["path"] for each in listed["results"]] == ["_tables/city/orders2/table.json"]
    with pytest.raises(ClientError, match="AccessDenied"):
        member.s3.get_object(Bucket=lake.name, Key=f"main/{path}")
    assert ids(catalog.load_table("city.orders2")) == [1]


def test_a_denial_of_writing_holds_on_all_ways(team, lake):
    member = team.member(
        allow("*"), deny("catalog:UpdateTable", on=on(lake, "table", "city/orders@main"))
    )
    path = "_tables/city/orders/table.json"
    content = member.api.get(f"{lake.root}/refs/main/objects?path={path}").content
    with pytest.raises(ForbiddenError):
        lake.catalog(keys=member.keys).load_table("city.orders").transaction().set_properties(
            a="b"
        ).commit_transaction()
    place = f"{lake.root}/branches/{{}}/objects?path={path}"
    for branch, status in (("main", 401), ("dev", 201)):
        stored = member.api.post(place.format(branch), content=content)
        assert stored.status_code == status, stored.text
    with pytest.raises(ClientError, match="AccessDenied"):
        member.s3.put_object(Bucket=lake.name, Key=f"main/{path}", Body=content)
    copied = member.api.post(
        f"{lake.root}/branches/main/objects/copy?dest_path={path}",
        json={"src_path": path, "src_ref": "dev"},
    )
    assert copied.status_code == 401, copied.text
    files = files_of(lake, keys_of(lake, "orders", member.keys), "orders")
    assert files.names()[0]
    assert code_of(lambda: files.put("data/x", b"x")) == "AccessDenied"


def test_keys_of_a_table_end_with_the_right_to_it(team, lake):
    reader = team.member(allow("catalog:ReadTable", on=on(lake, "table", "city/orders")))
    config = keys_of(lake, "orders", reader.keys)
    files = files_of(lake, config, "orders")
    files.names()
    assert code_of(lambda: files.put("data/a", b"x")) == "AccessDenied"
    other = Files(
        s3_of(lake.server, config["s3.access-key-id"], config["s3.secret-access-key"]),
        *(lake.name, area_of(lake, "orders2")),
    )
    assert code_of(other.names) == "AccessDenied"
    policies = team.admin.api.get(f"/auth/users/{reader.name}/policies").json()["results"]
    place = f"/auth/users/{reader.name}/policies/{policies[0]['id']}"
    assert team.admin.api.delete(place).status_code == 204
    assert code_of(files.names) == "AccessDenied"


def test_names_of_namespaces_are_seen_as_far_as_they_may_be(team, lake):
    lake.post("main", "/namespaces", {"namespace": ["secret"]})
    lake.post("main", "/namespaces", {"namespace": ["town"], "properties": {"a": "b"}})
    member = team.member(
        allow("catalog:ListNamespaces", on=on(lake, "namespace", "*")),
        allow("catalog:GetNamespace", on=on(lake, "namespace", "town")),
    )
    catalog = lake.catalog(keys=member.keys)
    assert catalog.list_namespaces() == [("town",)]
    assert catalog.load_namespace_properties("town") == {"a": "b"}
    with pytest.raises(ForbiddenError):
        catalog.load_namespace_properties("secret")
    with pytest.raises(ForbiddenError):
        catalog.list_tables("town")


def test_explanations_name_the_statement_of_either_kind(team, lake):
    table = on(lake, "table", "city/orders")
    record = f"arn:lakefs:fs:::repository/{lake.name}/object/_tables/city/orders/table.json"
    member = team.member(
        allow("fs:*"),
        allow("catalog:ReadTable", on=table),
        deny("catalog:UpdateTable", on=f"{table}@main"),
    )

    def explained(action, resource, **more):
        answer = team.admin.api.get(
            f"/auth/users/{member.name}/explain",
            params={"action": action, "resource": resource, **more},
        )
        assert answer.status_code == 200, answer.text
        return answer.json()["allowed"], answer.json()["statement"]

    assert explained("catalog:ReadTable", table) == (True, 2)
    assert explained("catalog:UpdateTable", table, branch="main") == (False, 3)
    assert explained("catalog:UpdateTable", f"{table}@main") == (False, 3)
    assert explained("catalog:UpdateTable", f"{table}@dev") == (True, 1)
    assert explained("catalog:UpdateTable", table) == (False, 3)
    assert explained("fs:WriteObject", record, branch="main") == (False, 3)
    assert explained("fs:WriteObject", record, branch="dev") == (True, 1)
    own = member.api.get(
        "/user/permissions",
        params={
            "action": ["catalog:UpdateTable", "catalog:ReadTable"],
            "resource": [f"{table}@dev", on(lake, "table", "*")],
        },
    ).json()["results"]
    assert [each["allowed"] for each in own] == [True, True]


def test_a_repeated_load_needs_the_right_again(team, lake):
    """The answer that nothing has changed is for readers alone."""
    url = f"{lake.url}/iceberg{lake.path('main', f'{TABLES}/orders')}"
    etag = httpx2.get(url, auth=lake.server.auth).headers["etag"]
    member = team.member(allow("*"), deny("catalog:ReadTable"))
    answer = httpx2.get(url, auth=member.keys, headers={"If-None-Match": etag})
    assert answer.status_code == 403
