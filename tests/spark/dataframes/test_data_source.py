"""The format `anabranch`: rows equal those of the functions, and only needed tables are read."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from support.session.hypothesis_profiles import examples

import anabranch.spark
from anabranch.blocks.table_addresses import tables_address
from anabranch.errors import Invalid, NotSupported, StoreRefused
from anabranch.model.objects.entry import Entry
from anabranch.spark.data_source.provider import Reader, data_source
from anabranch.spark.data_source.read_options import parse_options
from anabranch.spark.data_source.store_options import pop_store
from anabranch.spark.sources.stores import open_store
from anabranch.testing.tree_strategies import CUTS

pytestmark = pytest.mark.timeout(600)

# the paths in CUTS end ranges, so that the commits have many ranges
PATHS = sorted([*(key.decode() for key in CUTS), *(f"{a}/{n}" for a in "abc" for n in range(9))])
FIXTURE = hypothesis.HealthCheck.function_scoped_fixture


def put(lake, paths, version):
    """Stages objects and commits them."""
    for path in paths:
        entry = Entry(address=path, address_type=1, size=version, mtime=9, checksum=f"{version}")
        lake.core.changes.put(lake.repositories.get("sea"), "main", path, entry)
    return lake.commits.commit("sea", "main", message=f"Version {version}", committer="c").id


@pytest.fixture
def filled(lake):
    """The lake with the tags `before` and `after`, which differ in two paths."""
    put(lake, PATHS, 1)
    lake.tags.create("sea", "before", "main")
    put(lake, ["b/3", "b/new"], 2)
    lake.tags.create("sea", "after", "main")
    return lake


@pytest.fixture
def read(spark, tmp_path):
    """Returns a function that reads from the lake."""
    anabranch.spark.register(spark, tmp_path / "lake")
    return reader_of(spark)


def reader_of(spark):
    """Returns a function that loads a table of the repository with options."""

    def read(**options):
        options = {name: str(value) for name, value in options.items()}
        return spark.read.format("anabranch").options(repository="sea", **options).load()

    return read


def rows(table):
    return [tuple(row) for row in table.collect()]


def remove_tables(lake, reference, is_needed):
    """Removes the tables of a commit's ranges that are not needed; returns their number."""
    namespace = lake.repositories.get("sea").storage_namespace
    tree = lake.core.trees.open(
        lake.repositories.get("sea"), lake.commits.get("sea", reference).metarange_id
    )
    removed = [each for each in tree.ranges() if not is_needed(each)]
    for each in removed:
        path = Path(lake.blocks.local_path(f"{tables_address(namespace)}/{each.id}"))
        path.unlink(missing_ok=True)
    return len(removed)


def test_objects_equal_those_of_the_function(spark, filled, read):
    expected = rows(anabranch.spark.objects(spark, filled, "sea", "after"))
    table = read(reference="after", entries_per_task=7)
    assert rows(table) == expected
    assert table.selectExpr("spark_partition_id() as task").distinct().count() > 1


def test_filter_of_one_query_does_not_affect_the_next(filled, read):  # noqa: ARG001  a fixture
    """Nor the other side of a union."""
    table = read(reference="after").select("path")
    selected = [path for path in [*PATHS, "b/new"] if path.startswith("b/")]
    assert table.where("path like 'b/%'").count() == len(selected)
    assert table.count() == len(PATHS) + 1
    both = table.where("path like 'b/%'").union(table.where("path like 'c/1%'"))
    expected = selected + [path for path in PATHS if path.startswith("c/1")]
    assert sorted(row.path for row in both.collect()) == sorted(expected)


def test_prefix_skips_tables_without_matching_paths(filled, read):
    assert remove_tables(filled, "after", lambda x: x.min_key <= b"b/zzz" and x.max_key >= b"b/")
    paths = [row.path for row in read(reference="after", prefix="b/").collect()]
    assert paths == sorted([*(path for path in PATHS if path.startswith("b/")), "b/new"])
    with pytest.raises(PySparkException, match="Corrupt: no table"):
        read(reference="after").collect()


def test_after_and_until_skip_tables_without_matching_paths(filled, read):
    between = [path for path in [*PATHS, "b/new"] if "b/3" < path <= "c/1"]
    assert remove_tables(filled, "after", lambda x: x.min_key <= b"c/1" and x.max_key > b"b/3")
    table = read(reference="after", after="b/3", until="c/1")
    assert [row.path for row in table.collect()] == sorted(between)


