"""Who reads tables of the catalog by the paths of their records, in each way."""

from __future__ import annotations

import json

import pytest

from tests.iceberg.access.test_table_files import Files, area_of, s3_of
from tests.iceberg.conftest import trips
from tests.server.access.conftest import allow, deny

ORDERS, SECRET = (f"_tables/city/{name}/table.json" for name in ("orders", "secret"))


@pytest.fixture
def lake(lake_of_team):
    """A lake with two tables."""
    for name in ("city.orders", "city.secret"):
        lake_of_team.catalog().create_table(name, trips().schema).append(trips(1))
    return lake_of_team


@pytest.fixture
def reader(lake, team):
    """Returns a function that makes a user who may list, and read these paths."""

    def make(*paths):
        readable = [f"arn:lakefs:fs:::repository/{lake.name}/object/{path}" for path in paths]
        everything = f"arn:lakefs:fs:::repository/{lake.name}"
        listing = allow("fs:ListObjects", "fs:ListCommits", on=everything)
        return team.member(listing, allow("fs:ReadObject", on=readable)).api

    return make


def answers(lake, api, path):
    """Returns the status of each way to read a table."""
    place = f"{lake.root}/refs/main"
    sql = f"SELECT id FROM iceberg_table('lakefs://{lake.name}/main/{path}')"
    return {
        api.get(f"{place}/tables/preview", params={"path": path}).status_code,
        api.post(f"{place}/query", json={"sql": sql, "tables": {}}).status_code,
        api.get(f"{place}/diff/main/rows", params={"path": path}).status_code,
    }


def test_the_right_to_a_record_is_that_to_the_files(lake, reader):
    api = reader("_tables/city/orders/*")
    assert answers(lake, api, ORDERS) == {200}
    assert answers(lake, api, SECRET) == {401}
    listed = api.get(f"{lake.root}/refs/main/tables").json()["results"]
    assert [each["path"] for each in listed] == [ORDERS]


def test_what_denies_the_table_denies_its_folder_too(lake, team):
    table = f"arn:lakefs:catalog:::table/{lake.name}/city/secret"
    api = team.member(allow("fs:*"), deny("catalog:ReadTable", on=table)).api
    assert answers(lake, api, ORDERS) == {200}
    assert answers(lake, api, SECRET) == {401}
    listed = api.get(f"{lake.root}/refs/main/tables").json()["results"]
    assert [each["path"] for each in listed] == [ORDERS]


def test_a_renamed_table_needs_the_rights_to_both_paths(lake, reader):
    lake.catalog().rename_table("city.secret", "city.open")
    renamed = "_tables/city/open/table.json"
    assert answers(lake, reader("_tables/city/open/*"), renamed) == {401}
    assert answers(lake, reader("_tables/city/open/*", SECRET), renamed) == {200}


def test_a_record_that_names_the_area_of_another_table_gives_nothing(lake, reader):
    record = lake.api.get(f"{lake.root}/refs/main/objects", params={"path": SECRET}).content
    place = f"{lake.root}/branches/main/objects"
    lake.api.post(place, params={"path": ORDERS}, content=record).raise_for_status()
    lake.api.post(f"{lake.root}/branches/main/commits", json={"message": "forged"})
    assert answers(lake, reader("_tables/city/orders/*"), ORDERS) == {401}


def test_who_may_not_list_reads_no_table(lake, team):
    api = team.member(allow("fs:ReadObject")).api
    place = f"{lake.root}/refs/main/tables"
    assert api.get(f"{place}/preview", params={"path": ORDERS}).status_code == 401
    assert api.get(place).status_code == 401


def reading(lake, *names):
    """Returns the statement that allows to read tables of the catalog."""
    tables = [f"arn:lakefs:catalog:::table/{lake.name}/{name}" for name in names]
    return allow("catalog:ReadTable", on=tables)


