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


@settings(max_examples=examples(300), deadline=None)
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
    new_sea, committed, staged, removed, source, destination, remove, force
):
    sea = new_sea()
    if committed:
        sea.commit("main", **committed)
    sea.put("main", **staged)
    sea.remove("main", *removed)
    before = sea.contents("main")
    expected = model(before, source, destination, remove=remove, force=force)
    act = move if remove else copy
    if isinstance(expected, str):
        with pytest.raises((Conflict, Invalid, NotFound)) as refused:
            act(sea, source, destination, force=force)
        assert refused.value.kind == expected
        assert sea.contents("main") == before
        return
    count = act(sea, source, destination, force=force)
    assert sea.contents("main") == expected
    assert count == sum(path.startswith(source) for path in before)
    if expected != sea.contents("main@"):
        sea.commit("main")
    assert sea.contents("main@") == expected


def test_write_during_a_move_is_kept(sea, other):
    sea.commit("main", **{"b/c": "x", "b/d": "x"})
    steps = []

    def before(operation, subject):
        if operation == "apply" and not steps and "sea-main:" in subject:
            steps.append(subject)
            other.put("main", **{"b/c": "later", "new/d": "later"})

    sea.keyvalue.before = before
    assert move(sea, "b/", "new/") == 2
    assert steps
    assert sea.contents("main") == {"b/c": "later", "new/c": "x", "new/d": "later"}


@pytest.mark.parametrize("change", ["commit", "reset"])
def test_branch_that_changes_during_a_move_is_read_again(sea, other, change):
    sea.commit("main", **{"b/c": "x"})
    sea.put("main", **{"b/d": "y"})
    done = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not done:
            done.append(change)
            if change == "commit":
                other.commit("main")
            else:
                other.core.reset.reset(other.repository, "main", "reset")

    sea.keyvalue.before = before
    move(sea, "b/", "new/")
    assert done
    expected = {"new/c": "x", "new/d": "y"} if change == "commit" else {"new/c": "x"}
    assert sea.contents("main") == expected


@pytest.mark.parametrize("step", range(1, 8))
def test_failure_at_any_write_changes_nothing(sea, step):
    sea.commit("main", **dict.fromkeys(PATHS, "x"))
    before = sea.contents("main")
    sea.keyvalue.before = fail_at("apply", step, Busy("the disk is full"))
    try:
        move(sea, "b/", "new/")
    except Busy:
        assert sea.contents("main") == before
        scheduled = list(sea.store.scan(keys.CLEANUP))
        assert all(int(since) <= sea.clock.now + 24 * 3600 for _, since in scheduled)
    else:
        assert step > 4
    sea.keyvalue.before = lambda *_: None
    sea.clock.advance(2 * 24 * 3600)
    sea.core.cleaner.clean()
    assert not list(sea.store.scan(keys.CLEANUP))
    assert len(sea.contents("main")) == len(before)


@pytest.mark.parametrize("done", [True, False])
def test_area_of_a_move_of_unknown_outcome_is_kept(sea, done):
    sea.commit("main", **{"b/c": "x"})
    apply = sea.store.apply

    def unsure(writes, expect=()):
        last = any(write.partition == keys.CLEANUP and write.value is None for write in writes)
        if done or not last:
            assert apply(writes, expect)
        if last:
            raise OutcomeUnknown("the connection was lost")
        return True

    sea.store.apply = unsure
    with pytest.raises(OutcomeUnknown):
        move(sea, "b/", "new/")
    sea.store.apply = apply
    for _ in range(3):
        assert sea.contents("main") == ({"new/c": "x"} if done else {"b/c": "x"})
        sea.clock.advance(24 * 3600)
        sea.core.cleaner.clean()


def test_visible_area_is_not_dropped_by_the_cleanup(sea):
    sea.commit("main", **{"b/c": "x"})
    move(sea, "b/", "new/")
    sea.clock.advance(3 * 24 * 3600)
    sea.core.cleaner.clean()
    assert sea.contents("main") == {"new/c": "x"}


