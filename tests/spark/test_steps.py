"""Steps: a stream gives each change of a branch once, and tells when its history is another."""

from __future__ import annotations

import pickle

import pytest
from pyspark.errors import StreamingQueryException

import anabranch.spark
from anabranch.errors import Conflict, NotFound
from anabranch.model.entry import Entry
from anabranch.spark.data_source.commit_stream import commits_between
from anabranch.spark.data_source.provider import StreamReader
from anabranch.spark.data_source.read_options import parse_options
from anabranch.spark.sources.commit_sources import open_references

pytestmark = pytest.mark.timeout(600)


def put(lake, paths, version, branch="main"):
    """Stages objects and commits them; returns the commit."""
    for path in paths:
        entry = Entry(address=path, address_type=1, size=version, mtime=9, checksum=f"{version}")
        lake.core.changes.put(lake.repositories.get("sea"), branch, path, entry)
    return lake.commits.commit("sea", branch, message=f"Version {version}", committer="c").id


def patiently(run):
    """Calls a function until Spark's worker has started in the ten seconds that Spark gives it."""
    for _ in range(20):
        try:
            return run()
        except StreamingQueryException as error:
            if "worker failed to connect back" not in str(error):
                raise
    return run()


@pytest.fixture
def stream(spark, tmp_path):
    """Returns a function that reads what has come since it last did, until now."""
    anabranch.spark.register(spark, tmp_path / "lake")

    def stream(name="stream", **options):
        return patiently(lambda: run(name, **options))

    def run(name, **options):
        options = {"repository": "sea", "branch": "main", **options}
        changes = spark.readStream.format("anabranch").options(**options).load()
        query = (
            changes.selectExpr("commit", "change", "path", "right.size as size")
            .writeStream.format("parquet")
            .option("checkpointLocation", f"{tmp_path}/{name}-checkpoint")
            .trigger(availableNow=True)
            .start(f"{tmp_path}/{name}")
        )
        query.awaitTermination()
        found = spark.read.schema("commit string, change string, path string, size bigint")
        return sorted(tuple(row) for row in found.parquet(f"{tmp_path}/{name}").collect())

    return stream


def streamed(lake_folder, offset=None, **options):
    """Returns what a stream's reader gives from an offset on, and the next offset."""
    asked = parse_options({"repository": "sea", "branch": "main", **options}, str(lake_folder))
    reader = StreamReader(asked)
    start, end = offset or reader.initialOffset(), reader.latestOffset()
    rows = [
        (row["commit"], row["change"], row["path"], row["right"] and row["right"]["size"])
        for piece in pickle.loads(pickle.dumps(reader.partitions(start, end)))  # noqa: S301  ours
        for batch in pickle.loads(pickle.dumps(reader)).read(piece)  # noqa: S301  ours
        for row in batch.to_pylist()
    ]
    return sorted(rows), end


def history(lake):
    """Makes commits and a merge; returns what each has changed."""
    first = put(lake, ["a", "b"], 1)
    yield [(first, "added", "a", 1), (first, "added", "b", 1)]
    second = put(lake, ["a"], 2)
    lake.branches.create("sea", "dev", "main")
    put(lake, ["c"], 3, "dev")
    put(lake, ["d"], 4, "dev")
    lake.objects.delete_many("sea", "main", ["b"])
    third = lake.commits.commit("sea", "main", message="Without b", committer="c").id
    merge = lake.refs.merge("sea", "dev", "main", committer="c")
    yield [
        (second, "changed", "a", 2),
        (third, "removed", "b", None),
        (merge, "added", "c", 3),
        (merge, "added", "d", 4),
    ]


def test_each_change_once(lake, tmp_path):
    """From offset to offset; a merge is one step."""
    offset = None
    for wanted in history(lake):
        found, offset = streamed(tmp_path / "lake", offset, history="true")
        assert found == sorted(wanted)
        assert streamed(tmp_path / "lake", offset) == ([], offset)


@pytest.mark.slow
def test_each_change_once_across_restarts_of_spark(lake, stream):
    wanted = []
    for more in history(lake):
        wanted += more
        assert stream(history="true") == sorted(wanted)
    assert stream(history="true") == sorted(wanted)


def test_where_a_stream_begins(lake, tmp_path):
    first = put(lake, ["a", "b/1"], 1)
    second = put(lake, ["a", "b/2", "b/3"], 2)
    assert streamed(tmp_path / "lake") == ([], {"commit": second})
    found, _ = streamed(tmp_path / "lake", since=first, prefix="b/")
    assert found == [(second, "added", "b/2", 2), (second, "added", "b/3", 2)]
    with pytest.raises(NotFound):
        streamed(tmp_path / "lake", since="nothing")


def test_a_branch_that_was_reset_is_told(lake, tmp_path):
    first, second = put(lake, ["a"], 1), put(lake, ["b"], 2)
    _, offset = streamed(tmp_path / "lake")
    lake.branches.hard_reset("sea", "main", first)
    put(lake, ["c"], 3)
    with pytest.raises(Conflict, match=f"main: the branch was reset: the commit {second}"):
        streamed(tmp_path / "lake", offset)


@pytest.mark.slow
def test_spark_tells_of_a_branch_that_was_reset(lake, stream):
    first, second = put(lake, ["a"], 1), put(lake, ["b"], 2)
    assert len(stream(history="true")) == 2
    lake.branches.hard_reset("sea", "main", first)
    put(lake, ["c"], 3)
    with pytest.raises(StreamingQueryException, match=f"main: the branch was reset: the commit {second}"):
        stream(history="true")


@pytest.mark.slow
def test_only_branches_are_streamed(spark, lake, stream):  # noqa: ARG001  these make the lake
    changes = spark.readStream.format("anabranch").options(repository="sea", reference="main")

    def run():
        changes.load().writeStream.format("noop").start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="objects cannot be streamed"):
        patiently(run)


def test_steps_between_commits(lake):
    commits = [put(lake, ["a"], number) for number in range(4)]
    references = open_references(lake, "sea")

    def between(start, end):
        return [found.id for found in commits_between(references, "main", start, end)]

    assert between(commits[0], commits[3]) == commits
    assert between(commits[2], commits[2]) == commits[2:3]
    lake.branches.create("sea", "dev", commits[1])
    aside = put(lake, ["b"], 9, "dev")
    for start, end in ((commits[3], commits[1]), (aside, commits[3]), (commits[3], aside)):
        with pytest.raises(Conflict) as caught:
            between(start, end)
        assert caught.value.kind == "branch_was_reset"
    merge = lake.refs.merge("sea", "dev", "main", committer="c")
    assert between(commits[1], merge) == [*commits[1:], merge]
    with pytest.raises(Conflict):
        between(aside, merge)
