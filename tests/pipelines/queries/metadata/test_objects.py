"""`objects` and `object_metadata`, compared with the listing of the same reference."""

from __future__ import annotations

import pytest
from pipelines.queries.metadata.conftest import ADMIN, commit_tree, entry, listed, member

from anabranch.errors import Denied, Invalid, NotFound

REFERENCES = ["main", "main@", "main$", "main~1", "v1", "v1~1"]


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.sample(1)
def test_objects_are_those_of_the_listing(query, metadata_lake, reference):
    expected = listed(metadata_lake, reference)
    assert query(f"FROM objects('sea', '{reference}')") == expected
    assert len(expected) == {"v1~1": 0, "v1": 56, "main~1": 56, "main@": 49}.get(reference, 50)


@pytest.mark.parametrize("prefix", ["a/", "a", "b/c/0", "é/", "é", "nul\0", "none", "z" * 1024])
@pytest.mark.sample(1)
def test_a_prefix_limits_the_objects(query, metadata_lake, prefix):
    shown = prefix.replace("\0", "' || chr(0) || '")
    expected = listed(metadata_lake, "main", prefix=prefix)
    assert query(f"FROM objects('sea', 'main', '{shown}')") == expected
    assert query(f"FROM objects('sea', 'main', prefix := '{shown}')") == expected


def rows_where(rows, holds):
    return [row["path"] for row in rows if holds(row)]


def nothing(_):
    return False


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("size > 2000", lambda row: row["size"] > 2000),
        ("size BETWEEN 700 AND 900", lambda row: 700 <= row["size"] <= 900),
        ("size = 700 OR size = 7", lambda row: row["size"] in {700, 7}),
        ("NOT size < 5000", lambda row: row["size"] >= 5000),
        ("size > 9223372036854775806", nothing),
        ("size < -9223372036854775807", nothing),
        ("content_type = 'text/csv'", lambda row: row["content_type"] == "text/csv"),
        (
            "content_type = 'application/octet-stream'",
            lambda row: row["content_type"] == "application/octet-stream",
        ),
        ("content_type = ''", nothing),
        ("content_type <> 'text/csv'", lambda row: row["content_type"] != "text/csv"),
        (
            "last_modified >= TIMESTAMPTZ '2023-11-15 05:13:20.000007Z'",
            lambda row: row["last_modified"] >= "2023-11-15 05:13:20.000007",
        ),
        (
            "last_modified < '2023-11-15 05:13:20.000007+00'",
            lambda row: row["last_modified"] < "2023-11-15 05:13:20.000007",
        ),
        ("path LIKE 'a/%'", lambda row: row["path"].startswith("a/")),
        ("path LIKE 'é/%'", lambda row: row["path"].startswith("é/")),
        ("path LIKE 'a%1'", lambda row: row["path"].startswith("a") and row["path"].endswith("1")),
        ("path = 'é/03'", lambda row: row["path"] == "é/03"),
        ("path >= 'é/03' AND path < '東'", lambda row: "é/03" <= row["path"] < "東"),
        ("path > 'b/c/05'", lambda row: row["path"] > "b/c/05"),
        ("path <= 'a/05'", lambda row: row["path"] <= "a/05"),
        ("path = 'nul' || chr(0) || 'byte'", lambda row: row["path"] == "nul\0byte"),
        ("path = 'quote''\"'", lambda row: row["path"] == "quote'\""),
        ("starts_with(path, 'b/')", lambda row: row["path"].startswith("b/")),
        ("metadata['owner'] = 'team-1'", lambda row: row["metadata"].get("owner") == "team-1"),
        (
            "metadata['owner'] = 'team-1' AND metadata['n'] = '13' AND size > 3",
            lambda row: row["metadata"] == {"owner": "team-1", "n": "13"},
        ),
        (
            "metadata['owner'] = 'team-1' OR metadata['n'] = '9'",
            lambda row: row["metadata"].get("owner") == "team-1" or row["metadata"].get("n") == "9",
        ),
        (
            "metadata['owner'] <> 'team-1'",
            lambda row: row["metadata"].get("owner", "team-1") != "team-1",
        ),
        ("metadata['owner'] IS NULL", lambda row: "owner" not in row["metadata"]),
        ("metadata['OWNER'] = 'team-1'", nothing),
        ("metadata['owner'] LIKE '%-1'", lambda row: row["metadata"].get("owner") == "team-1"),
        ("metadata['owner'] LIKE 'team-%'", lambda row: "owner" in row["metadata"]),
        ("metadata['owner'] LIKE '%m-2%'", lambda row: row["metadata"].get("owner") == "team-2"),
        ("metadata['owner'] IS NOT NULL", lambda row: "owner" in row["metadata"]),
        (
            "metadata['owner'] IN ('team-1', 'team-2', 'x')",
            lambda row: row["metadata"].get("owner") in {"team-1", "team-2"},
        ),
        (
            "NOT metadata['owner'] = 'team-1'",
            lambda row: row["metadata"].get("owner", "team-1") != "team-1",
        ),
        ("metadata['it''s'] = 'a AND b'", nothing),
        ("cardinality(metadata) = 0", lambda row: not row["metadata"]),
        (
            "checksum = '00000000000000000000000000000005'",
            lambda row: row["checksum"].endswith("05"),
        ),
    ],
)
@pytest.mark.sample(4)
def test_conditions_select_what_a_filter_of_the_listing_selects(query, metadata_lake, where, holds):
    sql = f"SELECT path FROM objects('sea', 'main') WHERE {where}"
    assert [row["path"] for row in query(sql)] == rows_where(listed(metadata_lake, "main"), holds)


