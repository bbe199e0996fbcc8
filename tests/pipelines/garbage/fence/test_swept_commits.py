"""After a sweep, a reference to a commit that has lost objects is refused, in every way; one to a
commit whose objects are stored is created.
"""

from __future__ import annotations

import msgspec
import pytest
from support.garbage import commit, put
from support.stepped_sea import Sea

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.errors import CommitExpired, Conflict, Gone
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.uri import IMAGES
from anabranch.pipelines.images.assemble import ImageRequest

ADMIN = Actor(username="admin", statements=(ALLOW_ALL,))
ME = {"committer": "me"}


@pytest.fixture
def sea(tmp_path):
    """A repository whose commit `expired` has lost the object `old`."""
    sea = Sea(tmp_path)
    with sea.lake:
        sea.dump = with_branch_at(sea, lambda: sea.lake.refs_dumps.dump("sea"))
        sweep(sea)
        assert not sea.readable(sea.expired, "old")
        yield sea


def sweep(sea):
    with sea.mark() as run:
        run.sweep()


def with_branch_at(sea, act):
    sea.lake.branches.create("sea", "kept", sea.expired)
    result = act()
    sea.lake.branches.delete("sea", "kept")
    return result


def branch(sea):
    sea.lake.branches.create("sea", "again", sea.expired)


def tag(sea):
    sea.lake.tags.create("sea", "again", sea.expired)


def hard_reset(sea):
    sea.lake.branches.hard_reset("sea", "side", sea.expired)


def merge(sea):
    sea.lake.refs.merge("sea", sea.expired, "side", **ME, allow_empty=True, strategy="source-wins")


def squash(sea):
    expired = sea.expired
    sea.lake.refs.merge("sea", expired, "side", **ME, allow_empty=True, squash=True)


def cherry_pick(sea):
    sea.lake.branches.cherry_pick("sea", "side", sea.expired, **ME)


def revert(sea):
    sea.lake.branches.revert("sea", "side", sea.removal, **ME)


def rebase(sea):
    (parent,) = sea.lake.commits.get("sea", sea.expired).parents
    sea.lake.branches.create("sea", "early", parent)
    put(sea.lake, "own", "early")
    commit(sea.lake, "early")
    sea.lake.rebase.rebase("sea", "early", sea.expired, **ME)


def copy_all(sea):
    sea.lake.transfers.copy("sea", "side", "", "x/", source_reference=sea.expired)


def source_metarange(sea):
    tree = sea.lake.commits.get("sea", sea.expired).metarange_id
    sea.lake.commits.commit("sea", "side", message="m", **ME, source_metarange=tree)


def commit_record(sea):
    expired = sea.lake.commits.get("sea", sea.expired)
    record = sea.lake.core.commits.make(
        committer="me",
        message="Again",
        metarange_id=expired.metarange_id,
        metadata={},
        parents=[expired],
    )
    sea.lake.commits.create_record("sea", msgspec.structs.replace(record, nanos=0))
    sea.lake.branches.create("sea", "again", record.id)


def restore(sea):
    sea.lake.repositories.create("copy", "mem://sea", bare=True)
    sea.lake.refs_dumps.restore("copy", sea.dump)


def restore_after_deletion(sea):
    sea.lake.repositories.delete("sea")
    restore(sea)


def image(sea, source="", tag="v1"):
    text = f"FROM scratch\nADD lakefs://sea/{sea.expired}/{source} /\n"
    request = ImageRequest(tag=tag, lakefile=parse_lakefile(text), text=text, creator="jane")
    return sea.lake.builds.build(request, ADMIN, wait_seconds=120)


WAYS = (
    *(branch, tag, hard_reset, merge, squash, cherry_pick, revert, rebase, copy_all),
    *(source_metarange, commit_record, restore, restore_after_deletion, image),
)


def heads(lake):
    return {
        (repository.id, each.id, each.commit_id)
        for repository in lake.core.repositories.all()
        for references in (lake.core.branches, lake.core.tags)
        for each in references.all(repository)
        if each.id != "early" and repository.id != IMAGES  # those that the ways make first
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_commit_that_has_lost_objects_is_refused(sea, way):
    before = heads(sea.lake)
    what = "has removed objects of it: the object of old"
    with pytest.raises(CommitExpired, match=what) as caught:
        way(sea)
    assert (caught.value.kind, caught.value.removed) == ("commit_expired", True)
    if way is not restore_after_deletion:
        assert heads(sea.lake) == before


def test_a_copy_of_one_lost_object_is_refused(sea):
    for shallow in (False, True):
        with pytest.raises(Gone):
            sea.lake.objects.copy(
                *("sea", "side", "copied"),
                source_path="old",
                source_ref=sea.expired,
                shallow=shallow,
            )
    kept = sea.lake.objects.copy(
        "sea", "side", "copied", source_path="stays", source_ref=sea.expired, shallow=True
    )
    assert kept.entry.size == len(b"stays")


def test_an_image_of_what_is_still_stored_is_built(sea):
    assert image(sea, "stays").image is not None


def test_a_restored_commit_can_be_referred_to(sea):
    sea.lake.blocks.put(f"mem://sea/{sea.object}", [b"old"])
    for way in (branch, revert, hard_reset, image):
        way(sea)
    assert sea.readable("again", "old")


def test_a_commit_that_lost_nothing_can_be_referred_to(tmp_path):
    sea = Sea(tmp_path)
    with sea.lake:
        sea.lake.objects.copy("sea", "main", "kept", source_path="old", source_ref=sea.expired)
        shallow = {"source_path": "old", "source_ref": sea.expired, "shallow": True}
        sea.lake.objects.copy("sea", "main", "same", **shallow)
        commit(sea.lake)
        sweep(sea)
        branch(sea)
        assert sea.readable("again", "old")


def test_rules_that_are_extended_later_make_no_lost_commit_active(sea):
    sea.lake.garbage_rules.set("sea", RetentionRules(1000))
    with pytest.raises(Conflict):
        branch(sea)
    sea.lake.core.sweeps.begin("s" * 20)
    with pytest.raises(Conflict):
        branch(sea)


def test_a_branch_that_is_deleted_before_the_pass_of_a_sweep_protects_nothing(tmp_path):
    """Its commit was active when the sweep began, and is not when objects are removed."""
    sea = Sea(tmp_path)
    with sea.lake, sea.mark() as run:
        sea.lake.branches.create("sea", "short", sea.expired)
        begin = sea.lake.core.sweeps.add_tombstones

        def delete_then_add(*args):
            sea.lake.branches.delete("sea", "short")
            sea.lake.core.sweeps.add_tombstones = begin
            begin(*args)

        sea.lake.core.sweeps.add_tombstones = delete_then_add
        run.sweep()
        assert not sea.readable(sea.expired, "old")
        with pytest.raises(Conflict):
            branch(sea)
