"""What was purged from the quarantine of a folder does not come back with a loss of power."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.quarantine import Removal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc which folder it is")


def test_the_removal_of_an_emptied_folder_of_the_quarantine_is_synced(tmp_path, monkeypatch):
    blocks = LocalBlocks(tmp_path)
    removals = [Removal("local://sea/", f"data/x/{name}", "run/part") for name in "ab"]
    for removal in removals:
        blocks.put(removal.address, [b"1"])
    blocks.quarantine.remove(removals)
    synced, fsync = [], os.fsync

    def note_and_sync(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_relative_to(tmp_path):  # not what the store of an earlier test still syncs
            synced.append(path)
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", note_and_sync)
    assert blocks.quarantine.purge(removals[0], 0.0) == 1
    assert synced == []
    assert blocks.quarantine.purge(removals[1], 0.0) == 1
    assert synced == [tmp_path / "sea"]
    assert not (tmp_path / "sea" / ".anabranch-quarantine").exists()