def test_joins_subqueries_and_views_see_the_same_rows(query, metadata_lake):
    rows = listed(metadata_lake, "main")
    with_owner = [row["path"] for row in rows if row["metadata"].get("owner") == "team-2"]
    table, condition = "objects('sea', 'main')", "metadata['owner'] = 'team-2'"
    for sql in (
        f"WITH o AS (FROM objects('sea', 'main')) SELECT path FROM o WHERE {condition}",
        f"CREATE VIEW v AS FROM objects('sea', 'main'); SELECT path FROM v WHERE {condition}",
        f"CREATE TABLE t AS FROM objects('sea', 'main') WHERE {condition}; SELECT path FROM t",
        f"SELECT l.path FROM {table} l JOIN {table} r USING (path) WHERE l.{condition}",
        f"SELECT path FROM {table} WHERE path IN (SELECT path FROM {table} WHERE {condition})",
        f"SELECT path FROM (FROM objects('sea', 'main') LIMIT 1000) WHERE {condition}",
    ):
        assert sorted(row["path"] for row in query(sql)) == sorted(with_owner), sql


def test_a_condition_on_one_use_does_not_filter_another(query, metadata_lake):
    sql = (
        "SELECT (SELECT count(*) FROM objects('sea', 'main')) AS everything, "
        "(SELECT count(*) FROM objects('sea', 'main') WHERE metadata['owner'] = 'team-2') AS part"
    )
    rows = listed(metadata_lake, "main")
    some = sum(row["metadata"].get("owner") == "team-2" for row in rows)
    assert query(sql) == [{"everything": len(rows), "part": some}]
    sql = (
        "CREATE VIEW part AS FROM objects('sea', 'main') WHERE metadata['owner'] = 'team-2'; "
        "SELECT count(*) AS n FROM part; SELECT count(*) AS n FROM objects('sea', 'main')"
    )
    assert query(sql) == [{"n": len(rows)}]


def test_object_metadata_has_a_row_for_each_pair(query, metadata_lake):
    expected = [
        {"path": row["path"], "key": key, "value": value}
        for row in listed(metadata_lake, "main")
        for key, value in sorted(row["metadata"].items())
    ]
    assert query("FROM object_metadata('sea', 'main')") == expected
    for where, kept in (
        ("key = 'owner'", lambda row: row["key"] == "owner"),
        ("value = 'team-1'", lambda row: row["value"] == "team-1"),
        ("key = 'n' AND value = '13'", lambda row: (row["key"], row["value"]) == ("n", "13")),
        ("path LIKE 'b/%'", lambda row: row["path"].startswith("b/")),
        ("key <> 'n' AND value LIKE '%2'", lambda row: row["value"] == "team-2"),
        ("key = 'n' AND key = 'owner'", nothing),
    ):
        rows = query(f"FROM object_metadata('sea', 'main') WHERE {where}")
        assert rows == [row for row in expected if kept(row)], where
    assert query(
        "SELECT value FROM object_metadata('sea', 'main') WHERE path = 'a/02' AND key = 'n'"
    )


def test_an_empty_result_has_its_types(queries):
    result = queries.query(
        *(ADMIN, "FROM objects('sea', 'v1~1')"),
        repository="sea",
        reference="main",
        tables={},
        max_rows=10,
    )
    assert result["rows"] == []
    assert [(column["name"], column["type"]) for column in result["columns"]] == [
        ("path", "VARCHAR"),
        ("physical_address", "VARCHAR"),
        ("last_modified", "TIMESTAMP WITH TIME ZONE"),
        ("size", "BIGINT"),
        ("checksum", "VARCHAR"),
        ("metadata", "MAP(VARCHAR, VARCHAR)"),
        ("content_type", "VARCHAR"),
    ]


