"""References to commits that move from one branch or tag to another while a sweep reads them."""

from __future__ import annotations

import msgspec
import pytest
from support.garbage import addresses
from support.stepped_sea import Sea

from anabranch.errors import CommitExpired, Conflict
from anabranch.versioning.garbage.pins import PIN_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS


@pytest.fixture
def sea(tmp_path):
    sea = Sea(tmp_path)
    with sea.lake:
        yield sea


def test_reference_that_moves_in_step_with_the_passes_keeps_its_objects(sea, monkeypatch):
    """The reference is a tag while branches are read, and a branch while tags are read."""
    lake, moves, moving = sea.lake, ["branch"], []

    def to_tag():
        lake.tags.create("sea", "moving", sea.expired)
        lake.branches.delete("sea", "moves")

    def to_branch():
        lake.branches.create("sea", "moves", sea.expired)
        lake.tags.delete("sea", "moving")

    def move_ahead_of(read, kind, move):
        def moved(repository):
            swept = not moving and lake.core.sweeps.running()[0]
            if repository.id == "sea" and swept and moves[-1] != kind:
                moving.append(kind)
                move()
                moves.append(moving.pop())
            return list(read(repository))

        return moved

    with sea.mark() as run:
        assert sea.object in addresses(run.candidates())
        lake.branches.create("sea", "moves", sea.expired)
        for references, kind, move in (
            (lake.core.branches, "tag", to_tag),
            (lake.core.tags, "branch", to_branch),
        ):
            monkeypatch.setattr(references, "all", move_ahead_of(references.all, kind, move))
        run.sweep()
        monkeypatch.undo()
    assert len(moves) > 3
    reference = "moves" if moves[-1] == "branch" else "moving"
    assert sea.readable(reference, "old")


def test_pins_of_references_expire_after_a_sweep(sea):
    with sea.mark() as run:
        sea.steps.arm(20, lambda: sea.lake.tags.create("sea", "v1", "main"))
        run.sweep()
    ((key, _),) = sea.lake.keyvalue.scan("anabranch-pins")
    assert key.decode().endswith(sea.lake.tags.get("sea", "v1").commit_id)
    sea.clock.advance(2 * PIN_SECONDS + CLOCK_SKEW_SECONDS + 1)
    sea.lake.core.pins.clean()
    assert list(sea.lake.keyvalue.scan("anabranch-pins")) == []


def test_refused_reference_leaves_no_pin(sea):
    refused = []

    def refer():
        with pytest.raises(CommitExpired) as error:
            sea.lake.tags.create("sea", "v1", sea.expired)
        refused.append((error.value.kind, error.value.removed))

    with sea.mark() as run:
        sea.steps.arm(20, refer)
        run.sweep()
    assert refused == [("commit_expired", False)]
    assert list(sea.lake.keyvalue.scan("anabranch-pins")) == []


def test_references_to_one_commit_share_a_pin_and_renew_it(sea):
    sea.lake.core.sweeps.begin("s" * 20)
    until = []
    for number in range(4):
        sea.lake.tags.create("sea", f"v{number}", "main")
        ((_, record),) = sea.lake.keyvalue.scan("anabranch-pins")
        until.append(msgspec.json.decode(record)["until"] - int(sea.clock()))
        sea.clock.advance(PIN_SECONDS - 1)
    assert until == [2 * PIN_SECONDS, PIN_SECONDS + 1, 2 * PIN_SECONDS, PIN_SECONDS + 1]


def test_unchecked_pin_admits_no_expired_commit(sea):
    """The writer of the pin was killed before it checked whether the commit had expired."""

    class Killed(BaseException):
        pass

    def killed():
        raise Killed

    sea.lake.core.sweeps.begin("s" * 20)
    repository = sea.lake.core.repositories.get("sea")
    for number in range(2, 20):
        sea.steps.arm(number, killed)
        try:
            sea.lake.core.pins.admit_commits(repository, [sea.expired])
        except (Killed, Conflict):
            sea.steps.arm(-1, lambda: None)
        with pytest.raises(Conflict):
            sea.lake.tags.create("sea", "v1", sea.expired)
