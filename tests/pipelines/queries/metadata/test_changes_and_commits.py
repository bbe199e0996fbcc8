"""`changes` and `commits`, compared with the differences and the log that the REST API sends."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pipelines.queries.metadata.conftest import ADMIN, listed, member, side

from anabranch.errors import Denied, Invalid, NotFound
from anabranch.model.objects.entry import physical_address
from anabranch.pipelines.metadata_columns import CHANGES, COMMITS, OBJECTS
from anabranch.pipelines.queries.metadata.metadata_tables import MetadataTables
from anabranch.pipelines.queries.query_rights import QueryRights
from anabranch.pipelines.queries.reference_views import ReferenceViews


def differences(lake, left, right, *, prefix="", readable=None):
    """Returns the rows that `changes` should have, from pages of a two-dot diff."""
    namespace = lake.repositories.get("sea").storage_namespace
    rows, after, more = [], "", True
    while more:
        page = lake.refs.diff(
            *("sea", left, right),
            two_dot=True,
            prefix=prefix,
            after=after,
            amount=5,
            readable=readable,
        )
        rows += [as_row(lake, namespace, change) for change in page.items]
        more, after = page.has_more, page.next_offset
    return rows


def as_row(lake, namespace, change):
    sides = {"left": change.left, "right": change.right}
    shown = {
        name: None
        if entry is None
        else side(
            lake.core.trees._tables.store.qualify(
                physical_address(namespace, entry.address, entry.address_type)
            ),
            entry,
        )
        for name, entry in sides.items()
    }
    return {"change": change.kind, "path": change.path, **shown}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("v1", "main"),
        ("main", "v1"),
        ("main@", "main$"),
        ("v1", "main$"),
        ("v1~1", "v1"),
        ("v1", "v1~1"),
        ("main", "main"),
    ],
)
@pytest.mark.sample(1)
def test_changes_are_those_of_the_two_dot_difference(query, metadata_lake, left, right):
    expected = differences(metadata_lake, left, right)
    assert query(f"FROM changes('sea', '{left}', '{right}')") == expected
    assert bool(expected) is (left != right)


def shrank(row):
    return row["left"] and row["right"] and row["left"]["size"] > row["right"]["size"]


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ("change = 'removed'", lambda row: row["change"] == "removed"),
        ("path LIKE 'a/%'", lambda row: row["path"].startswith("a/")),
        ("path > 'a/05' AND path <= 'b/c/07'", lambda row: "a/05" < row["path"] <= "b/c/07"),
        ("path >= 'é'", lambda row: row["path"].encode() >= "é".encode()),
        ("path = 'a-b/03'", lambda row: row["path"] == "a-b/03"),
        ('"right".size = 7', lambda row: row["right"] and row["right"]["size"] == 7),
        ("c.left.size > c.right.size", shrank),
        ('"left" IS NULL', lambda row: row["left"] is None),
    ],
)
@pytest.mark.sample(1)
def test_conditions_select_changes(query, metadata_lake, where, holds):
    expected = [row["path"] for row in differences(metadata_lake, "v1", "main$") if holds(row)]
    rows = query(f"SELECT path FROM changes('sea', 'v1', 'main$') c WHERE {where}")
    assert [row["path"] for row in rows] == expected
    assert expected


def test_a_prefix_limits_the_changes(query, metadata_lake):
    for prefix in ("b/c/", "é", "none"):
        rows = query(f"FROM changes('sea', 'v1', 'main', prefix := '{prefix}')")
        assert rows == differences(metadata_lake, "v1", "main", prefix=prefix)


def test_only_changes_of_readable_objects_are_rows(query, metadata_lake):
    actor = member(
        ("allow", "fs:ListObjects", ""),
        ("allow", "fs:ReadObject", "/object/a*"),
        ("allow", "fs:ReadObject", "/object/new"),
        ("deny", "fs:ReadObject", "/object/a/0*"),
    )
    readable = metadata_lake.images.readable_paths(actor, "sea", "", "")
    expected = differences(metadata_lake, "v1", "main", readable=readable)
    assert query("FROM changes('sea', 'v1', 'main')", actor=actor) == expected
    assert {row["path"] for row in expected} < {
        row["path"] for row in differences(metadata_lake, "v1", "main")
    }
    assert any(row["path"] == "new" for row in expected)


def test_commits_are_those_of_the_log(query, metadata_lake):
    log = metadata_lake.commits.log("sea", "main", amount=100).items
    rows = query("FROM commits('sea', 'main')")
    assert [(row["id"], row["message"], row["generation"]) for row in rows] == [
        (commit.id, commit.message, commit.generation) for commit in log
    ]
    assert [row["parents"] for row in rows] == [list(commit.parents) for commit in log]
    assert rows[0]["metadata"] == {"step": "second"}
    assert rows[0]["creation_date"] == "2023-11-14 22:14:20+00:00"
    assert rows[0]["committer"] == "admin"
    assert rows[0]["metarange_id"] == log[0].metarange_id
    assert [row["id"] for row in query("SELECT id FROM commits('sea', 'v1')")] == [
        commit.id for commit in log[1:]
    ]
    sql = "SELECT message FROM commits('sea', 'main') WHERE metadata['step'] = 'first'"
    assert query(sql) == [{"message": "first"}]


def test_the_history_needs_the_permission_of_the_log(query):
    for resource in ("/branch/main", "/branch/*"):
        actor = member(("allow", "fs:ReadBranch", resource))
        assert len(query("FROM commits('sea', 'main~0')", actor=actor)) == 3
    for statement in (
        ("allow", "fs:ReadBranch", "/branch/other"),
        ("allow", "fs:ReadCommit", "/branch/main"),
        ("allow", "fs:ListObjects", ""),
    ):
        with pytest.raises(Denied):
            query("FROM commits('sea', 'main')", actor=member(statement))


def test_changes_need_the_permission_to_list(query):
    with pytest.raises(Denied):
        query(
            "FROM changes('sea', 'v1', 'main')",
            actor=member(("allow", "fs:ReadObject", "/object/*")),
        )


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("changes('sea', 'missing', 'main')", NotFound),
        ("changes('sea', 'main', 'missing')", NotFound),
        ("changes('missing', 'main', 'main')", NotFound),
        ("changes('sea', 'main$', 'main')", Invalid),
        ("commits('sea', 'main$')", Invalid),
        ("commits('sea', 'missing')", NotFound),
    ],
)
def test_wrong_references_are_errors_of_the_lake(query, call, error):
    with pytest.raises(error):
        query(f"FROM {call}")


def test_a_snapshot_stays_when_the_branch_moves(metadata_lake):
    metadata_lake.repositories.create("moving", "local://moving")
    metadata_lake.objects.upload("moving", "main", "a", [b"1"])
    with MetadataTables(
        metadata_lake, QueryRights(metadata_lake, ADMIN), ReferenceViews(metadata_lake)
    ) as tables:
        opened = tables.open("objects", ("moving", "main", ""))
        changed = tables.open("changes", ("moving", "main", "main$", ""))
        history = tables.open("commits", ("moving", "main"))
        metadata_lake.objects.upload("moving", "main", "b", [b"2"])
        metadata_lake.commits.commit("moving", "main", message="two", committer="admin")
        for _ in range(2):
            assert rows(tables, opened, OBJECTS, ["path"]) == [{"path": "a"}]
            assert rows(tables, changed, CHANGES, ["path"]) == [{"path": "a"}]
            assert rows(tables, history, COMMITS, ["generation"]) == [{"generation": 1}]
    assert len(listed(metadata_lake, "main", repository="moving")) == 2


def rows(tables, table, schema, columns):
    """Returns the rows of a new scan."""
    scan = tables.scan(table, columns, [])
    sent = pa.schema([schema.field(name) for name in columns])
    found = []
    while (message := tables.next(scan)) is not None:
        found += pa.ipc.read_record_batch(message, sent).to_pylist()
    return found
