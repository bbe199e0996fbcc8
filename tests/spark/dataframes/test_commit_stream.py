"""Streams of a branch: each change is delivered once, and a reset of the branch is an error."""

from __future__ import annotations

import pickle
import random

import pytest
from pyspark.errors import StreamingQueryException

import anabranch.spark
from anabranch.errors import Conflict, NotFound
from anabranch.model.objects.entry import Entry
from anabranch.spark.data_source import stream_reader
from anabranch.spark.data_source.branch_history import BranchHistory, commits_between
from anabranch.spark.data_source.read_options import parse_options
from anabranch.spark.data_source.stream_reader import StreamReader
from anabranch.spark.sources.commit_sources import open_references
from anabranch.testing.tree_strategies import CUTS

pytestmark = pytest.mark.timeout(600)


def put(lake, paths, version, branch="main"):
    """Stages objects and commits them; returns the commit."""
    for path in paths:
        entry = Entry(address=path, address_type=1, size=version, mtime=9, checksum=f"{version}")
        lake.core.changes.put(lake.repositories.get("sea"), branch, path, entry)
    return lake.commits.commit("sea", branch, message=f"Version {version}", committer="c").id


def retry_worker_start(run):
    """Calls a function, again if Spark's worker did not start within ten seconds."""
    for _ in range(20):
        try:
            return run()
        except StreamingQueryException as error:
            if "worker failed to connect back" not in str(error):
                raise
    return run()


@pytest.fixture
def stream(spark, tmp_path):
    """Returns a function that processes new commits and returns all changes delivered so far."""
    anabranch.spark.register(spark, tmp_path / "lake")

    def stream(name="stream", **options):
        return retry_worker_start(lambda: run(name, **options))

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
        output = spark.read.schema("commit string, change string, path string, size bigint")
        return sorted(tuple(row) for row in output.parquet(f"{tmp_path}/{name}").collect())

    return stream


def read_batch(lake_folder, offset=None, **options):
    """Returns the changes that a stream's reader yields after an offset, and the next offset."""
    reader = reader_of(lake_folder, **options)
    start = offset or reader.initialOffset()
    reader.partitions(start, start)  # as Spark 4.1 does after a restart
    end = reader.latestOffset()
    return rows_between(reader, start, end), end


def reader_of(lake_folder, **options):
    options = {name: str(value) for name, value in options.items()}
    parsed = parse_options({"repository": "sea", "branch": "main", **options}, str(lake_folder))
    return StreamReader(parsed)


def rows_between(reader, start, end):
    """Returns the changes that a reader yields between two offsets."""
    rows = [
        (row["commit"], row["change"], row["path"], row["right"] and row["right"]["size"])
        for partition in pickle.loads(pickle.dumps(reader.partitions(start, end)))  # noqa: S301
        for batch in pickle.loads(pickle.dumps(reader)).read(partition)  # noqa: S301
        for row in batch.to_pylist()
    ]
    return sorted(rows)


def history(lake):
    """Creates commits and a merge; yields the changes of the new commits."""
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


def test_each_change_is_delivered_once(lake, tmp_path):
    """The changes of a merge are those of its first parent to it."""
    offset = None
    for expected in history(lake):
        rows, offset = read_batch(tmp_path / "lake", offset, history="true")
        assert rows == sorted(expected)
        assert read_batch(tmp_path / "lake", offset) == ([], offset)


@pytest.mark.slow
def test_each_change_is_delivered_once_across_restarts(lake, stream):
    expected = []
    for changes in history(lake):
        expected += changes
        assert stream(history="true") == sorted(expected)
    assert stream(history="true") == sorted(expected)


def test_stream_begins_at_the_head_or_at_since(lake, tmp_path):
    first = put(lake, ["a", "b/1"], 1)
    second = put(lake, ["a", "b/2", "b/3"], 2)
    assert read_batch(tmp_path / "lake") == ([], {"commit": second})
    rows, _ = read_batch(tmp_path / "lake", since=first, prefix="b/")
    assert rows == [(second, "added", "b/2", 2), (second, "added", "b/3", 2)]
    with pytest.raises(NotFound):
        read_batch(tmp_path / "lake", since="nothing")


