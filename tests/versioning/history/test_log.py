from datetime import UTC, datetime, timedelta, timezone
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Invalid
from anabranch.testing.histories import FIRST_DATE, History, linear_history, random_history
from anabranch.testing.history_strategies import histories
from anabranch.versioning.history.log import filter_changed, log, log_page
from anabranch.versioning.history.revision_walk import ancestors


def listed(history, start, **options):
    return [commit.id for commit in log(history.read, history[start], **options)]


def age(history, commit_id):
    commit = history[commit_id]
    return commit.creation_date, commit.nanos, commit_id


def at(seconds, nanos=0):
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos // 1000)


@given(histories(), st.data())
def test_log_yields_newest_known_commit_first_and_each_once(history, data):
    start = data.draw(st.sampled_from(history.ids))
    known, expected = {start}, []
    while known:
        expected.append(max(known, key=lambda commit_id: age(history, commit_id)))
        known = (known | set(history[expected[-1]].parents)) - set(expected)
    assert listed(history, start) == expected
    assert set(expected) == set(ancestors(history.read, start))


def test_equal_dates_are_ordered_by_nanoseconds_then_id_descending():
    history = History()
    root = history.add(creation_date=0)
    same = [history.add(root, creation_date=5, nanos=7) for _ in range(4)]
    later = history.add(root, creation_date=5, nanos=8)
    top = history.add(*same, later, creation_date=9)
    assert listed(history, top) == [top, later, *sorted(same, reverse=True), root]


def test_first_parent_follows_only_first_parents():
    history = History()
    root = history.add()
    main = history.add(root)
    merge = history.add(main, history.add(root))
    assert listed(history, merge, first_parent=True) == [merge, main, root]
    assert len(listed(history, merge)) == 4


def test_since_omits_older_commits_and_those_behind_them():
    history = History()
    root = history.add(creation_date=100)
    wrong_clock = history.add(root, creation_date=50)
    old = history.add(root, creation_date=99)
    head = history.add(wrong_clock, old, creation_date=200)
    assert listed(history, head, since=at(100)) == [head]
    assert listed(history, head, since=at(99)) == [head, old, root]
    assert listed(history, head, since=at(201)) == []


def test_since_is_exact_to_nanoseconds():
    history = History()
    head = history.add(creation_date=FIRST_DATE, nanos=123_456_000)
    assert listed(history, head, since=at(FIRST_DATE, 123_456_000)) == [head]
    assert listed(history, head, since=at(FIRST_DATE, 123_457_000)) == []


def test_since_respects_time_zone():
    history = linear_history(3)
    cut = datetime.fromtimestamp(FIRST_DATE + 60, timezone(timedelta(hours=-7)))
    assert listed(history, history.ids[-1], since=cut) == [history.ids[2], history.ids[1]]


def test_since_without_zone_is_invalid():
    history = linear_history(1)
    with pytest.raises(Invalid) as caught:
        listed(history, history.ids[0], since=datetime(2024, 1, 1))  # noqa: DTZ001  the mistake
    assert caught.value.kind == "invalid_time"


def test_stop_at_is_last_commit():
    history = History()
    root = history.add()
    left, right = history.add(root), history.add(root)
    lower = history.add(left)
    head = history.add(lower, right)
    assert listed(history, head, stop_at=lower) == [head, lower]
    assert listed(history, head, stop_at=right) == [head, lower, right]
    assert listed(history, head, stop_at=lower, first_parent=True) == [head, lower]
    assert listed(history, head, stop_at=head) == [head]


@given(histories(), st.data())
def test_after_continues_behind_that_commit(history, data):
    start = data.draw(st.sampled_from(history.ids))
    order = listed(history, start)
    after = data.draw(st.sampled_from(order))
    assert listed(history, start, after=after) == order[order.index(after) + 1 :]


def test_after_unknown_commit_yields_nothing():
    history = linear_history(5)
    assert listed(history, history.ids[2], after=history.ids[4]) == []


def test_changed_is_called_only_for_commits_with_one_parent():
    history = History()
    root = history.add()
    left, right = history.add(root), history.add(root)
    merge = history.add(left, right)
    head = history.add(merge)
    asked = []

    def changed(commit, parent):
        asked.append((commit.id, parent.id))
        return commit.id in {head, left, merge, root}

    found = filter_changed(history.read, log(history.read, history[head]), changed)
    assert [commit.id for commit in found] == [head, left]
    assert asked == [(head, merge), (right, root), (left, root)]


def test_changed_is_not_called_for_skipped_commits():
    history = linear_history(10)
    asked = []

    def changed(commit, _parent):
        asked.append(commit.id)
        return True

    commits = log(history.read, history[history.ids[9]], after=history.ids[3])
    assert list(filter_changed(history.read, commits, changed))
    assert set(asked) == set(history.ids[1:3])


def test_log_reads_commits_lazily():
    history = linear_history(100)
    commits = log(history.read, history[history.ids[-1]])
    assert history.reads == 0
    for count in range(1, 6):
        next(commits)
        assert history.reads == count - 1


@pytest.mark.parametrize("amount", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("seed", range(5))
def test_concatenated_pages_equal_log(seed, amount):
    print("seed", seed)
    history = random_history(Random(seed), 21, f"pages {seed}")
    start = history.ids[-1]
    whole = listed(history, start)
    collected, after = [], None
    while True:
        page = log_page(log(history.read, history[start], after=after), amount)
        collected += [commit.id for commit in page.items]
        assert len(page.items) <= amount
        assert page.has_more == (len(collected) < len(whole))
        assert page.next_offset == (collected[-1] if page.has_more else "")
        if not page.has_more:
            break
        after = page.next_offset
    assert collected == whole


def test_limit_reads_no_further_commits():
    history = linear_history(100)
    page = log_page(log(history.read, history[history.ids[-1]]), 3, limit=True)
    assert [commit.id for commit in page.items] == history.ids[:-4:-1]
    assert (page.has_more, page.next_offset) == (False, "")
    assert history.reads == 2


def test_page_of_empty_log_is_empty():
    assert log_page([], 10).items == []


def test_log_of_a_repository_follows_commits_and_merges(versions):
    """The same order from stored records as from the commits that were made."""
    first = versions.head("main")
    made = {first.id: first}

    def note(commit):
        made[commit.id] = commit
        return commit

    note(versions.commit("main", a="1"))
    versions.branch("dev")
    for number in range(3):
        note(versions.commit("dev", b=str(number)))
        note(versions.commit("main", c=str(number)))
    merged = note(versions.merge("dev", "main"))
    head = note(versions.commit("main", d="1"))
    read = versions.core.commits.reader(versions.repository)
    dates = [(commit.creation_date, commit.nanos) for commit in log(read, head)]
    assert dates == sorted(dates, reverse=True)
    assert {commit.id for commit in log(read, head)} == made.keys()
    assert list(log(read, head))[1] == merged
    mine = [commit.id for commit in log(read, head, first_parent=True)]
    assert mine == [head.id, merged.id, *main_line(made, merged.parents[0])]
    assert [commit.id for commit in log(read, head, stop_at=merged.id)] == [head.id, merged.id]


def main_line(made, commit_id):
    """Returns a commit and its first parents, from the commits as they were made."""
    line = [commit_id]
    while made[line[-1]].parents:
        line.append(made[line[-1]].parents[0])
    return line
