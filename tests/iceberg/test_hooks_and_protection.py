"""Hooks and protected branches hold for commits of tables."""

from __future__ import annotations

import pytest
from pyiceberg.exceptions import ForbiddenError

from .conftest import ids, trips

ACTION = """
name: tables only
on:
  pre-commit:
    branches: [main]
hooks:
  - id: small
    type: check
    properties:
      files:
        - {path: "_tables/city/secret/**", max_size: 1}
"""


@pytest.fixture
def checked(lake):
    """A lake whose branch main has a check of commits."""
    place = f"{lake.root}/branches/main/objects"
    params = {"path": "_lakefs_actions/tables.yaml"}
    assert lake.api.post(place, params=params, content=ACTION.encode()).status_code == 201
    body = {"message": "a check"}
    assert lake.api.post(f"{lake.root}/branches/main/commits", json=body).status_code == 201
    return lake


def test_a_hook_refuses_the_commit_of_a_table(checked):
    catalog = checked.catalog()
    with pytest.raises(ForbiddenError, match="small"):
        catalog.create_table("city.secret", trips().schema)
    assert catalog.list_tables("city") == []
    table = catalog.create_table("city.trips", trips().schema)
    table.append(trips(1))
    assert ids(catalog.load_table("city.trips")) == [1]
    with pytest.raises(ForbiddenError):
        catalog.rename_table("city.trips", "city.secret")
    runs = checked.api.get(f"{checked.root}/actions/runs").json()["results"]
    assert {run["event_type"] for run in runs} == {"pre-commit"}
    assert [run["status"] for run in runs].count("failed") == 2


def test_what_is_staged_survives_a_commit_with_hooks(checked):
    place = f"{checked.root}/branches/main/objects"
    assert checked.api.post(place, params={"path": "a.csv"}, content=b"x").status_code == 201
    checked.catalog().create_table("city.trips", trips().schema).append(trips(1))
    changes = checked.api.get(f"{checked.root}/branches/main/diff").json()["results"]
    assert [each["path"] for each in changes] == ["a.csv"]


def test_a_table_that_is_staged_is_not_committed_alone(lake, table):
    place = f"{lake.root}/branches/main/objects"
    params = {"path": "_tables/city/trips/table.json"}
    record = lake.api.get(f"{lake.root}/refs/main/objects", params=params).content
    assert lake.api.post(place, params=params, content=record).status_code == 201
    with pytest.raises(Exception, match="not committed"):
        table.append(trips(3))
    body = {"message": "the table"}
    answer = lake.api.post(f"{lake.root}/branches/main/commits", json=body)
    assert answer.status_code in {201, 400}, answer.text
    lake.api.put(f"{lake.root}/branches/main", json={"type": "reset"})
    table.refresh().append(trips(4))
    assert 4 in ids(lake.catalog().load_table("city.trips"))


def test_a_protected_branch_gets_tables_by_merges(lake, table):
    dev = lake.branch("dev")
    rules = [{"pattern": "main"}]
    assert lake.api.put(f"{lake.root}/settings/branch_protection", json=rules).status_code == 204
    with pytest.raises(ForbiddenError, match="protected"):
        table.append(trips(3))
    dev.load_table("city.trips").append(trips(3))
    assert lake.merge("dev").status_code == 200
    assert ids(lake.catalog().load_table("city.trips")) == [1, 2, 3]
