"""The list of tables, compared with what a search of all paths finds; bounded whatever is there."""

from __future__ import annotations

import random

import pytest

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.policies.statements import Effect, Statement
from anabranch.catalog.tables import listed_tables
from anabranch.catalog.tables.iceberg.identifiers import encode_part
from anabranch.errors import NotFound

COMMIT = f"{0:020}.json"
HADOOP, CATALOG = "v3.metadata.json", "00002-8a0b.gz.metadata.json"
TABLE_FILES = (f"_delta_log/{COMMIT}", f"metadata/{HADOOP}", f"metadata/{CATALOG}")
NAMES = (
    "a",
    "b.c",
    "b",
    "metadata",
    "_delta",
    "_delta_log",
    "é",
    "0",
    "trips",
    "z z",
    "<b>x",
    "🌊",
)


@pytest.fixture
def put(lake):
    """Uploads objects to `main`."""

    def upload(*paths):
        for path in paths:
            lake.objects.upload("sea", "main", path, [b"{}"])

    return upload


def listed(lake, reference="main", **options):
    """Returns all tables, read in pages."""
    found, after = [], ""
    while True:
        page = lake.listed_tables.page("sea", reference, after=after, **{"amount": 3, **options})
        found += page.items
        if not page.has_more:
            return found
        assert page.next_offset.encode() > after.encode()
        after = page.next_offset


def paths(items):
    return [each.table.path for each in items]


def expected(all_paths, prefix=""):
    """Returns the paths of the tables among all objects: a record, or the outermost folder that
    begins with a prefix and has a log or metadata.
    """
    found = set()
    for path in all_paths:
        parts = path.split("/")
        if path.startswith("_tables/"):
            if parts[-1] in {"table.json", "view.json"} and len(parts) > 3:
                found.add(path)
            continue
        folders = ["/".join(parts[:place]) + "/" for place in range(1, len(parts) - 1)]
        tables = [
            each for each in folders if any(f"{each}{name}" in all_paths for name in TABLE_FILES)
        ]
        found.update([each for each in tables if each.startswith(prefix)][:1])
    return sorted((each for each in found if each.startswith(prefix)), key=str.encode)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_all_tables_are_found_in_order_whatever_is_around_them(lake, put, seed):
    chance = random.Random(seed)
    made = set()
    for _ in range(150):
        folders = [chance.choice(NAMES) for _ in range(chance.randint(1, 5))]
        made.add(
            "/".join([*folders, chance.choice(["x.parquet", "metadata/1.avro", *TABLE_FILES])])
        )
    for _ in range(20):
        folders = [encode_part(chance.choice(NAMES)) for _ in range(chance.randint(1, 3))]
        made.add("/".join(["_tables", *folders, chance.choice(["table.json", "view.json"])]))
    put(*made)
    lake.commits.commit("sea", "main", message="all", committer="ada")
    wanted = expected(made)
    assert len(wanted) > 10
    assert paths(listed(lake)) == wanted
    assert paths(listed(lake, amount=1)) == wanted
    for prefix in ("a/", "b", "_tables/", "_tables/b", "z z/trips/", "_", "none/"):
        assert paths(listed(lake, prefix=prefix)) == expected(made, prefix), prefix


def test_tables_are_found_in_folders_with_many_other_names(lake, put):
    """What tells that a folder is a table is among its first names, or behind a page of them."""
    made = {f"z/metadata/{HADOOP}", f"ab/metadata/{CATALOG}", f"A/_delta_log/{COMMIT}"}
    for folder in ("A", "ab", "z", "none", "inner"):
        for number in range(60):
            made |= {f"{folder}/{letter}{number:02}/1.bin" for letter in "Akz"}
    made |= {f"inner/k{number:02}/metadata/{HADOOP}" for number in (0, 59)}
    made |= {"none/metadata/x.avro", "none/_delta_log/x.json", f"inner/zz/_delta_log/{COMMIT}"}
    put(*made)
    assert paths(listed(lake)) == expected(made)
    assert len(expected(made)) == 6
    assert paths(listed(lake, amount=1)) == expected(made)