def test_reader_of_a_reset_branch_raises_conflict(lake, tmp_path):
    first, second = put(lake, ["a"], 1), put(lake, ["b"], 2)
    _, offset = read_batch(tmp_path / "lake")
    lake.branches.hard_reset("sea", "main", first)
    put(lake, ["c"], 3)
    with pytest.raises(Conflict, match=f"main: the branch was reset: the commit {second}"):
        read_batch(tmp_path / "lake", offset)


@pytest.mark.slow
def test_query_on_a_reset_branch_fails(lake, stream):
    first, second = put(lake, ["a"], 1), put(lake, ["b"], 2)
    assert len(stream(history="true")) == 2
    lake.branches.hard_reset("sea", "main", first)
    put(lake, ["c"], 3)
    with pytest.raises(
        StreamingQueryException, match=f"main: the branch was reset: the commit {second}"
    ):
        stream(history="true")


@pytest.mark.slow
def test_streaming_anything_but_a_branch_fails(spark, lake, stream):  # noqa: ARG001  fixtures
    changes = spark.readStream.format("anabranch").options(repository="sea", reference="main")

    def run():
        changes.load().writeStream.format("noop").start().awaitTermination()

    with pytest.raises(StreamingQueryException, match="objects cannot be streamed"):
        retry_worker_start(run)


def test_commits_between_two_commits_follow_first_parents(lake):
    commits = [put(lake, ["a"], number) for number in range(4)]
    references = open_references(lake, "sea")

    def between(start, end):
        return [commit.id for commit in commits_between(references, "main", start, end)]

    assert between(commits[0], commits[3]) == commits
    assert between(commits[2], commits[2]) == commits[2:3]
    lake.branches.create("sea", "dev", commits[1])
    unrelated = put(lake, ["b"], 9, "dev")
    for start, end in ((commits[3], commits[1]), (unrelated, commits[3]), (commits[3], unrelated)):
        with pytest.raises(Conflict) as caught:
            between(start, end)
        assert caught.value.kind == "branch_was_reset"
    merge = lake.refs.merge("sea", "dev", "main", committer="c")
    assert between(commits[1], merge) == [*commits[1:], merge]
    with pytest.raises(Conflict):
        between(unrelated, merge)


def long_history(lake, seed):
    """Makes commits of few and of many objects, whose tables have many ranges; returns the last."""
    generator = random.Random(seed)
    paths = [key.decode() for key in CUTS]
    for number in range(8):
        few_or_many = generator.choice([1, 2, len(paths)])
        last = put(lake, generator.sample(paths, few_or_many), number)
    return last


@pytest.mark.parametrize(
    "limits",
    [
        {"maxStepsPerBatch": 1},
        {"maxStepsPerBatch": 3},
        {"maxObjectsPerBatch": 1},
        {"maxObjectsPerBatch": 5},
        {"maxObjectsPerBatch": 7, "maxStepsPerBatch": 2, "after": "a", "until": "zz"},
    ],
    ids=str,
)
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.sample(3)
def test_limited_batches_deliver_each_change_once(lake, tmp_path, limits, restarted):
    folder = tmp_path / "lake"
    head = long_history(lake, seed=len(limits))
    paths = {name: limits[name] for name in ("after", "until") if name in limits}
    expected, _ = read_batch(folder, history="true", **paths)
    reader = reader_of(folder, history="true", **limits)
    offset, batches = reader.initialOffset(), []
    while offset != {"commit": head}:
        if restarted:
            reader = reader_of(folder, **limits)
            assert reader.partitions(offset, offset) == []
        end = reader.latestOffset()
        assert end != offset
        batches.append(rows_between(reader, offset, end))
        assert batches[-1] == rows_between(reader, offset, end)  # Spark may repeat a batch
        offset = end
    assert reader.latestOffset() == offset
    assert sorted(row for batch in batches for row in batch) == expected
    steps = max(len({row[0] for row in batch}) for batch in batches)
    assert steps <= limits.get("maxStepsPerBatch", steps)
    if limits == {"maxObjectsPerBatch": 1}:
        assert max(map(len, batches)) < max(
            sum(x[0] == each for x in expected) for each in {row[0] for row in expected}
        )