def test_system_metadata_is_not_shown_and_not_found(query, metadata_lake):
    metadata_lake.repositories.create("hidden", "local://hidden")
    stored = entry(1, metadata={"::anabranch::sha256": "x", "k": "v"})
    commit_tree(metadata_lake, "hidden", {b"a": stored}, "one")
    assert query("SELECT metadata FROM objects('hidden', 'main')") == [{"metadata": {"k": "v"}}]
    for condition in ("metadata['::anabranch::sha256'] = 'x'", "cardinality(metadata) = 2"):
        assert query(f"SELECT path FROM objects('hidden', 'main') WHERE {condition}") == []
    sql = "FROM object_metadata('hidden', 'main') WHERE key = '::anabranch::sha256' AND value = 'x'"
    assert query(sql) == []


def test_what_is_not_utf_8_is_shown_as_in_listings(query, metadata_lake):
    """Other programs can write such entries. Each object is one row, whatever its bytes are."""
    metadata_lake.repositories.create("strange", "local://strange")
    values = {
        b"a\xff": entry(1),
        b"a\x80b": entry(2, metadata={"k": "v"}),
        b"ok": entry(3, mtime=2**62, nanos=0),
        "ü".encode(): entry(4),
    }
    commit_tree(metadata_lake, "strange", values, "one")
    rows = query("SELECT path, size, last_modified FROM objects('strange', 'main')")
    assert [row["path"] for row in rows] == ["a\ufffdb", "a\ufffd", "ok", "ü"]
    assert rows[2]["last_modified"] is None
    for where, paths in (
        ("path = 'a\ufffd'", ["a\ufffd"]),
        ("path LIKE 'a%'", ["a\ufffdb", "a\ufffd"]),
        ("path >= 'aé'", ["a\ufffdb", "a\ufffd", "ok", "ü"]),
        ("path <= 'a\U00010000'", ["a\ufffdb", "a\ufffd"]),
        ("path > 'b'", ["ok", "ü"]),
        ("last_modified > '2023-01-01 00:00:00Z'", ["a\ufffdb", "a\ufffd", "ü"]),
    ):
        rows = query(f"SELECT path FROM objects('strange', 'main') WHERE {where}")
        assert [row["path"] for row in rows] == paths, where


READ, LIST = "fs:ReadObject", "fs:ListObjects"


@pytest.mark.parametrize(
    "statements",
    [
        [("allow", READ, "/object/*")],
        [("allow", READ, "/object/a/*")],
        [("allow", READ, "/object/a*"), ("deny", READ, "/object/a/0*")],
        [("allow", READ, "/object/*"), ("deny", READ, "/object/b/c/*")],
        [("allow", READ, "/object/*"), ("deny", READ, "/object/*1")],
        [("allow", READ, "/object/*3"), ("allow", READ, "/object/é/*")],
        [("allow", READ, "/object/staged"), ("allow", READ, "/object/z*")],
        [("allow", READ, "/object/none/*")],
        [],
    ],
)
@pytest.mark.parametrize("where", ["true", "metadata['owner'] = 'team-1'", "path > 'a/05'"])
@pytest.mark.sample(2)
def test_only_readable_objects_are_rows(query, metadata_lake, statements, where):
    actor = member(("allow", LIST, ""), *statements)
    readable = metadata_lake.images.readable_paths(actor, "sea", "main", "")
    expected = listed(metadata_lake, "main", readable=readable)
    if where != "true":
        visible = {row["path"] for row in query(f"FROM objects('sea', 'main') WHERE {where}")}
        expected = [row for row in expected if row["path"] in visible]
    assert query(f"FROM objects('sea', 'main') WHERE {where}", actor=actor) == expected
    pairs = query(
        "SELECT DISTINCT path FROM object_metadata('sea', 'main') ORDER BY ALL", actor=actor
    )
    shown = {
        row["path"] for row in listed(metadata_lake, "main", readable=readable) if row["metadata"]
    }
    assert {row["path"] for row in pairs} == shown


@pytest.mark.parametrize("function", ["objects", "object_metadata"])
def test_each_repository_is_asked_for(query, metadata_lake, function):
    if "other" not in [each.id for each in metadata_lake.repositories.list(amount=100).items]:
        metadata_lake.repositories.create("other", "local://other")
    actor = member(("allow", LIST, ""), ("allow", READ, "/object/*"))
    with pytest.raises(Denied, match="insufficient permissions"):
        query(f"FROM {function}('other', 'main')", actor=actor)
    with pytest.raises(Denied):
        query(f"FROM {function}('missing', 'main')", actor=actor)
    with pytest.raises(Denied):
        query(f"FROM {function}('sea', 'main')", actor=member(("allow", READ, "/object/*")))


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ("'missing', 'main'", NotFound),
        ("'sea', 'missing'", NotFound),
        ("'sea', 'main^{x}'", Invalid),
        ("'', ''", (Invalid, NotFound)),
    ],
)
def test_wrong_names_are_errors_of_the_lake(query, arguments, error):
    for function in ("objects", "object_metadata"):
        with pytest.raises(error) as caught:
            query(f"FROM {function}({arguments})")
        assert caught.value.kind != "query_failed"
