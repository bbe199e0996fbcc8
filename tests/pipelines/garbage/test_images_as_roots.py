"""Objects of an image are kept as long as the image exists, even if its sources are deleted."""

from __future__ import annotations

import pytest
from support.garbage import DAY, addresses

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.statements import ALLOW_ALL
from anabranch.model.lakefile.parser import parse_lakefile
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.uri import IMAGES
from anabranch.pipelines.images.assemble import ImageRequest

ADMIN = Actor(username="admin", statements=(ALLOW_ALL,))


@pytest.fixture
def build(lake):
    def built(tag, text):
        request = ImageRequest(tag=tag, lakefile=parse_lakefile(text), text=text, creator="jane")
        return lake.builds.build(request, ADMIN, wait_seconds=120).image

    return built


def put(lake, path, body):
    return lake.objects.upload("sea", "main", path, [body]).entry.address


def found(collector):
    with collector.mark("sea") as run:
        return addresses(run.candidates())


def test_image_keeps_objects_of_expired_commits(lake, clock, collector, build):
    lake.garbage_rules.set("sea", RetentionRules(1))
    put(lake, "in/a", b"1")
    beside = put(lake, "out/a", b"1")
    lake.commits.commit("sea", "main", committer="me", message="m")
    build("base", "FROM scratch\nADD lakefs://sea/main/in/ x/\n")
    build("v1", "FROM lakefs://image:base\nLABEL a=b\n")
    for path in ("in/a", "out/a"):
        lake.objects.delete("sea", "main", path)
    lake.commits.commit("sea", "main", committer="me", message="m")
    clock.advance(3 * DAY)
    assert found(collector) == {beside}
    lake.images.delete("base")
    clock.advance(3 * DAY)
    assert found(collector) == {beside}
    assert lake.objects.open(IMAGES, "v1", "x/a").read_bytes() == b"1"
    # the preparation for lakeFS's client keeps the whole commit
    (row,) = [
        row
        for row in lake.blocks.read(
            lake.blocks.unqualify(lake.garbage_preparation.commits("sea").commits)
        ).splitlines()
        if lake.commits.get("sea", "main~1").id.encode() in row
    ]
    assert b",false," in row


def test_objects_of_a_deleted_image_are_candidates_after_a_day(lake, clock, collector, build):
    lake.garbage_rules.set("sea", RetentionRules(1))
    held = put(lake, "in/a", b"1")
    lake.commits.commit("sea", "main", committer="me", message="m")
    build("v1", "FROM scratch\nADD lakefs://sea/main/in/ x/\n")
    lake.objects.delete("sea", "main", "in/a")
    lake.commits.commit("sea", "main", committer="me", message="m")
    lake.images.delete("v1")
    # a commit without a tag in the repository of images may belong to a running build
    clock.advance(DAY - 60)
    assert found(collector) == set()
    clock.advance(2 * DAY)
    assert found(collector) == {held}