def test_names_and_namespaces_are_decoded(lake, put):
    put("_tables/a.b/%3Cb%3E%F0%9F%8C%8A/table.json", "_tables/a%2Fb/c/d/table.json", "x/y.txt")
    put(
        "_tables/a/not%20canonical/table.json",
        "_tables/alone/table.json",
        "_tables/a/%ff/table.json",
    )
    put(f"data/<i>/_delta_log/{COMMIT}")
    put("_tables/a.b/seen/view.json", f"data/ice/metadata/{HADOOP}")
    found = [(each.table.format, *each.table[2:], each.table.is_view) for each in listed(lake)]
    assert found == [
        ("iceberg", ("a/b", "c"), "d", False),
        ("iceberg", ("a.b",), "<b>🌊", False),
        ("iceberg", ("a.b",), "seen", True),
        ("delta", (), "data/<i>", False),
        ("iceberg", (), "data/ice", False),
    ]
    assert [each.table.in_catalog for each in listed(lake)] == [True] * 3 + [False] * 2


def test_the_last_commit_that_changed_a_table_is_told(lake, put):
    put("_tables/city/trips/table.json", f"data/t/_delta_log/{COMMIT}", "data/t/1.parquet")
    first = lake.commits.commit("sea", "main", message="first", committer="ada")
    put("data/t/2.parquet", "other.txt")
    second = lake.commits.commit("sea", "main", message="second", committer="ada")
    put("more.txt")
    lake.commits.commit("sea", "main", message="third", committer="ada")
    put("_tables/city/staged/table.json", f"data/staged/_delta_log/{COMMIT}")
    put("_tables/city/view/view.json", f"data/ice/metadata/{HADOOP}")
    found = {each.table.path: each.commit and each.commit.id for each in listed(lake)}
    assert found == {
        "_tables/city/staged/table.json": None,
        "_tables/city/view/view.json": None,
        "data/ice/": None,
        "_tables/city/trips/table.json": first.id,
        "data/staged/": None,
        "data/t/": second.id,
    }
    assert paths(listed(lake, "main~1")) == ["_tables/city/trips/table.json", "data/t/"]
    with pytest.raises(NotFound):
        listed(lake, "nowhere")


def test_folders_of_iceberg_are_found_by_their_metadata_among_other_files(lake, put):
    uuid = "00000000-0000-0000-0000-{:012}"
    manifests = [f"{uuid.format(number)}-m0.avro" for number in range(40)]
    put(*(f"a/metadata/{name}" for name in [*manifests, CATALOG]))
    put(*(f"b/metadata/{name}" for name in [*manifests, "version-hint.text", HADOOP, "v4.txt"]))
    put(*(f"none/metadata/{name}" for name in [*manifests, "version-hint.text", "x.json"]))
    put(f"none/deeper/metadata/x/{HADOOP}", f"metadata/{HADOOP}")
    put(f"both/metadata/{HADOOP}", f"both/_delta_log/{COMMIT}", f"both/inner/metadata/{HADOOP}")
    put("c/metadata/v1.gz.metadata.json", "c/metadata/v2.metadata.json.gz")
    found = [(each.table.path, each.table.format) for each in listed(lake)]
    assert found == [
        ("a/", "iceberg"),
        ("b/", "iceberg"),
        ("both/", "delta"),
        ("c/", "iceberg"),
    ]


def test_a_search_finds_parts_of_names_in_any_case(lake, put):
    put("_tables/City/Trips/table.json", f"data/TRIPS-raw/_delta_log/{COMMIT}")
    put("_tables/city/rides/table.json")
    for text, count in (("trips", 2), ("CITY.t", 1), ("data/", 1), ("", 3), ("none", 0)):
        assert len(listed(lake, search=text)) == count, text


def test_a_page_ends_after_a_bounded_walk_and_goes_on(lake, put, monkeypatch):
    put(*(f"a/{number:02}/x/1.bin" for number in range(40)), f"z/t/_delta_log/{COMMIT}")
    monkeypatch.setattr(listed_tables, "_MAX_STEPS", 7)
    first = lake.listed_tables.page("sea", "main", amount=100)
    assert (first.items, first.has_more) == ([], True)
    assert paths(listed(lake)) == ["z/t/"]


def test_only_readable_tables_are_listed(lake, put):
    put("_tables/city/trips/table.json", "_tables/city/secret/table.json")
    put(f"open/t/_delta_log/{COMMIT}", f"closed/t/_delta_log/{COMMIT}")
    put(f"open/ice/metadata/{HADOOP}", f"closed/ice/metadata/{HADOOP}")
    allowed = [f"arn:lakefs:fs:::repository/sea/object/{each}" for each in ("open/*", "*/trips/*")]
    statement = Statement(Effect.ALLOW, frozenset({"fs:ReadObject"}), tuple(allowed))
    readable = ReadablePaths(Actor(username="bo", statements=[statement]), "sea")
    assert paths(listed(lake, readable=readable)) == [
        *("_tables/city/trips/table.json", "open/ice/", "open/t/"),
    ]