def test_the_right_to_a_table_alone_reads_it_in_each_way_and_nothing_else(lake, team):
    api = team.member(reading(lake, "city/orders")).api
    assert answers(lake, api, ORDERS) == {200}
    assert answers(lake, api, SECRET) == {401}
    place, at = f"{lake.root}/refs/main", f"lakefs://{lake.name}/main"
    sql = f"SELECT id FROM iceberg_table('{at}/{ORDERS}')"
    assert api.post(f"{place}/query", json={"sql": sql, "tables": {}}).json()["rows"] == [[1]]
    shown = api.get(f"{place}/tables/preview", params={"path": ORDERS}).json()
    file = next(_files(lake, "city.orders"))
    assert (shown["row_count"], len(shown["rows"])) == (1, 1)
    refused = [
        f"{sql} UNION ALL SELECT id FROM iceberg_table('{at}/{SECRET}')",
        f"SELECT * FROM '{at}/{ORDERS}'",
        f"SELECT * FROM read_json('{at}/{ORDERS}'), ({sql})",
        f"SELECT * FROM read_text('{at}/_tables/*/*/table.json')",
        f"SELECT * FROM '{at}/{ORDERS}/data/*.parquet'",
        f"SELECT * FROM '{at}/{ORDERS}/../secret/table.json'",
        f"SELECT * FROM '{at}/{ORDERS}/../../{file}'",
        f"SELECT * FROM delta_table('{at}/{ORDERS}')",
        "SELECT 1",
        f"SELECT 1 -- '{at}/_tables/city/table.json'",
    ]
    for statement in refused:
        answer = api.post(f"{place}/query", json={"sql": statement, "tables": {}})
        assert answer.status_code in {400, 401, 404}, statement
    own = f"SELECT id FROM read_parquet('{at}/{ORDERS}/data/{file}')"
    assert api.post(f"{place}/query", json={"sql": own, "tables": {}}).json()["rows"] == [[1]]
    listed = {"sql": sql, "tables": {"t": "_tables/city/orders/*"}}
    assert api.post(f"{place}/query", json=listed).status_code == 401
    for path in (ORDERS, f"{ORDERS}/data/{file}", "_tables/city/namespace.json"):
        assert api.get(f"{place}/objects", params={"path": path}).status_code == 401
        assert api.get(f"{place}/objects/preview", params={"path": path}).status_code == 401
    assert api.get(place.removesuffix("main") + "main/objects/ls").status_code == 401


def _files(lake, name):
    """Yields the names of the data files of a table."""
    files = lake.catalog().load_table(name).inspect.files()
    yield from (each.rpartition("/")[2] for each in files["file_path"].to_pylist())


def test_the_sql_of_a_view_is_read_by_the_right_to_the_view(lake, team):
    version = {
        "version-id": 1,
        "timestamp-ms": 1,
        "schema-id": 0,
        "summary": {},
        "default-namespace": ["city"],
        "representations": [{"type": "sql", "sql": "select 1 as id", "dialect": "spark"}],
    }
    schema = {
        "type": "struct",
        "fields": [{"id": 1, "name": "id", "type": "int", "required": True}],
    }
    for name in ("seen", "hidden"):
        body = {"name": name, "schema": schema, "view-version": version, "properties": {}}
        lake.post("main", "/namespaces/city/views", body)
    views, place = (
        f"arn:lakefs:catalog:::view/{lake.name}/city",
        f"{lake.root}/refs/main/tables/view",
    )
    seen, hidden = (f"_tables/city/{name}/view.json" for name in ("seen", "hidden"))
    named = allow("catalog:ReadView", on=f"{views}/seen")
    whole = allow("fs:ReadObject")
    for statements, opened in (
        ([named], {seen}),
        ([whole], {seen, hidden}),
        ([whole, deny("catalog:ReadView", on=f"{views}/seen")], {hidden}),
        ([named, deny("fs:ReadObject")], set()),
        ([reading(lake, "*")], set()),
    ):
        api = team.member(*statements).api
        for path in (seen, hidden):
            answer = api.get(place, params={"path": path})
            assert answer.status_code == (200 if path in opened else 401), (statements, path)
            assert path not in opened or answer.json()["sql"][0]["sql"] == "select 1 as id"
    administrator = {"params": {"path": ORDERS}}
    assert lake.api.get(place, **administrator).status_code == 400
    lake.api.post(f"{lake.root}/branches/main/objects", params={"path": seen}, content=b"{}")
    assert lake.api.get(place, params={"path": seen}).status_code == 500
    assert lake.api.get(place, params={"path": seen}).json()["message"]


def test_rows_of_records_that_are_no_tables_need_the_right_to_the_object(lake, team):
    member = team.member(allow("catalog:*")).api
    place = f"{lake.root}/refs/main/diff/main/rows"
    for path in ("_tables/city/namespace.json", "_tables/city/orders/view.json", "table.json"):
        assert member.get(place, params={"path": path}).status_code == 401, path


@pytest.mark.parametrize(
    "denied", ["catalog:ReadTable", "fs:ReadObject", "fs:ListObjects", "catalog:*", "fs:*"]
)
def test_a_denial_of_either_kind_refuses_each_way(lake, team, denied):
    api = team.member(reading(lake, "*"), deny(denied)).api
    place = f"{lake.root}/refs/main"
    sql = f"SELECT id FROM iceberg_table('lakefs://{lake.name}/main/{ORDERS}')"
    assert api.get(f"{place}/tables/preview", params={"path": ORDERS}).status_code == 401
    assert api.post(f"{place}/query", json={"sql": sql, "tables": {}}).status_code == 401
    if denied != "fs:ListObjects":  # which the difference of rows has never needed
        answer = api.get(f"{place}/diff/main/rows", params={"path": ORDERS})
        assert answer.status_code == 401


