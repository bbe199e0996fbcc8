"""The history index against plain walks, and the last changes of paths against git."""

from contextlib import suppress
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.histories.git_contents import GitContents

from anabranch import _kernel as kernel
from anabranch.errors import Busy, NoChanges
from anabranch.testing.histories import criss_cross_history, random_history
from anabranch.testing.history_strategies import histories
from anabranch.testing.stores import fail_at
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.history.last_changes import LastChanges
from anabranch.versioning.history.log import Limits, filter_changed, log, seconds_and_nanos
from anabranch.versioning.history.merge_base import merge_bases
from anabranch.versioning.history.path_log import PathLog
from anabranch.versioning.records import keys, references

PATHS = ("a", "b/c", "b/d/e", "b/d/f", "g/h")
PREFIXES = ("", "b/", "b/d/", "b/d", "g", "z/")
NO_LIMITS = Limits(first_parent=False, since=None, stop_at=None, after=None)


def graph_of(history):
    graph = kernel.CommitGraph()
    graph.add([references.commit_bytes(history[commit_id]) for commit_id in history.ids])
    return graph


@given(histories(), st.data())
def test_merge_bases_of_graph_equal_those_of_stored_commits(history, data):
    left, right = (data.draw(st.sampled_from(history.ids)) for _ in range(2))
    found = graph_of(history).merge_bases(left, right)
    assert sorted(found) == sorted(merge_bases(history.read, left, right))


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.sample(13)
def test_merge_bases_of_graph_equal_those_of_criss_cross_histories(seed):
    random = Random(seed)
    if seed % 4 == 0:
        history = criss_cross_history(1 + seed // 4, "criss-cross")
    else:
        history = random_history(random, 60, "random")
    graph = graph_of(history)
    for left, right in (random.choices(history.ids, k=2) for _ in range(50)):
        expected = merge_bases(history.read, left, right)
        assert sorted(graph.merge_bases(left, right)) == sorted(expected)


@given(histories(), st.data())
def test_log_of_graph_has_each_commit_with_one_parent_within_the_limits(history, data):
    pick = st.sampled_from(history.ids)
    start = history[data.draw(pick)]
    limits = Limits(
        first_parent=data.draw(st.booleans()),
        since=None,
        stop_at=data.draw(st.none() | pick),
        after=data.draw(st.none() | pick),
    )
    since = data.draw(st.none() | pick)
    expected = log(history.read, start, **limits)
    expected = [commit.id for commit in expected if len(commit.parents) == 1]
    assert list(graph_of(history).log(start.id, [b"a"], [], **limits)) == expected
    if since is not None:
        oldest = history[since].creation_date, history[since].nanos
        kept = graph_of(history).log(start.id, [b"a"], [], since=oldest)
        for commit_id in kept:
            assert (history[commit_id].creation_date, history[commit_id].nanos) >= oldest


def test_graph_without_a_parent_raises_where_the_parent_is_needed():
    history = random_history(Random(1), 10, "random")
    graph = kernel.CommitGraph()
    graph.add([references.commit_bytes(history[history.ids[-1]])])
    with pytest.raises(kernel.KernelError, match="parent"):
        list(graph.log(history.ids[-1], [b"a"], []))
    with pytest.raises(kernel.KernelError, match="not in the graph"):
        graph.is_unknown(history.ids[0])
    with pytest.raises(kernel.KernelError):
        graph.add([b"\xff\xff"])
    assert len(graph) == 1


class Lake:
    """A repository with a random history, and git's repository with the same one."""

    def __init__(self, versions, seed, steps=25):
        self.versions = versions
        self.random = Random(seed)
        self.branches = ["main"]
        for number in range(steps):
            self.step(number)
        self.heads = [versions.head(branch).id for branch in self.branches]

    def step(self, number):
        random, versions = self.random, self.versions
        branch = random.choice(self.branches)
        kind = random.random()
        if kind < 0.15 and len(self.branches) < 4:
            name = f"branch-{number}"
            versions.branch(name, branch)
            self.branches.append(name)
        elif kind < 0.4:
            source = random.choice(self.branches)
            strategy = random.choice(("source-wins", "dest-wins"))
            with suppress(NoChanges):
                versions.merge(source, branch, strategy=strategy)
        else:
            versions.put(branch, **{path: random.choice("xyz") for path in random.sample(PATHS, 2)})
            if random.random() < 0.3:
                versions.remove(branch, random.choice(PATHS))
            with suppress(NoChanges):
                versions.commit(branch, f"{number}")

    def plain(self, start, objects, prefixes, limits=NO_LIMITS):
        versions = self.versions
        read = versions.core.commits.reader(versions.repository)
        changed = versions.core.differ.touched(versions.repository, objects, prefixes)
        found = filter_changed(read, log(read, start, **limits), changed)
        return [commit.id for commit in found]

    def indexed(self, start, objects, prefixes, limits=NO_LIMITS, **options):
        versions = self.versions
        index = HistoryIndex(versions.keyvalue, versions.core.commits, versions.core.trees)
        path_log = PathLog(versions.core.commits, index, **options)
        changed = versions.core.differ.touched(versions.repository, objects, prefixes)
        found = path_log.log(versions.repository, start, changed, objects, prefixes, limits)
        return [commit.id for commit in found]

    def last_changes(self, start, index=None):
        versions, core = self.versions, self.versions.core
        index = index or HistoryIndex(versions.keyvalue, core.commits, core.trees)
        found = LastChanges(core.commits, core.trees, index)
        return [each.id for each in found.find(versions.repository, start, PATHS, PREFIXES)]

    def check(self):
        """Checks that logs and last changes are those of plain walks."""
        versions, random = self.versions, self.random
        read = versions.core.commits.reader(versions.repository)
        for head in self.heads:
            start = read(head)
            known = [commit.id for commit in log(read, start)]
            assert self.last_changes(start) == self.last_changes(start, _NoIndex())
            for objects, prefixes in [
                *(((path,), ()) for path in PATHS),
                *(((), (prefix,)) for prefix in PREFIXES),
                (PATHS[:2], PREFIXES[2:3]),
            ]:
                limits = Limits(
                    first_parent=random.random() < 0.3,
                    since=None,
                    stop_at=random.choice([None, random.choice(known)]),
                    after=random.choice([None, random.choice(known)]),
                )
                expected = self.plain(start, objects, prefixes, limits)
                most = random.choice([1, 3, 1000])
                found = self.indexed(start, objects, prefixes, limits, max_compared=most)
                assert found == expected, (objects, prefixes, limits)


class _NoIndex:
    """An index that cannot be loaded."""

    def graph(self, *_):
        return None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(1)
def test_index_gives_the_results_of_plain_walks(versions, seed):
    Lake(versions, seed).check()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(1)
def test_damaged_index_changes_no_result(versions, seed):
    lake = Lake(versions, seed)
    partition = versions.repository.partition
    lake.last_changes(versions.head("main"))
    stored = list(versions.store.scan(partition, *keys.all_changed_paths()))
    assert stored
    for key, record in stored:
        kind = lake.random.randrange(5)
        if kind == 0:
            versions.store.apply([(partition, key, None)])
        elif kind == 1:
            at = lake.random.randrange(len(record))
            damaged = record[:at] + bytes([record[at] ^ 1 << lake.random.randrange(8)])
            versions.store.apply([(partition, key, damaged + record[at + 1 :])])
        elif kind == 2:
            versions.store.apply([(partition, key, record[: lake.random.randrange(len(record))])])
        elif kind == 3:
            versions.store.apply([(partition, key, lake.random.choice(stored)[1])])
    versions.store.apply([(partition, b"changed-paths/not-an-id", b"x")])
    lake.check()


def test_missing_records_are_written_when_a_commit_is_compared(versions, other):
    lake = Lake(versions, 5)
    partition = versions.repository.partition
    for key, _ in list(versions.store.scan(partition, *keys.all_changed_paths())):
        versions.store.apply([(partition, key, None)])
    start = versions.head("main")
    expected = lake.last_changes(start)
    written = [key for key, _ in versions.store.scan(partition, *keys.all_changed_paths())]
    assert written
    assert all(keys.changed_paths_commit(key) in lake_ids(versions, start) for key in written)
    found = other.core.last_changes.find(other.repository, start, PATHS, PREFIXES)
    assert [commit.id for commit in found] == expected


def lake_ids(versions, start):
    return {commit.id for commit in log(versions.core.commits.reader(versions.repository), start)}


def test_a_store_that_refuses_writes_gives_the_same_results(versions):
    lake = Lake(versions, 7)
    partition = versions.repository.partition
    for key, _ in list(versions.store.scan(partition, *keys.all_changed_paths())):
        versions.store.apply([(partition, key, None)])
    before = dict(versions.store.scan(partition))
    versions.keyvalue.before = fail_at("apply", 1, Busy("the disk is full"))
    lake.check()
    assert dict(versions.store.scan(partition)).keys() >= before.keys()


def test_index_takes_in_commits_of_other_processes(versions, other):
    versions.commit("main", a="x")
    assert last(versions, "main", "a") == versions.head("main").id
    first = versions.head("main").id
    for number in range(5):
        other.commit("main", b=str(number))
    assert last(versions, "main", "a") == first
    assert last(versions, "main", "b") == other.head("main").id
    other.commit("main", a="y")
    assert last(versions, "main", "a") == other.head("main").id


def last(versions, reference, path):
    (found,) = versions.core.last_changes.find(
        versions.repository, versions.head(reference), [path]
    )
    return found.id


def test_commit_of_many_paths_may_have_changed_any(versions):
    versions.commit("main", a="x")
    versions.put("main", **{f"p{number}": "x" for number in range(4100)})
    many = versions.commit("main")
    record = versions.store.get(versions.repository.partition, keys.changed_paths(many.id))
    assert len(record) == 6, "nothing is listed"
    head = versions.commit("main", b="x")
    assert last(versions, "main", "p77") == many.id
    assert last(versions, "main", "b") == head.id
    assert last(versions, "main", "a") == head.parents[0] or last(versions, "main", "a") != many.id


def test_merge_base_beyond_the_budget_is_found_by_the_index(versions):
    versions.branch("side")
    for number in range(6):
        versions.commit("main", a=str(number))
        versions.commit("side", b=str(number))
    versions.merge("side", "main")
    for number in range(6):
        versions.commit("main", c=str(number))
        versions.commit("side", d=str(number))
    core = versions.core
    heads = versions.head("main").id, versions.head("side").id
    small = HistoryIndex(versions.keyvalue, core.commits, core.trees, max_single_reads=3)
    expected = merge_bases(core.commits.reader(versions.repository), *heads)[0]
    assert small.merge_base(versions.repository, *heads) == expected
    assert small.is_loaded(versions.repository)
    assert core.history_index.merge_base(versions.repository, *heads) == expected


def test_where_the_index_is_loaded_it_finds_bases_that_are_not_near(versions):
    versions.branch("side")
    index, repository = versions.core.history_index, versions.repository
    versions.commit("side", b="x")
    base, side = versions.head("main").id, versions.head("side").id
    loaded = index.graph(repository, base)
    for number in range(20):
        near = versions.commit("main", a=f"{number}").id
    assert index.merge_base(repository, near, side) == base
    assert near not in loaded
    for number in range(40):
        far = versions.commit("main", a=f"far {number}").id
    assert index.merge_base(repository, far, side) == base
    assert far in loaded


def test_time_limit_is_given_to_the_graph_in_nanoseconds(versions):
    for word in "xyxy":
        versions.commit("main", a=word)
    head = versions.head("main")
    since = datetime.fromtimestamp(head.creation_date - 2, UTC)
    assert seconds_and_nanos(since) == (head.creation_date - 2, 0)
    lake = Lake(versions, 1, steps=0)
    limits = Limits(first_parent=False, since=since, stop_at=None, after=None)
    expected = lake.plain(head, ["a"], [], limits)
    assert 1 <= len(expected) < 4
    assert lake.indexed(head, ["a"], [], limits, max_compared=1) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sample(1)
def test_last_changes_are_those_of_git_log(versions, tmp_path, seed):
    lake = Lake(versions, seed)
    git = GitContents(tmp_path / "git", versions)
    compared = 0
    for head in lake.heads:
        start = versions.core.commits.get(versions.repository, head)
        content = versions.contents(head)
        found = dict(zip(PATHS, lake.last_changes(start), strict=False))
        for path in content.keys() & set(PATHS):
            assert git.last_change(head, path) == found[path]
            compared += 1
    assert compared > 4


def test_graph_proposes_only_commits_that_changed_the_path(versions):
    changed = []
    for number in range(60):
        path = "a" if number % 20 == 3 else "b/c/d"
        commit = versions.commit("main", **{path: str(number)})
        if path == "a":
            changed.insert(0, commit.id)
    head = versions.head("main").id
    graph = versions.core.history_index.graph(versions.repository, head)
    assert list(graph.log(head, [b"a"], [])) == changed
    assert list(graph.log(head, [], [b"b/x"])) == list(graph.log(head, [b"b/c/d"], []))
    assert list(graph.log(head, [b"b"], [])) == []
    assert graph.last_candidate(head, [b"b/c/d", b"a"], []) == (head, [0])
    assert graph.last_candidate(head, [b"a"], []) == (changed[0], [0])
