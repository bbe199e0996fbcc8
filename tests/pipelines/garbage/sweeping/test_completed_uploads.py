"""Aborts of multipart uploads that the store has completed, but the server has not."""

from __future__ import annotations

import pytest
from support.garbage import DAY

from anabranch.errors import NotFound
from anabranch.pipelines.garbage.installations.stored import StoredInstallation

HOUR = 3600


@pytest.fixture
def upload(lake):
    """An upload whose server was killed after the store completed it and before it was linked."""
    upload = lake.uploads.create("sea", "main", "a")
    part = lake.uploads.put_part("sea", "main", "a", upload.id, 1, [b"whole"])
    lake.blocks.complete_upload(upload.block, upload.id, [(1, part.checksum)])
    return upload


def end(lake, upload, by):
    if by == "abort":
        lake.uploads.abort("sea", "main", "a", upload.id)
    else:
        repository = lake.core.repositories.get("sea")
        assert StoredInstallation(lake.core, lake.blocks).end_upload(repository, upload)


@pytest.mark.parametrize("by", ["abort", "collector"])
def test_completed_upload_with_a_staged_address_is_kept(lake, clock, upload, by):
    place = {"address": upload.block, "checksum": "0" * 32, "size": 5}
    lake.staging.stage("sea", "main", "staged", **place)
    end(lake, upload, by)
    with pytest.raises(NotFound):
        lake.blocks.parts(upload.block, upload.id)
    clock.advance(HOUR + 1)
    assert lake.uploads.clean() == 1
    assert lake.objects.open("sea", "main", "staged").read_bytes() == b"whole"


@pytest.mark.parametrize("by", ["abort", "collector"])
def test_completed_upload_without_a_reference_is_collected(lake, clock, collector, upload, by):
    end(lake, upload, by)
    assert lake.blocks.stat(upload.block) is not None
    clock.advance(2 * DAY)
    lake.uploads.clean()
    with collector.mark("sea", window_seconds=0) as run:
        assert run.sweep().swept.objects == 1
    assert lake.blocks.stat(upload.block) is None