def test_copy_from_another_branch_and_from_a_commit(sea):
    first = sea.commit("main", **{"b/c": "x"})
    sea.branch("side")
    sea.put("side", **{"b/d": "y"})
    assert copy(sea, "b/", "from-side/", reference="side") == 2
    assert copy(sea, "", "from-commit/", reference=first.id) == 1
    assert sea.contents("main") == {
        "b/c": "x",
        "from-commit/b/c": "x",
        "from-side/c": "x",
        "from-side/d": "y",
    }
    entries = dict(sea.core.objects.entries(sea.repository, "main"))
    assert entries["from-side/c"].address == entries["b/c"].address


def test_copy_to_another_repository_has_full_addresses(sea):
    sea.commit("main", **{"b/c": "x"})
    sea.core.repositories.create("lake", "mem://lake")
    lake = sea.core.repositories.get("lake")
    count = transfers_of(sea).copy(
        lake,
        "main",
        "new/",
        source_repository=sea.repository,
        source_reference="main",
        source="b/",
        force=False,
    )
    ((path, entry),) = sea.core.objects.entries(lake, "main")
    assert (count, path, entry.address) == (1, "new/c", "mem://sea/data/b/c-x")
    back = transfers_of(sea).copy(
        sea.repository,
        "main",
        "back/",
        source_repository=lake,
        source_reference="main",
        source="new/",
        force=False,
    )
    entries = dict(sea.core.objects.entries(sea.repository, "main"))
    assert (back, entries["back/c"]) == (1, entries["b/c"])


def test_staged_objects_of_another_branch_are_not_copied_during_a_sweep(sea):
    sea.commit("main", **{"b/c": "x"})
    sea.branch("side")
    sea.put("side", **{"b/d": "y"})
    sea.core.sweeps.begin("sweep")
    with pytest.raises(Conflict, match="garbage collection"):
        copy(sea, "b/", "new/", reference="side")
    assert copy(sea, "b/", "new/", reference="side@") == 1
    assert move(sea, "b/", "moved/") == 1, "what the branch itself refers to stays"


def test_sweep_that_begins_during_a_copy_makes_it_begin_again(sea):
    sea.commit("main", **{"b/c": "x"})
    sea.branch("side")
    begun = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not begun:
            begun.append(subject)
            sea.keyvalue.before = lambda *_: None
            sea.core.sweeps.begin("sweep")

    sea.keyvalue.before = before
    assert copy(sea, "b/", "new/", reference="side") == 1
    assert begun
    pinned = sea.core.pins.commits(sea.repository)
    assert pinned == {sea.head("side").id}


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


def test_move_from_another_branch_keeps_later_writes_there(sea, other):
    sea.commit("main", **{"b/c": "x", "b/d": "x"})
    sea.branch("side")
    sea.put("side", **{"b/e": "y"})
    done = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not done:
            done.append(subject)
            other.put("side", **{"b/c": "later", "b/new": "later"})

    sea.keyvalue.before = before
    assert move_from(sea, "b/", "moved/") == 3
    assert done
    moved = {"moved/c": "x", "moved/d": "x", "moved/e": "y"}
    assert sea.contents("main") == {"b/c": "x", "b/d": "x", **moved}
    assert sea.contents("side") == {"b/c": "later", "b/new": "later"}


def test_move_from_a_branch_that_is_committed_meanwhile_removes_nothing_there(sea, other):
    sea.commit("main", **{"b/c": "x"})
    sea.branch("side")
    sea.put("side", **{"b/d": "y"})
    done = []

    def before(operation, subject):
        if operation == "apply" and "sea-main:" in subject and not done:
            done.append(subject)
            other.commit("side")

    sea.keyvalue.before = before
    with pytest.raises(Conflict) as refused:
        move_from(sea, "b/", "moved/")
    assert refused.value.kind == "source_changed"
    assert sea.contents("side") == {"b/c": "x", "b/d": "y"}
    assert sea.contents("main") == {"b/c": "x"}, "staged objects may have been missed"
