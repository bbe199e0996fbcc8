"""A merge of a table needs the rights to the table, or to its record as an object, also after it
was renamed.
"""

from __future__ import annotations

import json

import pytest

from tests.iceberg.access.test_catalog_rights import object_of
from tests.iceberg.conftest import ids, trips
from tests.server.access.conftest import allow, deny

OBJECT = "arn:lakefs:fs:::repository/{}/object/{}"


@pytest.fixture
def lake(lake_of_team):
    """A lake whose branches main and dev have both appended to a table, which was renamed."""
    lake = lake_of_team
    main = lake.catalog()
    main.create_table("city.trips", trips(1).schema).append(trips(1))
    main.rename_table("city.trips", "city.rides")
    lake.branch("dev").load_table("city.rides").append(trips(2))
    main.load_table("city.rides").append(trips(3))
    return lake


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("action", "path", "reason"),
    [
        ("fs:ReadObject", "_tables/city/rides/table.json", ""),  # nor be told of it
        ("fs:ReadObject", "_tables/city/trips/*", "another object, which you may not read"),
        ("fs:WriteObject", "_tables/city/trips/*", "you may not write to the table"),
        ("fs:WriteObject", "_tables/city/rides/table.json", "you may not write the object"),
    ],
)
def test_a_merge_lends_no_rights(team, lake, action, path, reason):
    member = team.member(allow("fs:*"), deny(action, on=OBJECT.format(lake.name, path)))
    merge = f"{lake.root}/refs/dev/merge/main"
    refused = member.api.post(merge, json={})
    assert refused.status_code == 409
    conflicts = refused.json()["conflicts"]
    assert [reason in each["reason"] for each in conflicts] == ([True] if reason else [])
    assert ids(lake.catalog().load_table("city.rides")) == [1, 3]


def test_a_merge_is_made_by_who_may_read_and_write_the_table(team, lake):
    member = team.member(allow("fs:*"))
    assert member.api.post(f"{lake.root}/refs/dev/merge/main", json={}).status_code == 200
    assert ids(lake.catalog().load_table("city.rides")) == [1, 2, 3]


@pytest.fixture
def appender(team, lake):
    """Makes a user who has rights to tables, to commits on main, and to nothing else."""

    def make(*more, tables="city/*", changed="city/*@main"):
        table = f"arn:lakefs:catalog:::table/{lake.name}"
        return team.member(
            allow("catalog:ReadTable", on=f"{table}/{tables}"),
            allow("catalog:UpdateTable", on=f"{table}/{changed}"),
            allow("fs:CreateCommit", on=f"arn:lakefs:fs:::repository/{lake.name}/branch/main"),
            *more,
        )

    return make


def merged(lake, member, **body):
    return member.api.post(f"{lake.root}/refs/dev/merge/main", json=body)


RECORD = "_tables/city/rides/table.json"


def test_rights_to_a_table_suffice_to_preview_and_to_merge_it(lake, appender):
    member = appender()
    preview = merged(lake, member, dry_run=True).json()
    assert preview["settled"] == [{"path": RECORD, "strategy": "iceberg"}]
    assert preview["conflict_count"] == 0
    assert ids(lake.catalog().load_table("city.rides")) == [1, 3]
    assert merged(lake, member).status_code == 200
    assert ids(lake.catalog().load_table("city.rides")) == [1, 2, 3]
    # as an object, the record stays closed
    at = {"path": RECORD}
    assert member.api.get(f"{lake.root}/refs/main/objects", params=at).status_code == 401
    assert member.api.get(f"{lake.root}/refs/main/objects/stat", params=at).status_code == 401


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("rights", "reason"),
    [
        ({"tables": "city/trips"}, None),  # it was renamed: it is not told of the new name
        ({"tables": "city/rides"}, "another object, which you may not read"),
        ({"changed": "city/*@dev"}, "you may not write to the table"),
        ({"changed": "city/trips@main"}, "you may not write the object"),
        ({"changed": "city/rides@main"}, "you may not write to the table"),
    ],
)
def test_rights_to_other_tables_and_branches_do_not(lake, appender, rights, reason):
    member = appender(**rights)
    refused = merged(lake, member)
    assert refused.status_code == 409
    for answer in (refused.json(), merged(lake, member, dry_run=True).json()):
        assert answer["conflict_count"] == 1
        told = answer["conflicts"]
        assert [each["path"] for each in told] == ([] if reason is None else [RECORD])
        for each in told:
            assert reason in each["reason"]
            assert [each[side] for side in ("base", "source", "destination")] == [None] * 3
    assert ids(lake.catalog().load_table("city.rides")) == [1, 3]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("path", "strategy"),
    [
        ("_tables/**", "json"),
        ("_tables/**", "iceberg"),
        ("_tables/**/table.json", "iceberg"),  # as the catalog's own
    ],
)
def test_rules_of_a_file_and_of_a_request_need_the_record_as_an_object(
    lake, appender, path, strategy
):
    rule = {"path": path, "strategy": strategy}
    assert merged(lake, appender(), resolutions=[rule]).status_code == 401
    place, content = f"{lake.root}/branches/main", f"rules: [{json.dumps(rule)}]"
    path = {"path": "_lakefs_merge.yaml"}
    assert lake.api.post(f"{place}/objects", params=path, content=content).status_code == 201
    assert lake.api.post(f"{place}/commits", json={"message": "rules"}).status_code == 201
    readable = object_of(lake, "_lakefs_merge.yaml")
    refused = merged(lake, appender(allow("fs:ReadObject", on=readable)))
    assert refused.status_code == 409
    assert "you may not read the object" in refused.json()["conflicts"][0]["reason"]
    assert ids(lake.catalog().load_table("city.rides")) == [1, 3]