def test_names_that_attack_are_those_of_one_table(lake, team):
    catalog = lake.catalog()
    for name in ("or@ders", "orders2", "or*ders", "a/b"):
        catalog.create_table(("city", name), trips().schema).append(trips(1))
    paths = {
        "or@ders": "_tables/city/or@ders/table.json",
        "orders2": "_tables/city/orders2/table.json",
        "or*ders": "_tables/city/or%2Aders/table.json",
        "a/b": "_tables/city/a%2Fb/table.json",
    }
    for allowed, opened in (
        ("city/orders", {ORDERS}),
        ("city/or%40ders", {paths["or@ders"]}),
        ("city/orders?", {paths["orders2"]}),
        ("city/a%2Fb", {paths["a/b"]}),
        ("other/*", set()),
    ):
        api = team.member(reading(lake, allowed)).api
        for path in (*paths.values(), ORDERS):
            wanted = {200} if path in opened else {401}
            assert answers(lake, api, path) == wanted, (allowed, path)


def test_a_renamed_or_forged_table_needs_the_right_to_both_names(lake, team):
    catalog = lake.catalog()
    catalog.rename_table("city.secret", "city.open")
    renamed = "_tables/city/open/table.json"
    assert answers(lake, team.member(reading(lake, "city/open")).api, renamed) == {401}
    both = team.member(reading(lake, "city/open", "city/secret")).api
    assert answers(lake, both, renamed) == {200}
    record = lake.api.get(f"{lake.root}/refs/main/objects", params={"path": renamed}).content
    place = f"{lake.root}/branches/main/objects"
    lake.api.post(place, params={"path": ORDERS}, content=record).raise_for_status()
    lake.api.post(f"{lake.root}/branches/main/commits", json={"message": "forged"})
    assert answers(lake, team.member(reading(lake, "city/orders")).api, ORDERS) == {401}


def test_metadata_that_name_other_files_give_none_of_them(lake, team):
    """Who writes a table chooses what its metadata name, and where they say that it is."""
    table, secret = (lake.catalog().load_table(f"city.{name}") for name in ("orders", "secret"))
    place, at = f"{lake.root}/branches/main/objects", f"{lake.root}/refs/main"
    hidden = f"s3://{lake.name}/main/hidden.avro"
    theirs = secret.metadata.snapshots[-1].manifest_list
    content = secret.io.new_input(theirs).open().read()
    lake.api.post(place, params={"path": "hidden.avro"}, content=content).raise_for_status()
    api = team.member(reading(lake, "city/orders")).api
    files = Files(s3_of(lake.server, *lake.server.auth), lake.name, area_of(lake, "orders"))
    record = lake.api.get(f"{at}/objects", params={"path": ORDERS}).json()
    metadata = json.loads(table.metadata.model_dump_json(by_alias=True))
    own, areas = table.location(), f"s3://{lake.name}/.tables"
    below = theirs.removeprefix(f"{areas}/")
    sql = f"SELECT id FROM iceberg_table('lakefs://{lake.name}/main/{ORDERS}')"
    for number, (location, address) in enumerate(
        [
            *((own, theirs), (secret.location(), theirs), (areas, theirs)),
            *((own, hidden), (f"s3://{lake.name}/main", hidden), (f"s3://{lake.name}", hidden)),
            *((own, f"{own}/../{below}"), (own, f"{own}/%2e%2e/{below}"), (own, f"../{below}")),
            *((f"{own}/..", theirs), (own, "file:///etc/passwd"), (own, "hidden.avro")),
        ]
    ):
        metadata["location"] = location
        metadata["snapshots"][-1]["manifest-list"] = address
        name = f"metadata/{number + 50:05}-forged.metadata.json"
        files.put(name, json.dumps(metadata).encode())
        forged = json.dumps(record | {"metadata": f"{own}/{name}"}).encode()
        lake.api.post(place, params={"path": ORDERS}, content=forged).raise_for_status()
        shown = api.get(f"{at}/tables/preview", params={"path": ORDERS})
        assert shown.status_code in {400, 401, 404}, (location, address, shown.text)
        answer = api.post(f"{at}/query", json={"sql": sql, "tables": {}})
        assert answer.status_code in {400, 401, 404}, (location, address, answer.text)
