"""Pages of long logs, by the history index, against the plain walk."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.histories.git_mirror import GitMirror

from anabranch import _kernel as kernel
from anabranch.brevity import BRIEF_BYTES, TakesLong, brief
from anabranch.errors import Corrupt, Invalid, NotFound
from anabranch.model.commits.commit import CommitFields
from anabranch.model.references.expression import parse_expression
from anabranch.testing.histories import History
from anabranch.testing.history_strategies import histories
from anabranch.versioning.history.commit_log import CommitLog
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.history.log import Limits, log, log_page, seconds_and_nanos
from anabranch.versioning.records import keys, references


@given(histories(), st.data())
def test_log_of_a_graph_is_that_of_the_plain_walk(history, data):
    graph = kernel.CommitGraph()
    graph.add([references.commit_bytes(history[commit_id]) for commit_id in history.ids])
    pick = st.sampled_from(history.ids)
    oldest = data.draw(st.none() | pick)
    since = None if oldest is None else datetime.fromtimestamp(history[oldest].creation_date, UTC)
    limits = Limits(
        first_parent=data.draw(st.booleans()),
        since=since,
        stop_at=data.draw(st.none() | pick),
        after=data.draw(st.none() | pick),
    )
    start = history[data.draw(pick)]
    in_graph = {**limits, "since": None if since is None else seconds_and_nanos(since)}
    expected = [commit.id for commit in log(history.read, start, **limits)]
    assert list(graph.log(start.id, **in_graph)) == expected


class Reads:
    """Counts how often commits are read."""

    def __init__(self, commits):
        self.commits, self.count = commits, 0

    def get(self, repository, commit_id):
        return self.reader(repository)(commit_id)

    def reader(self, repository):
        return self._counted(self.commits.reader(repository))

    def brief_reader(self, repository):
        return self._counted(self.commits.brief_reader(repository))

    def _counted(self, read):
        def counted(commit_id):
            self.count += 1
            return read(commit_id)

        return counted


def grow(versions, seed, steps=30):
    random = Random(seed)
    versions.branch("side")
    for number in range(steps):
        branch = random.choice(["main", "side"])
        if number % 7 == 6:
            versions.merge("side" if branch == "main" else "main", branch, strategy="source-wins")
        versions.commit(branch, **{f"{branch}{number}": "x"})
    versions.commit("side", last="x")
    versions.merge("side", "main", strategy="source-wins")
    return versions.head("main")


@pytest.mark.parametrize("most", [0, 1, 5, 1000])
@pytest.mark.parametrize("first_parent", [False, True])
@pytest.mark.sample(1)
def test_pages_make_the_whole_log(versions, most, first_parent):
    core, head = versions.core, grow(versions, most)
    expected = list(log(core.commits.reader(versions.repository), head, first_parent=first_parent))
    paged = CommitLog(core.commits, index_of(versions), max_repeated=most)
    limits = Limits(first_parent=first_parent, since=None, stop_at=None, after=None)
    found, has_more = [], True
    while has_more:
        page = log_page(paged.log(versions.repository, head, limits), 4)
        found += page.items
        has_more, limits = page.has_more, {**limits, "after": page.next_offset}
    assert found == expected


def index_of(versions, **options):
    return HistoryIndex(versions.keyvalue, versions.core.commits, versions.core.trees, **options)


def test_a_late_page_of_a_long_log_reads_its_own_commits_alone(versions):
    head = grow(versions, 3, steps=60)
    core = versions.core
    commits = list(log(core.commits.reader(versions.repository), head))
    reads = Reads(core.commits)
    paged = CommitLog(reads, index_of(versions), max_repeated=10)
    limits = Limits(first_parent=False, since=None, stop_at=None, after=commits[50].id)
    list(paged.log(versions.repository, head, limits))  # loads the index
    reads.count = 0
    page = log_page(paged.log(versions.repository, head, limits), 5, limit=True)
    assert page.items == commits[51:56]
    assert reads.count == 5


def test_a_missing_parent_is_the_same_error_by_the_index(versions):
    head = grow(versions, 5)
    commits = list(log(versions.core.commits.reader(versions.repository), head))
    versions.store.apply([(versions.repository.partition, keys.commit(commits[20].id), None)])
    again = type(versions.core.commits)(versions.keyvalue, lambda: 0.0)  # without a cache
    index = HistoryIndex(versions.keyvalue, again, versions.core.trees)
    limits = Limits(first_parent=False, since=None, stop_at=None, after=commits[2].id)
    with pytest.raises((NotFound, Corrupt)) as by_index:
        list(CommitLog(again, index, max_repeated=0).log(versions.repository, head, limits))
    with pytest.raises((NotFound, Corrupt)) as plain:
        list(log(again.reader(versions.repository), head, **limits))
    assert by_index.value.message == plain.value.message


@pytest.mark.parametrize("text", ["x~3", "x~12", "x^2~3", "x~1999", "x^9", "x~~~~~~~~"])
@pytest.mark.sample(1)
def test_revisions_far_back_are_those_of_the_plain_walk(versions, text):
    head, modifiers = grow(versions, 4), parse_expression(text).modifiers
    outcomes = []
    for most in (1, 1000):
        index = index_of(versions, max_single_reads=most)
        try:
            outcomes.append(index.revision(versions.repository, head, modifiers))
        except Exception as error:  # noqa: BLE001  compared with the other
            outcomes.append((type(error), str(error), error.hint))
        assert index.is_loaded(versions.repository) == (most == 1 or text == "x~1999")
    assert outcomes[0] == outcomes[1]


FAR_BACK = ["~900", "~51", "~30^~401^2~30", "^2~60", "~949", "~950", "~60^3", "~" * 120, "~0"]


def test_where_the_index_is_loaded_ancestors_far_back_take_few_reads(versions, tmp_path):
    history = History("far back")
    side = main = history.add()
    for number in range(949):
        side = history.add(side)
        main = history.add(main, *([side] if number % 3 == 0 else []))
    repository = versions.repository
    records = [(keys.commit(each), references.commit_bytes(history[each])) for each in history.ids]
    versions.store.apply([(repository.partition, *record) for record in records])
    reads = Reads(versions.core.commits)
    index = HistoryIndex(versions.keyvalue, reads, versions.core.trees)
    assert index.graph(repository, main) is not None
    expected = GitMirror(tmp_path / "git", [history]).resolve([(main, text) for text in FAR_BACK])
    assert expected.count(None) == 2
    for text, ancestor in zip(FAR_BACK, expected, strict=True):
        reads.count = 0
        modifiers = parse_expression(f"x{text}").modifiers
        try:
            found = index.revision(repository, history[main], modifiers).id
        except (Invalid, NotFound):
            found = None
        assert found == ancestor, text
        assert reads.count <= 50, text


def test_thousands_of_parents_are_not_read_where_that_must_be_brief(versions):
    core, repository, root = versions.core, versions.repository, versions.head("main")

    def made(message, parents):
        tree = root.metarange_id
        return core.commits.make(
            committer="ann", message=message, metarange_id=tree, metadata={}, parents=parents
        )

    parents = [made(str(number), [root]) for number in range(3_000)]
    merge = made("all", parents)
    writes = [core.commits.write(repository, each) for each in (*parents, merge)]
    core.keyvalue.apply(writes)
    reads = Reads(core.commits)
    logs = CommitLog(reads, index_of(versions))
    limits = Limits(first_parent=False, since=None, stop_at=None, after=None)
    with brief():
        assert log_page(logs.log(repository, parents[0], limits), 2).items == [parents[0], root]
        reads.count = 0
        with pytest.raises(TakesLong):
            log_page(logs.log(repository, merge, limits), 2)
    assert reads.count == 0
    assert len(log_page(logs.log(repository, merge, limits), 100).items) == 100


@pytest.mark.parametrize("field", ["message", "metadata"])
def test_long_commits_are_not_read_where_that_must_be_brief(versions, field):
    text = "x" * (BRIEF_BYTES // 4)
    fields = {"message": text} if field == "message" else {"metadata": {text: "v"}}
    for _ in range(9):
        fields_of_commit = CommitFields(**{"committer": "ann", "message": "m", **fields})
        head = versions.commit_staged("main", fields=fields_of_commit, allow_empty=True)
    again = type(versions.core.commits)(versions.keyvalue, lambda: 0.0)  # without a cache
    logs = CommitLog(again, index_of(versions))
    limits = Limits(first_parent=False, since=None, stop_at=None, after=None)
    with brief():
        first = log_page(logs.log(versions.repository, head, limits), 2).items
        with pytest.raises(TakesLong):
            log_page(logs.log(versions.repository, head, limits), 10)
    whole = list(logs.log(versions.repository, head, limits))
    assert (len(whole), first) == (10, whole[:2])
    with brief():  # now they are in memory
        assert log_page(logs.log(versions.repository, head, limits), 10).items == whole
