"""What rules may do with objects that the caller of a merge may not read, write or delete."""

import pytest

from anabranch.errors import MergeConflict
from anabranch.versioning.merging.content_rights import NO_CONTENT
from anabranch.versioning.merging.rules import MergeRules
from anabranch.versioning.strategies import registry


class Rights:
    """The rights to all paths but some."""

    def __init__(self, *, read=(), write=(), delete=()):
        self.read, self.write, self.delete = read, write, delete

    def may_read(self, path):
        return path not in self.read

    def may_write(self, path):
        return path not in self.write

    def may_delete(self, path):
        return path not in self.delete


@pytest.fixture
def diverged(lake):
    """A lake whose sides both changed `a` and `b`; `gone` was changed here and deleted there."""
    before = {"a": b"0\n", "b": b"0\n", "gone": b"0\n"}
    lake.diverge(
        before, {"a": b"1\n", "b": b"1\n", "gone": None}, {"a": b"2\n", "b": b"2\n", "gone": b"2\n"}
    )
    return lake


def reasons(lake, *rules, rights):
    """Returns the reasons why conflicts stay open, by path, of the dry run and of the merge."""
    before = lake.tree("main")
    preview = lake.preview(*rules, rights=rights)
    with pytest.raises(MergeConflict) as refused:
        lake.merge(*rules, rights=rights)
    assert lake.tree("main") == before
    found = {each.path: each.reason for each in refused.value.conflicts}
    assert {each.path: each.reason for each in preview.conflicts} == found
    return found


def test_rules_without_a_caller_take_sides_only(diverged):
    assert MergeRules().rights is NO_CONTENT
    diverged.merge(("a", "source-wins"), strategy="dest-wins", rights=NO_CONTENT)
    assert diverged.read("main", "a") == b"1\n"
    assert diverged.read("main", "b") == b"2\n"


@pytest.mark.parametrize("strategy", ["text", "json"])
def test_content_is_read_only_if_the_caller_may(diverged, strategy):
    found = reasons(
        diverged,
        ("a", strategy),
        ("*", "source-wins"),
        rights=Rights(read=["a"]),
    )
    assert found == {"a": "you may not read the object"}


@pytest.mark.parametrize(
    ("strategy", "rights", "reason"),
    [
        ("base", Rights(write=["a"]), "you may not write the object"),
        ("delete", Rights(delete=["a"]), "you may not delete the object"),
    ],
)
def test_what_no_side_has_needs_the_right_to_make_it(diverged, strategy, rights, reason):
    rules = ("a", strategy), ("*", "dest-wins")
    assert reasons(diverged, *rules, rights=rights) == {"a": reason}
    diverged.merge(*rules, rights=Rights(read=["a"]))
    assert diverged.read("main", "a") == (b"0\n" if strategy == "base" else None)


@pytest.mark.parametrize("strategy", ["delete", "source-wins"])
def test_a_deletion_by_a_side_needs_no_right(diverged, strategy):
    diverged.merge(("gone", strategy), strategy="dest-wins", rights=NO_CONTENT)
    assert diverged.read("main", "gone") is None


class Table:
    """A strategy that settles `a`, and reads, lists, writes or deletes `b`."""

    def __init__(self, options):
        self.does = options["does"]

    def merge(self, conflict, output):
        output.take("a", "source")
        if self.does == "read":
            conflict.read("source", "b")
        elif self.does == "list":
            list(conflict.list("destination", ""))
        elif self.does == "delete":
            output.delete("b")
        elif self.does == "take":
            output.take("b", "base")
        else:
            with output.create("b") as stream:
                stream.write(b"3\n")
        return []


HIDDEN = (
    "the strategy needs another object, which you may not read "
    "(Ask for the permission, or choose another strategy for the path.)"
)


@pytest.mark.parametrize(
    ("does", "rights", "reason"),
    [
        ("read", Rights(read=["b"]), HIDDEN),
        ("list", Rights(read=["b"]), HIDDEN),
        ("create", Rights(write=["b"]), "you may not write another object of the result"),
        ("take", Rights(write=["b"]), "you may not write another object of the result"),
        ("delete", Rights(delete=["b"]), "you may not delete another object of the result"),
    ],
)
def test_other_objects_of_a_table_need_the_same_rights(diverged, monkeypatch, does, rights, reason):
    monkeypatch.setitem(registry._BUILT_IN, "table", (__name__, "Table"))
    monkeypatch.setattr(registry, "_OF_DOCUMENTS", {"table"})  # small content is merged here
    rules = ("a", "table", {"does": does}), ("*", "dest-wins")
    assert reasons(diverged, *rules, rights=rights) == {"a": reason}
    diverged.merge(*rules, rights=Rights())
    assert diverged.read("main", "a") == b"1\n"
