"""A lake on a server raises the errors of a lake in a folder: class, kind, message and hint."""

from __future__ import annotations

import itertools

import pytest

from anabranch.errors import AnabranchError, NotSupported

from .lakes import WaitingLake

_numbers = itertools.count(1)


def prepare(lake, name):
    """A repository with a protected branch, a branch that conflicts, and uncommitted changes."""
    lake.repositories.create(name)
    lake.objects.upload(name, "main", "a", [b"1"])
    lake.objects.upload(name, "main", "t.csv", [b"k,v\na,1\n"])
    lake.commits.commit(name, "main", message="first")
    for branch in ("dev", "dirty", "other"):
        lake.branches.create(name, branch, "main")
    lake.objects.upload(name, "dev", "a", [b"2"])
    lake.commits.commit(name, "dev", message="second")
    lake.objects.upload(name, "other", "a", [b"3"])
    lake.commits.commit(name, "other", message="third")
    lake.objects.upload(name, "dirty", "b", [b"4"])
    lake.tags.create(name, "v1", "main")
    quiet = f"{name}-quiet"
    lake.repositories.create(quiet, read_only=True)


CASES = {
    "repository name": lambda lake, _: lake.repositories.create("Not a name"),
    "repository taken": lambda lake, sea: lake.repositories.create(sea),
    "default branch": lambda lake, sea: lake.repositories.create(f"{sea}-x", default_branch="a b"),
    "namespace taken": lambda lake, sea: lake.repositories.create(
        f"{sea}-x", f"local://data/{sea}"
    ),
    "namespace": lambda lake, _: lake.repositories.create("sea-x", "s3://bucket/x"),
    "no repository": lambda lake, _: lake.repositories.get("nowhere"),
    "no repository to delete": lambda lake, _: lake.repositories.delete("nowhere"),
    "repository is read-only": lambda lake, sea: lake.repositories.delete(f"{sea}-quiet"),
    "no repository of branches": lambda lake, _: lake.branches.list("nowhere", amount=1),
    "no repository of objects": lambda lake, _: lake.objects.stat("nowhere", "main", "a"),
    "branch taken": lambda lake, sea: lake.branches.create(sea, "dev", "main"),
    "branch is a tag": lambda lake, sea: lake.branches.create(sea, "v1", "main"),
    "branch name": lambda lake, sea: lake.branches.create(sea, "-x", "main"),
    "branch source": lambda lake, sea: lake.branches.create(sea, "x", "nothing"),
    "branch in read-only": lambda lake, sea: lake.branches.create(f"{sea}-quiet", "x", "main"),
    "no branch": lambda lake, sea: lake.branches.get(sea, "nothing"),
    "no branch to delete": lambda lake, sea: lake.branches.delete(sea, "nothing"),
    "default branch stays": lambda lake, sea: lake.branches.delete(sea, "main"),
    "no branch to reset": lambda lake, sea: lake.branches.reset(sea, "nothing", "reset"),
    "no path to reset": lambda lake, sea: lake.branches.reset(sea, "nothing", "object", "a"),
    "hard reset of changes": lambda lake, sea: lake.branches.hard_reset(sea, "dirty", "main"),
    "hard reset to nothing": lambda lake, sea: lake.branches.hard_reset(sea, "dev", "nothing"),
    "no branch of changes": lambda lake, sea: lake.branches.changes(sea, "nothing", amount=1),
    "revert of nothing": lambda lake, sea: lake.branches.revert(sea, "dev", "nothing"),
    "revert conflicts": lambda lake, sea: lake.branches.revert(sea, "dev", "other"),
    "revert of parents": lambda lake, sea: lake.branches.revert(sea, "dev", "dev", parent_number=3),
    "pick of nothing": lambda lake, sea: lake.branches.cherry_pick(sea, "dev", "nothing"),
    "pick conflicts": lambda lake, sea: lake.branches.cherry_pick(sea, "dev", "other"),
    "tag taken": lambda lake, sea: lake.tags.create(sea, "v1", "main"),
    "tag is a branch": lambda lake, sea: lake.tags.create(sea, "dev", "main"),
    "tag name": lambda lake, sea: lake.tags.create(sea, "a b", "main"),
    "tag of nothing": lambda lake, sea: lake.tags.create(sea, "v2", "nothing"),
    "no tag": lambda lake, sea: lake.tags.get(sea, "v9"),
    "no tag to delete": lambda lake, sea: lake.tags.delete(sea, "v9"),
    "nothing to commit": lambda lake, sea: lake.commits.commit(sea, "dev", message="m"),
    "commit to nothing": lambda lake, sea: lake.commits.commit(sea, "nothing", message="m"),
    "commit to read-only": lambda lake, sea: lake.commits.commit(
        f"{sea}-quiet", "main", message="m"
    ),
    "log of nothing": lambda lake, sea: lake.commits.log(sea, "nothing", amount=1),
    "log after nothing": lambda lake, sea: lake.commits.log(sea, "main", after="zz", amount=1),
    "expression": lambda lake, sea: lake.commits.log(sea, "main~x", amount=1),
    "diff of nothing": lambda lake, sea: lake.refs.diff(sea, "main", "nothing", amount=1),
    "rows of nothing": lambda lake, sea: lake.refs.diff_rows(sea, "main", "dev", "x", amount=1),
    "rows of no table": lambda lake, sea: lake.refs.diff_rows(sea, "main", "dev", "a", amount=1),
    "wrong key": lambda lake, sea: lake.refs.diff_rows(
        sea, "main", "dev", "t.csv", key=["zz"], amount=1
    ),
    "merge conflicts": lambda lake, sea: lake.refs.merge(sea, "dev", "other"),
    "merge of nothing": lambda lake, sea: lake.refs.merge(sea, "nothing", "main"),
    "merge into nothing": lambda lake, sea: lake.refs.merge(sea, "dev", "nothing"),
    "merge into changes": lambda lake, sea: lake.refs.merge(sea, "dev", "dirty"),
    "merge without changes": lambda lake, sea: lake.refs.merge(sea, "main", "dev"),
    "merge strategy": lambda lake, sea: lake.refs.merge(sea, "dev", "main", strategy="mine"),
    "merge resolution": lambda lake, sea: lake.refs.merge(sea, "dev", "main", resolutions=[{}]),
    "conflicts of nothing": lambda lake, sea: lake.refs.merge_conflicts(
        sea, "nothing", "main", amount=1
    ),
    "rows in no conflict": lambda lake, sea: lake.refs.row_conflicts(
        sea, "dev", "main", "zz", amount=1
    ),
    "preview of nothing": lambda lake, sea: lake.refs.preview_merge(sea, "nothing", "main"),
    "base of nothing": lambda lake, sea: lake.refs.merge_base(sea, "nothing", "main"),
    "no object": lambda lake, sea: lake.objects.stat(sea, "main", "zz"),
    "no object to open": lambda lake, sea: lake.objects.open(sea, "main", "zz"),
    "object at nothing": lambda lake, sea: lake.objects.open(sea, "nothing", "a"),
    "listing of nothing": lambda lake, sea: lake.objects.listing(sea, "nothing", amount=1),
    "pages of nothing": lambda lake, sea: list(lake.objects.pages(sea, "nothing")),
    "upload to nothing": lambda lake, sea: lake.objects.upload(sea, "nothing", "a", [b"1"]),
    "upload to a tag": lambda lake, sea: lake.objects.upload(sea, "v1", "a", [b"1"]),
    "upload to read-only": lambda lake, sea: lake.objects.upload(
        f"{sea}-quiet", "main", "a", [b"1"]
    ),
    "upload of too long a path": lambda lake, sea: lake.objects.upload(
        sea, "main", "ü" * 513, [b"1"]
    ),
    "large metadata": lambda lake, sea: lake.objects.upload(
        sea, "main", "z", [b"1"], metadata={"k": "x" * 3000}
    ),
    "object is there": lambda lake, sea: lake.objects.upload(
        sea, "main", "a", [b"1"], if_absent=True
    ),
    "copy of nothing": lambda lake, sea: lake.objects.copy(sea, "main", "z", source_path="zz"),
    "copy from nowhere": lambda lake, sea: lake.objects.copy(
        sea, "main", "z", source_path="a", source_repository="nowhere"
    ),
    "delete on nothing": lambda lake, sea: lake.objects.delete(sea, "nothing", "a"),
    "delete in read-only": lambda lake, sea: lake.objects.delete(f"{sea}-quiet", "main", "a"),
    "deletes in read-only": lambda lake, sea: lake.objects.delete_many(
        f"{sea}-quiet", "main", ["a", "b"]
    ),
    "deletes on nothing": lambda lake, sea: lake.objects.delete_many(sea, "nothing", ["a"]),
    "too many deletes": lambda lake, sea: lake.objects.delete_many(sea, "main", ["a"] * 1001),
    "metadata of nothing": lambda lake, sea: lake.objects.set_user_metadata(sea, "main", "zz", {}),
}