@pytest.mark.slow
def test_other_sessions_setting_for_pushdown_loses_no_rows(spark, filled, read):
    """The setting is for other formats; this one has no pushdown, because Spark 4.1 reuses the
    plan of a filtered query.
    """
    assert filled
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        table = read(reference="after").select("path")
        assert table.where("path = 'b/new'").count() == 1
        assert table.count() == len(PATHS) + 1
        joined = table.where("path like 'b/%'").alias("a").join(table.alias("b"), "path")
        assert joined.count() == table.where("path like 'b/%'").count() > 1
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.slow
def test_columns_are_selected_by_option_or_schema(spark, filled, read):
    assert filled
    whole = read(reference="after")
    expected = rows(whole.select("size", "path"))
    assert rows(read(reference="after", columns="size, path")) == expected
    reader = spark.read.format("anabranch").schema("size BIGINT, path STRING")
    assert rows(reader.options(repository="sea", reference="after").load()) == expected
    types = rows(whole.select("content_type", "metadata"))
    assert rows(read(reference="after", columns="content_type,metadata")) == types
    changes = {"what": "changes", "left": "before", "right": "after"}
    assert rows(read(**changes, columns="path")) == [("b/3",), ("b/new",)]
    assert rows(read(what="tags", columns="id")) == [("after",), ("before",)]
    assert read(reference="after", columns="size,path").count() == len(PATHS) + 1


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("path STRING, weight BIGINT", "weight: unknown column"),
        ("path STRING, size STRING", "size: the column has another type"),
        ("last_modified TIMESTAMP_NTZ", "last_modified: the column has another type"),
    ],
)
@pytest.mark.sample(1)
def test_schema_with_other_columns_is_refused(spark, filled, read, schema, message):  # noqa: ARG001
    reader = spark.read.format("anabranch").schema(schema)
    with pytest.raises(PySparkException, match=message):
        reader.options(repository="sea", reference="after").load().collect()


def test_changes_equal_those_of_the_function_and_skip_shared_ranges(spark, filled, read):
    function = anabranch.spark.changes(spark, filled, "sea", "before", "after")
    expected = rows(function)
    before = filled.commits.get("sea", "before").metarange_id
    tree = filled.core.trees.open(filled.repositories.get("sea"), before)
    shared = {each.id for each in tree.ranges()}
    assert remove_tables(filled, "after", lambda each: each.id not in shared)
    table = read(what="changes", left="before", right="after")
    assert rows(table) == expected
    assert [row[:2] for row in expected] == [("changed", "b/3"), ("added", "b/new")]
    assert rows(table.where("path like 'b/n%'")) == expected[1:]
    assert rows(read(what="changes", left="after", right="after")) == []


def test_commits_branches_tags_and_ranges_equal_those_of_the_lake(filled, read):
    history = filled.commits.log("sea", "after", amount=10).items
    assert rows(read(what="commits", reference="main")) == [
        (
            *(commit.id, commit.message, commit.committer),
            dt.datetime.fromtimestamp(commit.creation_date),  # noqa: DTZ006  like PySpark
            *(list(commit.parents), commit.metadata, commit.metarange_id, commit.generation),
        )
        for commit in history
    ]
    filled.branches.create("sea", "dev", "before")
    filled.branches.create("sea", "hidden", "before", hidden=True)
    before, after = (filled.tags.get("sea", name).commit_id for name in ("before", "after"))
    assert rows(read(what="branches")) == [("dev", before), ("main", after)]
    assert rows(read(what="tags")) == [("after", after), ("before", before)]
    assert rows(read(what="tags").where("id like 'b%'")) == [("before", before)]
    tree = filled.core.trees.open(filled.repositories.get("sea"), history[0].metarange_id)
    assert rows(read(what="ranges", reference="main")) == [
        (x.id, x.min_key.decode(), x.max_key.decode(), x.count, x.estimated_size)
        for x in tree.ranges()
    ]


def test_reference_is_resolved_when_the_table_is_loaded(filled, read):
    table = read(reference="main")
    put(filled, ["later"], 3)
    assert "later" not in {row.path for row in table.collect()}
    assert "later" in {row.path for row in read(reference="main").collect()}


def test_server_is_read_through_options_and_registration(spark, server, repository):
    anabranch.spark.register(spark)
    spark.sql(f"""create or replace temporary view rides using anabranch options (
        server '{server.url}', access_key_id '{server.access_key_id}',
        secret_access_key '{server.secret_access_key}', repository '{repository.id}',
        reference 'main')""")
    selected = spark.sql("select path, size from rides where path like 'a/%'").collect()
    assert [tuple(row) for row in selected] == [("a/1", 14), ("a/2", 14)]
    source = anabranch.spark.Server(server.url, *server.auth)
    anabranch.spark.register(spark, source)
    options = {"repository": repository.id, "reference": "main"}
    commits = spark.read.format("anabranch").options(what="commits", **options).load()
    assert rows(commits.select("id")) == [(x.id,) for x in repository.ref("main").log()]
    branches = spark.read.format("anabranch").options(what="branches", **options).load()
    assert rows(branches) == [("main", repository.ref("main").get_commit().id)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refrence": "main"}, "refrence: unknown option"),
        ({}, "the option reference is missing"),
        ({"what": "weather"}, "weather: must be one of objects"),
        ({"what": "changes", "left": "main"}, "the option right is missing"),
        ({"reference": "main", "entries_per_task": "many"}, "entries_per_task"),
        ({"reference": "main", "server": "http://somewhere"}, "must be set together"),
        ({"reference": "main", "repository": ""}, "the option repository is missing"),
        ({"reference": "main", "entries_per_task": "0"}, "entries_per_task"),
        ({"branch": "main", "maxObjectsPerBatch": "-1"}, "max_objects_per_batch"),
        ({"reference": "main", "columns": "path,weight"}, "weight: unknown column"),
        ({"reference": "main", "columns": "path,path"}, "a column is repeated"),
        ({"what": "tags", "after": "v1"}, "the option after is for objects"),
    ],
)
def test_invalid_option_raises_invalid(options, message):
    with pytest.raises(Invalid, match=message):
        parse_options({"repository": "sea", **options}, "/lake")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "nothing"}, "NotFound"),
        ({"refrence": "main"}, "refrence: unknown option"),
        ({"reference": "main", "lake": "/nowhere"}, "not a lake"),
        ({"branch": "main"}, "is for streams"),
    ],
)
@pytest.mark.sample(2)
def test_query_with_invalid_options_fails(read, filled, options, message):  # noqa: ARG001
    with pytest.raises(PySparkException, match=message):
        read(**options).collect()


