"""Abandoned multipart uploads: reports count them, and sweeps abort them on request."""

from __future__ import annotations

import pytest
from support.garbage import DAY

from anabranch.catalog.objects.multipart_completion import WantedPart
from anabranch.errors import NotFound


def test_only_old_uploads_are_aborted_and_only_on_request(lake, clock, collector):
    old = lake.uploads.create("sea", "main", "old")
    ended = lake.uploads.create("sea", "main", "ended")
    lake.uploads.put_part("sea", "main", "old", old.id, 1, [b"1"])
    lake.uploads.abort("sea", "main", "ended", ended.id)
    lake.repositories.create("land", "mem://land")
    elsewhere = lake.uploads.create("land", "main", "old")
    clock.advance(7 * DAY + 1)
    young = lake.uploads.create("sea", "main", "young")
    with collector.mark("sea") as run:
        assert run.summary.old_uploads == 1
        assert run.sweep().ended_uploads == 0
    assert len(lake.blocks.parts(old.block, old.id)) == 1
    clock.advance(1)
    with collector.mark("sea") as run:
        assert run.sweep(end_uploads=True).ended_uploads == 1
    with pytest.raises(NotFound):
        lake.blocks.parts(old.block, old.id)
    with pytest.raises(NotFound):
        lake.uploads.put_part("sea", "main", "old", old.id, 2, [b"2"])
    for repository, upload in (("sea", young), ("land", elsewhere)):
        lake.uploads.put_part(repository, "main", upload.path, upload.id, 1, [b"1"])


def test_upload_completed_before_its_abort_is_kept(lake, clock, collector):
    upload = lake.uploads.create("sea", "main", "a")
    part = lake.uploads.put_part("sea", "main", "a", upload.id, 1, [b"1"])
    clock.advance(30 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        assert run.summary.old_uploads == 1
        wanted = [WantedPart(1, part.checksum, {})]
        lake.completion.complete("sea", "main", "a", upload.id, wanted)
        assert run.sweep(end_uploads=True).ended_uploads == 0
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"1"


def test_age_of_old_uploads_is_configurable(lake, clock, collector):
    lake.uploads.create("sea", "main", "a")
    clock.advance(2 * DAY)
    for days, number in ((1, 1), (3, 0)):
        with collector.mark("sea", uploads_seconds=days * DAY) as run:
            assert run.summary.old_uploads == number
        clock.advance(1)