def test_commit_between_both_offsets_of_a_new_stream_is_delivered(lake, tmp_path):
    """Spark 4.1 asks a new stream for its latest offset first."""
    put(lake, ["a"], 1)
    reader = reader_of(tmp_path / "lake")
    latest = reader.latestOffset()
    second = put(lake, ["b"], 2)
    start = reader.initialOffset()
    assert start == latest
    assert rows_between(reader, start, latest) == []
    end = reader.latestOffset()
    assert rows_between(reader, start, end) == [(second, "added", "b", 2)]


def test_reset_within_a_divided_step_raises_conflict(lake, tmp_path):
    """Even if the new history still has the commit before that step."""
    first = put(lake, ["a"], 1)
    step = put(lake, [key.decode() for key in CUTS], 2)
    reader = reader_of(tmp_path / "lake", since=first, maxObjectsPerBatch="1")
    start = reader.initialOffset()
    middle = reader.latestOffset()
    assert middle["step"] == step
    assert rows_between(reader, start, middle)
    lake.branches.hard_reset("sea", "main", first)
    put(lake, ["b"], 3)
    for each in (reader, reader_of(tmp_path / "lake", maxObjectsPerBatch="1")):
        each.partitions(middle, middle)
        with pytest.raises(Conflict, match=f"the branch was reset: the commit {step}"):
            each.latestOffset()


def test_history_reads_each_commit_once_and_notices_resets(lake):
    commits = [put(lake, ["a"], number) for number in range(6)]
    references = open_references(lake, "sea")
    history = BranchHistory("main")

    def between(start, end):
        return [commit.id for commit in history.between(references, start, end)]

    assert between(commits[0], commits[3]) == commits[:4]
    assert between(commits[1], commits[5]) == commits[1:]
    assert between(commits[1], commits[2]) == commits[1:3]
    assert between(commits[2], commits[2]) == commits[2:3]
    with pytest.raises(Conflict):
        between(commits[3], commits[2])
    lake.branches.hard_reset("sea", "main", commits[3])
    other = put(lake, ["b"], 9)
    assert between(commits[3], other) == [commits[3], other]
    assert between(commits[0], other) == [*commits[:4], other]
    with pytest.raises(Conflict):
        between(commits[4], other)


def test_later_versions_of_spark_name_the_start_and_the_limit(lake, tmp_path):
    """And let a query with the trigger `availableNow` end at the head that it found first."""
    commits = [put(lake, ["a"], number) for number in range(4)]
    reader = reader_of(tmp_path / "lake", maxStepsPerBatch="2")
    unlimited = reader_of(tmp_path / "lake")
    reader.prepareForTriggerAvailableNow()
    put(lake, ["a"], 9)
    start = {"commit": commits[0]}
    limit = None
    if stream_reader.limits is not None:
        limit = reader.getDefaultReadLimit()
        assert type(unlimited.getDefaultReadLimit()) is stream_reader.limits.ReadAllAvailable
        everything = stream_reader.limits.ReadAllAvailable()
        assert reader.latestOffset(start, everything) == {"commit": commits[3]}
    assert reader.latestOffset(start, limit) == {"commit": commits[2]}
    assert reader.latestOffset({"commit": commits[2]}, limit) == {"commit": commits[3]}
    assert reader.latestOffset({"commit": commits[3]}, limit) == {"commit": commits[3]}
    assert reader.reportLatestOffset() != {"commit": commits[3]}


@pytest.mark.slow
def test_limited_query_delivers_each_change_once_across_restarts(lake, stream):
    expected = [change for changes in history(lake) for change in changes]
    previous = []
    for _ in range(8):  # Spark 4.1 ends such a query after one batch
        delivered = stream(history="true", maxStepsPerBatch="1", maxObjectsPerBatch="1")
        assert set(previous) <= set(delivered)
        previous = delivered
    assert previous == sorted(expected)
