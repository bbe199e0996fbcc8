"""Delta logs of two sides that become one, read by the package deltalake."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.formats.delta_tables import (
    DeltaBranches,
    append,
    commit_actions,
    delete,
    log_files,
    log_names,
    open_table,
    overwrite,
    rows,
    table_folder,
)
from support.merged_trees import branch_folder, read_tree
from support.session.hypothesis_profiles import examples

from anabranch.errors import Conflict
from anabranch.testing.strategy_runs import run_strategy
from anabranch.versioning.strategies.delta.strategy import delta_strategy

BASE = {1: "mon", 2: "mon", 3: "tue", 4: "wed"}


def test_appends_of_both_sides_are_in_the_table(branches):
    append(branches.source, {5: "mon", 6: "thu"})
    append(branches.source, {7: "thu"})
    append(branches.destination, {8: "mon"})
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert rows(merged) == {**BASE, 5: "mon", 6: "thu", 7: "thu", 8: "mon"}
    assert [rows(merged, version=version) for version in range(4)] == [
        BASE,
        {**BASE, 8: "mon"},
        {**BASE, 8: "mon", 5: "mon", 6: "thu"},
        {**BASE, 8: "mon", 5: "mon", 6: "thu", 7: "thu"},
    ]


def test_commits_of_the_destination_stay_byte_by_byte(branches):
    append(branches.source, {5: "mon"})
    append(branches.destination, {6: "mon"})
    append(branches.destination, {7: "mon"})
    merged, _ = branches.merge()
    files = read_tree(branches.destination)
    assert {path: read_tree(merged)[path] for path in files} == files


def test_changes_of_different_partitions_are_in_the_table(branches):
    overwrite(branches.source, "mon", [10])
    delete(branches.destination, "day = 'wed'")
    append(branches.destination, {11: "fri"})
    merged, conflicts = branches.merge()
    assert conflicts == []
    assert rows(merged) == {10: "mon", 3: "tue", 11: "fri"}


def test_compaction_and_append_are_in_the_table(branches):
    for number in (5, 6, 7):
        append(branches.base, {number: "mon"})
    branches.fork()
    open_table(branches.source).optimize.compact()
    append(branches.destination, {8: "mon"})
    for sides in (
        (branches.base, branches.source, branches.destination),
        (branches.base, branches.destination, branches.source),
    ):
        merged, conflicts = branches.merge(*sides)
        assert conflicts == []
        assert rows(merged) == {**BASE, 5: "mon", 6: "mon", 7: "mon", 8: "mon"}


def test_a_merge_that_is_repeated_gives_the_same_bytes(branches):
    append(branches.source, {5: "mon"})
    overwrite(branches.source, "tue", [6])
    append(branches.destination, {7: "mon"})
    assert read_tree(branches.merge()[0]) == read_tree(branches.merge()[0])


def test_partition_values_with_special_characters(branches):
    values = ["a b", "b:%/ü", "50%25", "x=y", None, "", "#?&", "ä\n"]
    append(branches.base, dict(enumerate(values, 10)))
    branches.fork()
    append(branches.source, {20: "b:%/ü", 21: None})
    overwrite(branches.source, "a b", [22])
    overwrite(branches.destination, "x=y", [23])
    delete(branches.destination, "day = '50%25'")
    merged, conflicts = branches.merge()
    assert conflicts == []
    expected = rows(branches.base)
    for number in (10, 12, 13):
        del expected[number]
    assert rows(merged) == {**expected, 20: "b:%/ü", 21: None, 22: "a b", 23: "x=y"}


@pytest.mark.slow
def test_merges_in_a_row_and_back(branches):
    """Two branches merge into each other again and again, so their logs have different orders."""
    dev, main, was = branches.source, branches.destination, branches.base
    expected = dict(BASE)
    for number in range(10, 40, 5):
        append(dev, {number: "mon"})
        append(dev, {number + 1: "tue"})
        append(main, {number + 2: "mon"})
        expected |= {number: "mon", number + 1: "tue", number + 2: "mon"}
        merged, conflicts = branches.merge(was, dev, main)
        assert conflicts == []
        assert rows(merged) == expected
        # dev has not seen the merge: it is the base of the next one, in either direction
        was, main = dev, merged
        dev = branch_folder(dev, f"dev-{number}")
        if number % 2:
            append(dev, {number + 3: "wed"})
            append(main, {number + 4: "wed"})
            expected |= {number + 3: "wed", number + 4: "wed"}
            into_dev, conflicts = branches.merge(was, main, dev)
            assert conflicts == []
            assert rows(into_dev) == expected
            was, dev = main, into_dev
            main = branch_folder(main, f"main-{number}")
    assert len(commit_actions(main, 1)) == 2
    assert log_names(main)[-1] < f"{60:020}"


def test_crossed_merges_have_each_commit_once(branches):
    """Each branch has merged the other, so both have all commits, in different orders."""
    append(branches.source, {5: "mon"})
    append(branches.destination, {6: "mon"})
    one, _ = branches.merge()
    other, _ = branches.merge(branches.base, branches.destination, branches.source)
    assert log_names(one) == log_names(other)
    append(one, {7: "mon"})
    merged, conflicts = branches.merge(branches.source, one, other)
    assert conflicts == []
    assert rows(merged) == {**BASE, 5: "mon", 6: "mon", 7: "mon"}
    assert len(log_names(merged)) == 4


def test_third_branch_with_the_same_commit_at_the_same_version(branches):
    """The logs agree at a version and not before it: [z, y, n] and [x, y, z], with base [z, y]."""
    start = branches.base
    x, y, z = (branch_folder(start, name) for name in "xyz")
    append(x, {10: "mon"})
    append(y, {11: "mon"})
    append(z, {12: "mon"})
    z_y, _ = branches.merge(start, y, z)
    x_y, _ = branches.merge(start, y, x)
    x_y_z, _ = branches.merge(y, z_y, x_y)
    z_y_n = branch_folder(z_y, "z-y-n")
    append(z_y_n, {13: "mon"})
    merged, conflicts = branches.merge(z_y, z_y_n, x_y_z)
    assert conflicts == []
    assert rows(merged) == {**BASE, 10: "mon", 11: "mon", 12: "mon", 13: "mon"}
    assert len(log_names(merged)) == 5


def test_table_at_the_root_of_the_repository(branches):
    """The log is `_delta_log/` itself."""
    append(branches.source, {5: "mon"})
    append(branches.destination, {6: "mon"})
    sides = (branches.base, branches.source, branches.destination)
    merged, conflicts = branches.merge(*(table_folder(side) for side in sides))
    assert conflicts == []
    assert max((merged / "_delta_log").iterdir()).name == f"{2:020}.json"


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "overwrite", "delete", "delete-row", "compact"]),
        st.sampled_from(["mon", "tue", "wed", "thu"]),
    ),
    min_size=1,
    max_size=4,
)


def perform(folder, operations, number):
    """Performs operations; returns the days in which one has removed rows."""
    changed = set()
    for name, day in operations:
        number += 1
        if name == "append":
            append(folder, {number: day})
        elif name == "overwrite":
            overwrite(folder, day, [number])
            changed.add(day)
        elif name == "delete":
            delete(folder, f"day = '{day}'")
            changed.add(day)
        elif name == "delete-row":
            delete(folder, f"day = '{day}' and id < 3")
            changed.add(day)
        else:
            open_table(folder).optimize.compact()
    return changed


@settings(max_examples=examples(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(theirs=OPERATIONS, ours=OPERATIONS)
def test_random_operations_are_merged_as_sets_of_rows(tmp_path_factory, theirs, ours):
    branches = DeltaBranches(tmp_path_factory.mktemp("tables"))
    append(branches.base, {6: "mon"})
    branches.fork()
    days = [
        perform(branches.source, theirs, 100),
        perform(branches.destination, ours, 200),
    ]
    assume(log_files(branches.base) not in map(log_files, (branches.source, branches.destination)))
    merged, conflicts = branches.merge(isolation="snapshot")
    was, there, here = (
        set(rows(side).items()) for side in (branches.base, branches.source, branches.destination)
    )
    if (was - there) & (was - here):
        assert conflicts
    compacted = any(name == "compact" for name, _ in theirs + ours)
    if not conflicts:
        kept = was & there & here
        assert set(rows(merged).items()) == kept | (there - was) | (here - was)
    elif not compacted:
        assert days[0] & days[1]


@pytest.mark.parametrize("path", ["data/events/part-0.parquet", "x_delta_log/0.json"])
def test_a_path_outside_of_a_log_is_refused(path):
    with pytest.raises(Conflict, match="not in the log of a Delta table"):
        run_strategy(delta_strategy({}), path, source=b"1", destination=b"2")