@pytest.fixture(scope="module")
def pairs(lake, folder_lake):
    """A lake, and that of a folder, with equal repositories."""
    name = f"errors-{next(_numbers)}"
    prepare(folder_lake, name)
    if lake is not folder_lake:
        prepare(lake, name)
    return lake, folder_lake, name


def raised(call, lake, name):
    with pytest.raises(AnabranchError) as caught:
        call(lake, name)
    error = caught.value
    more = {key: value for key, value in vars(error).items() if key in {"paths", "count", "size"}}
    return type(error), error.kind, error.message, error.hint, more


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sample(27)
def test_errors_are_those_of_a_lake_in_a_folder(pairs, case):
    lake, folder, name = pairs
    ours, expected = raised(CASES[case], lake, name), raised(CASES[case], folder, name)
    assert ours == expected


@pytest.mark.sample(1)
def test_the_cases_have_many_kinds(pairs):
    _, folder, name = pairs
    found = [raised(call, folder, name) for call in CASES.values()]
    assert len({kind for _, kind, *_ in found}) > 25
    assert len({cls for cls, *_ in found}) > 9


def test_a_committer_is_refused_by_servers(lake, folder_lake, sea):
    calls = [
        lambda: lake.commits.commit(sea, "main", message="m", committer="bob", allow_empty=True),
        lambda: lake.refs.merge(sea, "main", "main", committer="bob"),
        lambda: lake.branches.revert(sea, "main", "main", committer="bob"),
        lambda: lake.branches.cherry_pick(sea, "main", "main", committer="bob"),
    ]
    if lake is folder_lake:
        assert calls[0]().committer == "bob"
        return
    for call in calls:
        with pytest.raises(NotSupported) as refused:
            call()
        assert refused.value.kind == "committer_not_supported"
    assert isinstance(lake, WaitingLake) or lake.commits.log(sea, "main", amount=9).items
