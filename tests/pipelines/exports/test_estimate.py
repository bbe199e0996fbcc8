"""What an export will copy is estimated without reading all objects."""

from __future__ import annotations

import pytest

import anabranch
from anabranch.errors import Corrupt, NotFound
from anabranch.pipelines.exports.estimate import estimate_export
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.state import STATE


@pytest.fixture
def lake(tmp_path):
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        for number in range(300):
            lake.objects.upload("sea", "main", f"a/{number}", [b"x" * (number % 3)])
        lake.commits.commit("sea", "main", message="m", committer="c")
        yield lake


def estimate(lake, folder, reference="main", **options):
    return estimate_export(lake.core, "sea", reference, FolderDestination(folder), **options)


def test_new_destination_receives_all_objects(lake, tmp_path):
    assert estimate(lake, tmp_path / "out") == (300, 300)
    assert list((tmp_path / "out").iterdir()) == []
    done = Exporter(lake.core, lake.blocks).export("sea", "main", FolderDestination(tmp_path / "o"))
    assert (done.stored, done.bytes) == (300, 300)


def test_only_ranges_that_the_destination_lacks_count(lake, tmp_path):
    out = FolderDestination(tmp_path / "out")
    Exporter(lake.core, lake.blocks).export("sea", "main", out)
    assert estimate(lake, tmp_path / "out") == (0, 0)
    assert estimate(lake, tmp_path / "out", everything=True) == (300, 300)
    lake.objects.upload("sea", "main", "a/7", [b"seven"])
    lake.commits.commit("sea", "main", message="m", committer="c")
    # one object has changed, in the only range of the tree
    assert estimate(lake, tmp_path / "out") == (300, 300 * 5)
    assert Exporter(lake.core, lake.blocks).export("sea", "main", out).stored == 1


def test_empty_commit_has_nothing_to_copy(lake, tmp_path):
    lake.repositories.create("land", "local://land")
    found = estimate_export(lake.core, "land", "main", FolderDestination(tmp_path / "out"))
    assert found == (0, 0)


def test_missing_reference_and_damaged_state_raise_errors(lake, tmp_path):
    with pytest.raises(NotFound):
        estimate(lake, tmp_path / "out", "none")
    (tmp_path / "out" / STATE).write_text("{")
    with pytest.raises(Corrupt, match="not the state of an export"):
        estimate(lake, tmp_path / "out")
