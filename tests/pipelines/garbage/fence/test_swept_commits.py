"""After a sweep, a reference to a commit that has lost objects is refused, in every way; one to a
commit whose objects are stored is created.
"""

from __future__ import annotations

import msgspec
import pytest
from support.garbage import commit, put
from support.stepped_scenario import Scenario

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
def scenario(tmp_path):
    """A repository whose commit `expired` has lost the object `old`."""
    scenario = Scenario(tmp_path)
    with scenario.lake:
        scenario.dump = with_branch_at(scenario, lambda: scenario.lake.refs_dumps.dump("sea"))
        scenario.sweep()
        assert not scenario.readable(scenario.expired, "old")
        yield scenario


def with_branch_at(scenario, act):
    scenario.lake.branches.create("sea", "kept", scenario.expired)
    result = act()
    scenario.lake.branches.delete("sea", "kept")
    return result


def branch(scenario):
    scenario.lake.branches.create("sea", "again", scenario.expired)


def tag(scenario):
    scenario.lake.tags.create("sea", "again", scenario.expired)


def hard_reset(scenario):
    scenario.lake.branches.hard_reset("sea", "side", scenario.expired)


def merge(scenario):
    scenario.lake.refs.merge(
        "sea", scenario.expired, "side", **ME, allow_empty=True, strategy="source-wins"
    )


def squash(scenario):
    expired = scenario.expired
    scenario.lake.refs.merge("sea", expired, "side", **ME, allow_empty=True, squash=True)


def cherry_pick(scenario):
    scenario.lake.branches.cherry_pick("sea", "side", scenario.expired, **ME)


def revert(scenario):
    scenario.lake.branches.revert("sea", "side", scenario.removal, **ME)


def rebase(scenario):
    (parent,) = scenario.lake.commits.get("sea", scenario.expired).parents
    scenario.lake.branches.create("sea", "early", parent)
    put(scenario.lake, "own", "early")
    commit(scenario.lake, "early")
    scenario.lake.rebase.rebase("sea", "early", scenario.expired, **ME)


def copy_all(scenario):
    scenario.lake.transfers.copy("sea", "side", "", "x/", source_reference=scenario.expired)


def source_metarange(scenario):
    tree = scenario.lake.commits.get("sea", scenario.expired).metarange_id
    scenario.lake.commits.commit("sea", "side", message="m", **ME, source_metarange=tree)


def commit_record(scenario):
    expired = scenario.lake.commits.get("sea", scenario.expired)
    record = scenario.lake.core.commits.make(
        committer="me",
        message="Again",
        metarange_id=expired.metarange_id,
        metadata={},
        parents=[expired],
    )
    scenario.lake.commits.create_record("sea", msgspec.structs.replace(record, nanos=0))
    scenario.lake.branches.create("sea", "again", record.id)


def restore(scenario):
    scenario.lake.repositories.create("copy", "mem://sea", bare=True)
    scenario.lake.refs_dumps.restore("copy", scenario.dump)


def restore_after_deletion(scenario):
    scenario.lake.repositories.delete("sea")
    restore(scenario)


def image(scenario, source="", tag="v1"):
    text = f"FROM scratch\nADD lakefs://sea/{scenario.expired}/{source} /\n"
    request = ImageRequest(tag=tag, lakefile=parse_lakefile(text), text=text, creator="jane")
    return scenario.lake.builds.build(request, ADMIN, wait_seconds=120)


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
@pytest.mark.sample(2)
def test_a_commit_that_has_lost_objects_is_refused(scenario, way):
    before = heads(scenario.lake)
    what = "has removed objects of it: the object of old"
    with pytest.raises(CommitExpired, match=what) as caught:
        way(scenario)
    assert (caught.value.kind, caught.value.removed) == ("commit_expired", True)
    if way is not restore_after_deletion:
        assert heads(scenario.lake) == before


def test_a_copy_of_one_lost_object_is_refused(scenario):
    for shallow in (False, True):
        with pytest.raises(Gone):
            scenario.lake.objects.copy(
                *("sea", "side", "copied"),
                source_path="old",
                source_ref=scenario.expired,
                shallow=shallow,
            )
    kept = scenario.lake.objects.copy(
        "sea", "side", "copied", source_path="stays", source_ref=scenario.expired, shallow=True
    )
    assert kept.entry.size == len(b"stays")


def test_an_image_of_what_is_still_stored_is_built(scenario):
    assert image(scenario, "stays").image is not None


def test_a_restored_commit_can_be_referred_to(scenario):
    scenario.lake.blocks.put(f"mem://sea/{scenario.object}", [b"old"])
    for way in (branch, revert, hard_reset, image):
        way(scenario)
    assert scenario.readable("again", "old")


def test_a_commit_that_lost_nothing_can_be_referred_to(tmp_path):
    scenario = Scenario(tmp_path)
    with scenario.lake:
        scenario.lake.objects.copy(
            "sea", "main", "kept", source_path="old", source_ref=scenario.expired
        )
        shallow = {"source_path": "old", "source_ref": scenario.expired, "shallow": True}
        scenario.lake.objects.copy("sea", "main", "same", **shallow)
        commit(scenario.lake)
        scenario.sweep()
        branch(scenario)
        assert scenario.readable("again", "old")


def test_rules_that_are_extended_later_make_no_lost_commit_active(scenario):
    scenario.lake.garbage_rules.set("sea", RetentionRules(1000))
    with pytest.raises(Conflict):
        branch(scenario)
    scenario.lake.core.sweeps.begin("s" * 20)
    with pytest.raises(Conflict):
        branch(scenario)


def test_a_branch_that_is_deleted_before_the_pass_of_a_sweep_protects_nothing(tmp_path):
    """Its commit was active when the sweep began, and is not when objects are removed."""
    scenario = Scenario(tmp_path)
    with scenario.lake, scenario.mark() as run:
        scenario.lake.branches.create("sea", "short", scenario.expired)
        begin = scenario.lake.core.sweeps.add_tombstones

        def delete_then_add(*args):
            scenario.lake.branches.delete("sea", "short")
            scenario.lake.core.sweeps.add_tombstones = begin
            begin(*args)

        scenario.lake.core.sweeps.add_tombstones = delete_then_add
        run.sweep()
        assert not scenario.readable(scenario.expired, "old")
        with pytest.raises(Conflict):
            branch(scenario)
