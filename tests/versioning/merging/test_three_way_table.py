"""Every combination of what two sides did with a path, under every strategy."""

import pytest

from anabranch.errors import MergeConflict, NoChanges
from tests.versioning.merging.conftest import merge_rules

BASE, SOURCE, DESTINATION, MERGED = "base", "source", "destination", "merged"

TABLE = {
    # what both sides did: base, source, destination, result; None stands for no object
    "nobody changed it": (BASE, BASE, BASE, BASE),
    "source changed it": (BASE, SOURCE, BASE, SOURCE),
    "destination changed it": (BASE, BASE, DESTINATION, DESTINATION),
    "both made the same change": (BASE, SOURCE, SOURCE, SOURCE),
    "source deleted it": (BASE, None, BASE, None),
    "destination deleted it": (BASE, BASE, None, None),
    "both deleted it": (BASE, None, None, None),
    "source added it": (None, SOURCE, None, SOURCE),
    "destination added it": (None, None, DESTINATION, DESTINATION),
    "both added the same": (None, SOURCE, SOURCE, SOURCE),
}
CONFLICTS = {
    "both_changed": (BASE, SOURCE, DESTINATION),
    "changed_deleted": (BASE, SOURCE, None),
    "deleted_changed": (BASE, None, DESTINATION),
    "added_twice": (None, SOURCE, DESTINATION),
}
CONTENTS = {
    "csv": {
        BASE: b"id,a\n1,x\n2,x\n3,x\n",
        SOURCE: b"id,a\n1,S\n2,x\n3,x\n",
        DESTINATION: b"id,a\n1,x\n2,x\n3,D\n",
        MERGED: b"id,a\n1,S\n2,x\n3,D\n",
    },
    "jsonl": {
        BASE: b'{"id":1,"a":"x"}\n{"id":2,"a":"x"}\n',
        SOURCE: b'{"id":1,"a":"S"}\n{"id":2,"a":"x"}\n',
        DESTINATION: b'{"id":1,"a":"x"}\n{"id":2,"a":"D"}\n',
        MERGED: b'{"id":1,"a":"S"}\n{"id":2,"a":"D"}\n',
    },
    "json": {
        BASE: b'{"a": "x", "b": "x"}\n',
        SOURCE: b'{"a": "S", "b": "x"}\n',
        DESTINATION: b'{"a": "x", "b": "D"}\n',
        MERGED: b'{"a": "S", "b": "D"}\n',
    },
    "txt": {
        BASE: b"1\n2\n3\n4\n5\n",
        SOURCE: b"S\n2\n3\n4\n5\n",
        DESTINATION: b"1\n2\n3\n4\nD\n",
        MERGED: b"S\n2\n3\n4\nD\n",
    },
}
OF_CONTENT = {"csv": "rows", "jsonl": "rows", "json": "json", "txt": "text"}
SIDES = {"source-wins": 1, "dest-wins": 2, "base": 0}
STRATEGIES = [
    *(("txt", strategy) for strategy in ("", "fail", "delete", *SIDES)),
    *OF_CONTENT.items(),
]


def diverge(lake, extension, *sides):
    """Commits the versions of one path, and returns its name."""
    path = f"path.{extension}"
    contents = [None if side is None else CONTENTS[extension][side] for side in sides]
    base, source, destination = contents
    lake.diverge(
        {} if base is None else {path: base},
        {} if source == base else {path: source},
        {} if destination == base else {path: destination},
    )
    return path


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize(("extension", "strategy"), STRATEGIES)
@pytest.mark.sample(15)
def test_what_does_not_conflict_is_the_same_under_every_strategy(lake, name, extension, strategy):
    *sides, result = TABLE[name]
    path = diverge(lake, extension, *sides)
    rules = [("**", strategy)] if strategy else []
    assert lake.preview(*rules).settled == []
    lake.merge(*rules)
    assert lake.read("main", path) == (None if result is None else CONTENTS[extension][result])


@pytest.mark.parametrize("kind", CONFLICTS)
@pytest.mark.parametrize(("extension", "strategy"), STRATEGIES)
@pytest.mark.sample(7)
def test_conflicts_are_settled_by_the_strategy_or_stay_open(lake, kind, extension, strategy):
    sides = CONFLICTS[kind]
    path = diverge(lake, extension, *sides)
    rules = [("**", strategy)] if strategy else []
    before, stored = lake.tree("main"), lake.blocks()
    if strategy in ("", "fail") or (strategy in OF_CONTENT.values() and kind != "both_changed"):
        with pytest.raises(MergeConflict) as refused:
            lake.merge(*rules)
        assert refused.value.paths == (path,)
        (conflict,) = lake.preview(*rules).conflicts
        assert (conflict.path, conflict.kind) == (path, kind)
        assert (lake.tree("main"), lake.blocks()) == (before, stored)
        return
    result = MERGED
    if strategy in SIDES:
        result = sides[SIDES[strategy]]
    elif strategy == "delete":
        result = None
    assert [tuple(each) for each in lake.preview(*rules).settled] == [(path, strategy)]
    lake.merge(*rules)
    assert lake.read("main", path) == (None if result is None else CONTENTS[extension][result])


@pytest.mark.parametrize("strategy", ["source-wins", "dest-wins"])
def test_the_strategy_for_all_paths_agrees_with_a_rule_for_all(lake, strategy):
    contents = CONTENTS["txt"]
    named = {f"{kind}.txt": sides for kind, sides in CONFLICTS.items()}
    base, source, destination = (
        {path: sides[side] and contents[sides[side]] for path, sides in named.items()}
        for side in range(3)
    )
    lake.diverge(
        {path: content for path, content in base.items() if content},
        {path: content for path, content in source.items() if content != base[path]},
        {path: content for path, content in destination.items() if content != base[path]},
    )
    head = lake.core.references.commit(lake.repository, "main").id
    lake.merge(strategy=strategy)
    merged = lake.tree("main")
    lake.core.branches.create(lake.repository, "again", head)
    lake.versions.merge("dev", "again", rules=rules_for_all(strategy))
    assert lake.tree("again") == merged
    with pytest.raises(NoChanges):
        lake.versions.merge("dev", "again", rules=rules_for_all(strategy))


def rules_for_all(strategy):
    return merge_rules(("**", strategy))