def test_a_denial_of_the_object_refuses_it_to_who_has_rights_to_the_table(lake, appender):
    member = appender(deny("fs:WriteObject", on=object_of(lake, RECORD)))
    refused = merged(lake, member)
    assert refused.status_code == 409
    assert "you may not write the object" in refused.json()["conflicts"][0]["reason"]


def test_properties_of_a_namespace_are_merged_by_rights_to_it(team, lake):
    for branch in ("main", "dev"):
        lake.catalog(branch).update_namespace_properties("city", updates={branch: "1"})
    namespace = f"arn:lakefs:catalog:::namespace/{lake.name}/city"
    reading = allow("catalog:GetNamespace", on=namespace)
    rights = (
        *(allow("fs:CreateCommit"), allow("catalog:ReadTable"), allow("catalog:UpdateTable")),
        reading,
    )
    refused = merged(lake, team.member(*rights))
    assert refused.status_code == 409
    assert "you may not write the object" in refused.json()["conflicts"][0]["reason"]
    changing = allow("catalog:UpdateNamespace", on=f"{namespace}@main")
    assert merged(lake, team.member(*rights, changing)).status_code == 200
    found = lake.catalog().load_namespace_properties("city")
    assert {"main": "1", "dev": "1"}.items() <= found.items()


def test_who_may_not_load_a_namespace_is_told_of_no_properties(team, lake):
    """A denial to list objects refuses to load it, so also to be told of it by a conflict."""
    for branch in ("main", "dev"):
        lake.catalog(branch).update_namespace_properties("city", updates={"key": branch})
    rights = (
        allow("fs:CreateCommit", "catalog:ReadTable", "catalog:UpdateTable"),
        allow("catalog:GetNamespace", "catalog:UpdateNamespace"),
    )
    record = "_tables/city/namespace.json"
    told = merged(lake, team.member(*rights), dry_run=True).json()["conflicts"]
    assert [each["path"] for each in told] == [record]
    assert [each["key"] for each in told[0]["details"]] == [{"pointer": "/properties/key"}]
    member = team.member(*rights, deny("fs:ListObjects"))
    for answer in (merged(lake, member, dry_run=True), merged(lake, member)):
        assert (answer.json()["conflicts"], answer.json()["conflict_count"]) == ([], 1)


def test_a_record_that_names_another_area_reads_and_writes_none_of_it(lake, appender):
    """Who may write the record alone forges it before both sides change the table."""
    lake.catalog().create_table("city.secret", trips().schema).append(trips(7))
    place, forged = f"{lake.root}/branches/main", "_tables/city/mine/table.json"
    at = {"path": "_tables/city/secret/table.json"}
    content = lake.api.get(f"{lake.root}/refs/main/objects", params=at).content
    lake.api.post(f"{place}/objects", params={"path": forged}, content=content).raise_for_status()
    lake.api.post(f"{place}/commits", json={"message": "forged"}).raise_for_status()
    lake.branch("side").load_table("city.mine").append(trips(8))
    lake.catalog().load_table("city.mine").append(trips(9))
    secret = f"arn:lakefs:catalog:::table/{lake.name}/city/secret"
    for action, reason in (
        ("catalog:ReadTable", "another object, which you may not read"),
        ("catalog:UpdateTable", "you may not write to the table"),
    ):
        member = appender(deny(action, on=secret))
        refused = member.api.post(f"{lake.root}/refs/side/merge/main", json={})
        assert refused.status_code == 409
        (told,) = refused.json()["conflicts"]
        assert (told["path"], "details" in told) == (forged, False)
        assert reason in told["reason"]
