"""Which ranges of other repositories a collection reads: those whose full addresses may be in the
collected namespace.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.garbage import DAY, commit, found, put, stored
from support.session.hypothesis_profiles import examples
from support.stepped_scenario import Scenario

from anabranch import _kernel as kernel
from anabranch.errors import Conflict
from anabranch.model.repositories.repository import Repository
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.addresses import foreign_spans
from anabranch.pipelines.garbage.addresses.foreign_spans import ForeignSpans, Span, read_span
from anabranch.pipelines.garbage.addresses.namespace import Namespace

ROOTS = ["s3://sea", "s3://sea/in", "s3://seaside", "s3://land", "/disk/sea", "s3"]
NAMES = ["data/a", "/data/b", "", "x://y", "/in/data/c", "~"]
ADDRESSES = ["".join(pair) for pair in itertools.product(["", *ROOTS], NAMES)]


def repository(namespace):
    return Repository(
        id="r", storage_namespace=namespace, default_branch="main", creation_date=0, instance_uid=""
    )


def tree_of(folder: Path, rows) -> kernel.Tree:
    """Returns a tree whose entries have these addresses and kinds."""
    kinds, addresses = [kind for kind, _ in rows], [address for _, address in rows]
    count = len(rows)
    batch = pa.RecordBatch.from_pydict(
        {
            "path": pa.array([f"{number:04}" for number in range(count)]),
            "physical_address": pa.array(addresses, pa.string()),
            "address_type": pa.array(kinds, pa.int32()),
            "last_modified": pa.array([0] * count, pa.timestamp("us", "UTC")),
            "size": pa.array([1] * count, pa.int64()),
            "checksum": pa.array(["0" * 32] * count),
            "metadata": pa.array([{}] * count, pa.map_(pa.string(), pa.string())),
            "content_type": pa.array([""] * count),
        }
    )
    folder.mkdir(exist_ok=True)
    reader = pa.RecordBatchReader.from_batches(batch.schema, [batch])
    written = kernel.write_arrow(reader, str(folder))
    return kernel.Tables().tree(written.metarange_id, lambda name: f"{folder}/{name}")


@settings(max_examples=examples(100), deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ADDRESSES)), min_size=1, max_size=6),
    collected=st.lists(st.sampled_from(ROOTS), min_size=1, max_size=2, unique=True),
    reader=st.sampled_from(ROOTS),
)
def test_range_that_is_not_read_has_no_address_in_the_namespace(
    tmp_path_factory, rows, collected, reader
):
    namespace = Namespace(tuple(f"{root}/" for root in collected))
    resolver = namespace.resolver(repository(reader))
    tree = tree_of(tmp_path_factory.mktemp("tree"), rows)
    span = read_span(tree)
    assert span.rows == len(rows)
    if not resolver.is_elsewhere or span.may_be_in(namespace):
        return
    batch = pa.Table.from_batches(list(pa.RecordBatchReader.from_stream(tree.scan())))
    columns = batch.select(["physical_address", "address_type"]).combine_chunks().columns
    found = resolver.resolve(*(column.combine_chunks() for column in columns))
    assert [name for _, names in found for name in names.to_pylist()] == []


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(3), False),
        (Span(3, "s3://sea/data/a", "s3://sea/data/a"), True),
        (Span(3, "s3://land/data/a", "s3://z/data/a"), True),
        (Span(3, "s3://seaside/data/a", "s3://z/data/a"), False),
        (Span(3, "s3://land/data/a", "s3://land/data/z"), False),
        (Span(3, "/disk/sea/data/a", "/disk/sea/data/z"), True),
    ],
)
def test_span_says_whether_an_address_may_be_in_a_namespace(span, expected):
    assert span.may_be_in(Namespace(("s3://sea/", "/disk/sea/"))) is expected


def read_ranges(collector, repository):
    with collector.mark(repository) as run:
        return run.summary.found.ranges, run.summary.found.ranges_read


def test_ranges_are_read_once_for_the_collections_of_all_repositories(lake, collector):
    names = ["sea", "bay", "gulf", "lake"]
    for name in names:
        if name != "sea":
            lake.repositories.create(name, f"mem://{name}")
        put(lake, "a", repository=name)
        lake.commits.commit(name, "main", committer="me", message="m")
    assert read_ranges(collector, "sea") == (4, 4)
    assert read_ranges(collector, "bay") == (4, 2), "its own, and that of sea"
    assert read_ranges(collector, "gulf") == (4, 1)
    assert [read_ranges(collector, name) for name in names] == [(4, 0), (4, 0), (4, 0), (4, 1)]
    assert [read_ranges(collector, name) for name in names] == [(4, 0)] * 4


@pytest.mark.sample(1)
@pytest.mark.parametrize("damage", [b"", b"ANASPAN1", lambda raw: raw[:-1], lambda raw: raw + b" "])
def test_damaged_spans_are_read_again(lake, clock, collector, tmp_path, damage):
    lake.garbage_rules.set("sea", RetentionRules(1))
    put(lake, "a/x")
    commit(lake)
    lake.repositories.create("bay", "mem://bay")
    lake.transfers.copy(
        *("bay", "main", "a/", "b/"), source_repository="sea", source_reference="main", shallow=True
    )
    lake.commits.commit("bay", "main", committer="me", message="m")
    lake.objects.delete("sea", "main", "a/x")
    commit(lake)
    clock.advance(3 * DAY)
    assert found(collector) == set()
    (file,) = (tmp_path / "gc" / "spans").iterdir()
    file.write_bytes(damage(file.read_bytes()) if callable(damage) else damage)
    assert found(collector) == set()
    (spans,) = foreign_spans.ForeignSpans(file, str)._spans.values()
    assert spans.may_be_in(Namespace(("mem://sea/",)))


def test_spans_of_ranges_and_repositories_that_are_gone_are_removed(lake, clock, collector):
    lake.repositories.create("bay", "mem://bay")
    lake.garbage_rules.set("bay", RetentionRules(1))
    folder = None
    for body in (b"1", b"2"):
        put(lake, "a", body=body, repository="bay")
        lake.commits.commit("bay", "main", committer="me", message="m")
        found(collector)
        folder = folder or next(collector._folder.glob("spans"))
    (file,) = folder.iterdir()
    assert len(foreign_spans.ForeignSpans(file, str)._spans) == 2
    clock.advance(3 * DAY)
    found(collector)
    assert len(foreign_spans.ForeignSpans(file, str)._spans) == 1
    lake.repositories.delete("bay")
    clock.advance(1)
    found(collector)
    assert not list(folder.iterdir())


def test_range_with_another_number_of_entries_is_read_again(tmp_path):
    tree = tree_of(tmp_path / "tree", [(2, "s3://sea/data/a")])
    (info,) = tree.ranges()
    spans = ForeignSpans(tmp_path / "spans", lambda name: f"{tmp_path}/tree/{name}")
    spans._spans[info.id] = Span(7)
    assert list(spans.load([info])) == [(Span(1, "s3://sea/data/a", "s3://sea/data/a"), True)]
    assert [read for _, read in spans.load([info])] == [False]
    reopened = ForeignSpans(tmp_path / "spans", lambda _: "missing")
    assert [read for _, read in reopened.load([info])] == [False]


def refer_from(scenario, repository):
    """Commits a reference of another repository to the object of `sea` that nothing refers to."""
    place = {"address": f"mem://sea/{scenario.left}", "checksum": scenario.checksum, "size": 4}
    scenario.lake.staging.stage(repository, "main", "left", **place)
    scenario.lake.commits.commit(repository, "main", committer="me", message="m")


def scenario_beside_bay(folder):
    """Returns a sea beside another repository whose spans are known."""
    folder.mkdir()
    scenario = Scenario(folder)
    scenario.lake.repositories.create("bay", "mem://bay")
    put(scenario.lake, "own", repository="bay")
    scenario.lake.commits.commit("bay", "main", committer="me", message="m")
    assert scenario.left in found(scenario.collector)
    scenario.clock.advance(1)
    return scenario


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_commit_of_another_repository_between_two_steps_of_a_run_keeps_its_object(tmp_path, stride):
    outcomes = set()
    for number in itertools.count(0, stride):
        scenario = scenario_beside_bay(tmp_path / str(number))
        outcome = []

        def refer(scenario=scenario, outcome=outcome):
            try:
                refer_from(scenario, "bay")
            except Conflict as error:
                outcome.append(error.kind)
            else:
                is_stored = scenario.left in stored(scenario.lake, "mem://sea")
                outcome.append("committed" if is_stored else "committed too late")

        with scenario.lake:
            scenario.steps.arm(number, refer)
            with scenario.mark() as run:
                run.sweep()
            if not outcome:
                break
            outcomes.update(outcome)
            if outcome == ["committed"]:
                opened = scenario.lake.objects.open("bay", "main", "left")
                assert opened.read_bytes() == b"left", f"lost at step {number}"
    assert number > 50
    assert "committed" in outcomes
    assert outcomes <= {"committed", "committed too late", "being_removed", "sweep_under_way"}
