"""Moves and copies of prefixes against a dictionary, and with concurrent clients."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.errors import Busy, Conflict, Invalid, NotFound, OutcomeUnknown
from anabranch.testing.stores import fail_at
from anabranch.versioning.records import keys
from anabranch.versioning.transfers.transfers import Transfers

PATHS = ["a", "b/c", "b/d", "b/b/c", "b/b/b/c", "e/c", "e/f/g"]
PREFIXES = ["", "a", "b/", "b/b/", "e/", "e/f/", "new/", "b/new/"]


def transfers_of(versions, page=2):
    core = versions.core
    return Transfers(
        versions.keyvalue,
        core.identifiers,
        core.branches,
        core.references,
        core.staging,
        core.objects,
        core.committer,
        core.sweeps,
        core.pins,
        core.swept_trees,
        core.record_admission,
        versions.clock,
        page=page,
    )


def move(versions, source, destination, *, force=False, branch="main"):
    return transfers_of(versions).move(
        versions.repository, branch, source, destination, force=force
    )


def copy(versions, source, destination, *, reference="main", force=False, branch="main"):
    return transfers_of(versions).copy(
        versions.repository,
        branch,
        destination,
        source_repository=versions.repository,
        source_reference=reference,
        source=source,
        force=force,
    )


def model(contents, source, destination, *, remove, force):
    """Returns the result of a transfer, or the kind of its error."""
    if remove and destination.startswith(source):
        return "move_into_itself"
    if source == destination:
        return "move_into_itself"
    moved = {path: word for path, word in contents.items() if path.startswith(source)}
    if not moved:
        return "object_not_found"
    left = {path: word for path, word in contents.items() if not (remove and path in moved)}
    arrived = {destination + path[len(source) :]: word for path, word in moved.items()}
    if not force and left.keys() & arrived.keys():
        return "destination_exists"
    return left | arrived


contents = st.dictionaries(st.sampled_from(PATHS), st.sampled_from("xyz"), max_size=5)


@settings(max_examples=examples(100), deadline=None)
@given(
    committed=contents,
    staged=contents,
    removed=st.sets(st.sampled_from(PATHS), max_size=2),
    source=st.sampled_from(PREFIXES),
    destination=st.sampled_from(PREFIXES),
    remove=st.booleans(),
    force=st.booleans(),
)
def test_transfer_equals_dictionary(
    new_versions, committed, staged, removed, source, destination, remove, force
):
    versions = new_versions()
    if committed:
        versions.commit("main", **committed)
    versions.put("main", **staged)
    versions.remove("main", *removed)
    before = versions.contents("main")
    expected = model(before, source, destination, remove=remove, force=force)
    act = move if remove else copy
    if isinstance(expected, str):
        with pytest.raises((Conflict, Invalid, NotFound)) as refused:
            act(versions, source, destination, force=force)
        assert refused.value.kind == expected
        assert versions.contents("main") == before
        return
    count = act(versions, source, destination, force=force)
    assert versions.contents("main") == expected
    assert count == sum(path.startswith(source) for path in before)
    if expected != versions.contents("main@"):
        versions.commit("main")
    assert versions.contents("main@") == expected


def test_write_during_a_move_is_kept(versions, other):
    versions.commit("main", **{"b/c": "x", "b/d": "x"})
    steps = []

    def before(operation, subject):
        if operation == "apply" and not steps and "sea-main:" in subject:
            steps.append(subject)
            other.put("main", **{"b/c": "later", "new/d": "later"})

    versions.keyvalue.before = before
    assert move(versions, "b/", "new/") == 2
    assert steps
    assert versions.contents("main") == {"b/c": "later", "new/c": "x", "new/d": "later"}


@pytest.mark.parametrize("change", ["commit", "reset"])
def test_branch_that_changes_during_a_move_is_read_again(versions, other, change):
    versions.commit("main", **{"b/c": "x"})
    versions.put("main", **{"b/d": "y"})
    done = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not done:
            done.append(change)
            if change == "commit":
                other.commit("main")
            else:
                other.core.reset.reset(other.repository, "main", "reset")

    versions.keyvalue.before = before
    move(versions, "b/", "new/")
    assert done
    expected = {"new/c": "x", "new/d": "y"} if change == "commit" else {"new/c": "x"}
    assert versions.contents("main") == expected


@pytest.mark.parametrize("step", range(1, 8))
def test_failure_at_any_write_changes_nothing(versions, step):
    versions.commit("main", **dict.fromkeys(PATHS, "x"))
    before = versions.contents("main")
    versions.keyvalue.before = fail_at("apply", step, Busy("the disk is full"))
    try:
        move(versions, "b/", "new/")
    except Busy:
        assert versions.contents("main") == before
        scheduled = list(versions.store.scan(keys.CLEANUP))
        assert all(int(since) <= versions.clock.now + 24 * 3600 for _, since in scheduled)
    else:
        assert step > 4
    versions.keyvalue.before = lambda *_: None
    versions.clock.advance(2 * 24 * 3600)
    versions.core.cleaner.clean()
    assert not list(versions.store.scan(keys.CLEANUP))
    assert len(versions.contents("main")) == len(before)


@pytest.mark.parametrize("done", [True, False])
def test_area_of_a_move_of_unknown_outcome_is_kept(versions, done):
    versions.commit("main", **{"b/c": "x"})
    apply = versions.store.apply

    def unsure(writes, expect=()):
        last = any(write.partition == keys.CLEANUP and write.value is None for write in writes)
        if done or not last:
            assert apply(writes, expect)
        if last:
            raise OutcomeUnknown("the connection was lost")
        return True

    versions.store.apply = unsure
    with pytest.raises(OutcomeUnknown):
        move(versions, "b/", "new/")
    versions.store.apply = apply
    for _ in range(3):
        assert versions.contents("main") == ({"new/c": "x"} if done else {"b/c": "x"})
        versions.clock.advance(24 * 3600)
        versions.core.cleaner.clean()


def test_visible_area_is_not_dropped_by_the_cleanup(versions):
    versions.commit("main", **{"b/c": "x"})
    move(versions, "b/", "new/")
    versions.clock.advance(3 * 24 * 3600)
    versions.core.cleaner.clean()
    assert versions.contents("main") == {"new/c": "x"}


def test_copy_from_another_branch_and_from_a_commit(versions):
    first = versions.commit("main", **{"b/c": "x"})
    versions.branch("side")
    versions.put("side", **{"b/d": "y"})
    assert copy(versions, "b/", "from-side/", reference="side") == 2
    assert copy(versions, "", "from-commit/", reference=first.id) == 1
    assert versions.contents("main") == {
        "b/c": "x",
        "from-commit/b/c": "x",
        "from-side/c": "x",
        "from-side/d": "y",
    }
    entries = dict(versions.core.objects.entries(versions.repository, "main"))
    assert entries["from-side/c"].address == entries["b/c"].address


def test_copy_to_another_repository_has_full_addresses(versions):
    versions.commit("main", **{"b/c": "x"})
    versions.core.repositories.create("lake", "mem://lake")
    lake = versions.core.repositories.get("lake")
    count = transfers_of(versions).copy(
        lake,
        "main",
        "new/",
        source_repository=versions.repository,
        source_reference="main",
        source="b/",
        force=False,
    )
    ((path, entry),) = versions.core.objects.entries(lake, "main")
    assert (count, path, entry.address) == (1, "new/c", "mem://sea/data/b/c-x")
    back = transfers_of(versions).copy(
        versions.repository,
        "main",
        "back/",
        source_repository=lake,
        source_reference="main",
        source="new/",
        force=False,
    )
    entries = dict(versions.core.objects.entries(versions.repository, "main"))
    assert (back, entries["back/c"]) == (1, entries["b/c"])


def test_staged_objects_of_another_branch_are_not_copied_during_a_sweep(versions):
    versions.commit("main", **{"b/c": "x"})
    versions.branch("side")
    versions.put("side", **{"b/d": "y"})
    versions.core.sweeps.begin("sweep")
    with pytest.raises(Conflict, match="garbage collection"):
        copy(versions, "b/", "new/", reference="side")
    assert copy(versions, "b/", "new/", reference="side@") == 1
    assert move(versions, "b/", "moved/") == 1, "what the branch itself refers to stays"


def test_sweep_that_begins_during_a_copy_makes_it_begin_again(versions):
    versions.commit("main", **{"b/c": "x"})
    versions.branch("side")
    begun = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not begun:
            begun.append(subject)
            versions.keyvalue.before = lambda *_: None
            versions.core.sweeps.begin("sweep")

    versions.keyvalue.before = before
    assert copy(versions, "b/", "new/", reference="side") == 1
    assert begun
    pinned = versions.core.pins.commits(versions.repository)
    assert pinned == {versions.head("side").id}


def move_from(versions, source, destination, *, branch="main", other="side", force=False):
    return transfers_of(versions).move_from(
        versions.repository,
        branch,
        destination,
        source_repository=versions.repository,
        source_branch=other,
        source=source,
        force=force,
    )


def test_move_from_another_branch_keeps_later_writes_there(versions, other):
    versions.commit("main", **{"b/c": "x", "b/d": "x"})
    versions.branch("side")
    versions.put("side", **{"b/e": "y"})
    done = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not done:
            done.append(subject)
            other.put("side", **{"b/c": "later", "b/new": "later"})

    versions.keyvalue.before = before
    assert move_from(versions, "b/", "moved/") == 3
    assert done
    moved = {"moved/c": "x", "moved/d": "x", "moved/e": "y"}
    assert versions.contents("main") == {"b/c": "x", "b/d": "x", **moved}
    assert versions.contents("side") == {"b/c": "later", "b/new": "later"}


def test_move_from_a_branch_that_is_committed_meanwhile_removes_nothing_there(versions, other):
    versions.commit("main", **{"b/c": "x"})
    versions.branch("side")
    versions.put("side", **{"b/d": "y"})
    done = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not done:
            done.append(subject)
            other.commit("side")

    versions.keyvalue.before = before
    with pytest.raises(Conflict) as refused:
        move_from(versions, "b/", "moved/")
    assert refused.value.kind == "source_changed"
    assert versions.contents("side") == {"b/c": "x", "b/d": "y"}
    assert versions.contents("main") == {"b/c": "x"}, "staged objects may have been missed"