def test_hint_of_an_error_is_shown(read, filled):  # noqa: ARG001
    hint = "Use spark.readStream, or read changes with the options left and right"
    with pytest.raises(PySparkException, match=hint):
        read(branch="main").collect()
    with pytest.raises(PySparkException, match="Hint: "):
        read(refrence="main").collect()


def test_register_refuses_old_versions_of_spark():
    with pytest.raises(NotSupported, match=r"4\.0\.2 is too old"):
        anabranch.spark.register(SimpleNamespace(version="4.0.2"))


def test_missing_server_and_lake_raises_invalid():
    with pytest.raises(Invalid, match="a server or a lake is required"):
        parse_options({"repository": "sea"}, None)
    assert data_source(None).name() == "anabranch"


@pytest.mark.slow  # two sessions are rare
def test_each_session_and_each_name_has_its_own_source(spark, lake, tmp_path):
    other_folder = tmp_path / "other"
    with anabranch.open(other_folder) as other:
        other.repositories.create("sea", "local://sea")
        put(other, ["elsewhere"], 1)
    put(lake, ["here"], 1)

    def paths(session, name):
        table = session.read.format(name).options(repository="sea", reference="main").load()
        return [row.path for row in table.collect()]

    anabranch.spark.register(spark, tmp_path / "lake")
    anabranch.spark.register(spark, other_folder, name="other")
    session = spark.newSession()
    anabranch.spark.register(session, other_folder, name="second")
    assert paths(spark, "anabranch") == ["here"]
    assert paths(spark, "other") == paths(session, "second") == ["elsewhere"]
    with pytest.raises(Invalid, match="anabranch: another session of this application"):
        anabranch.spark.register(session, other_folder)
    anabranch.spark.register(spark, other_folder)
    assert paths(spark, "anabranch") == ["elsewhere"]


def test_options_may_be_in_camel_case():
    options = {"repository": "sea", "branch": "main", "entriesPerTask": "7"}
    parsed = parse_options({**options, "maxStepsPerBatch": "3"}, "/lake")
    assert (parsed.entries_per_task, parsed.max_steps_per_batch) == (7, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": "tape"}, "tape: must be one of s3, google, azure"),
        ({"store_region": "eu"}, "store: : must be one of"),
        ({"store": "azure", "store_region": "eu"}, "store_region: not an option of the store"),
        ({"store": "s3", "store_path_style": "yes"}, "yes: must be true or false"),
    ],
)
def test_invalid_store_raises_invalid(options, message):
    with pytest.raises(Invalid, match=message):
        parse_options({"repository": "sea", "reference": "main", **options}, "/lake")


def test_store_may_have_a_profile_in_a_file(tmp_path):
    file = tmp_path / "keys"
    file.write_text("[other]\naws_access_key_id = A\naws_secret_access_key = B\n")
    options = {"store": "s3", "store_profile": "lake", "store_credentials_file": str(file)}
    store = pop_store(options, None)
    with pytest.raises(StoreRefused, match="lake"), open_store(store) as blocks:
        blocks.stat("s3://bucket/a")
    assert options == {}


limits = st.sampled_from(["", "a", "a/", "b/", "b/3", "c/1", "zzz", *PATHS])


@hypothesis.settings(suppress_health_check=[FIXTURE], max_examples=examples(60))
@given(limits, limits, limits)
def test_selected_rows_equal_those_of_a_filter(filled, tmp_path, prefix, after, until):
    assert filled
    options = {"lake": f"{tmp_path}/lake", "repository": "sea"}

    def select(what, **selection):
        given_options = {**options, **what, **selection}
        reader = Reader(parse_options(given_options, None))
        batches = [batch for each in reader.partitions() for batch in reader.read(each)]
        return [row for batch in batches for row in batch.to_pylist()]

    for what in ({"reference": "after"}, {"what": "changes", "left": "before", "right": "after"}):
        expected = [
            row
            for row in select(what)
            if row["path"].startswith(prefix)
            and row["path"] > after
            and (not until or row["path"] <= until)
        ]
        assert select(what, prefix=prefix, after=after, until=until) == expected
