"""`fs mv` and `fs cp` against a real server."""

from __future__ import annotations

import pytest


@pytest.fixture
def paths(ana, lake):
    """Returns the paths on the branch main."""

    def paths():
        listed = ana.ok("fs", "ls", "-r", lake.at("main/"), "--json").json
        return [item["path"] for item in listed]

    return paths


def test_objects_and_folders_are_moved_and_copied(ana, lake, paths):
    for path in ("main/a.csv", "main/d/x", "main/d/y"):
        lake.put(path, "content")
    moved = ana.ok("fs", "mv", lake.at("main/a.csv"), lake.at("main/old/"))
    assert moved.out.startswith("Moved 1 object from ")
    assert paths() == ["d/x", "d/y", "old/a.csv"]
    copied = ana.ok("fs", "cp", "-r", lake.at("main/d"), lake.at("main/e"))
    assert copied.out.startswith("Copied 2 objects from ")
    ana.ok("fs", "mv", lake.at("main/d/"), lake.at("main/f/"))
    assert paths() == ["e/x", "e/y", "f/x", "f/y", "old/a.csv"]


def test_refused_move_exits_with_1_and_changes_nothing(ana, lake, paths):
    for path in ("main/d/x", "main/e/x"):
        lake.put(path, "content")
    before = paths()
    for words in [
        ("mv", lake.at("main/d/"), lake.at("main/e/")),
        ("mv", lake.at("main/d/"), lake.at("main/d/inner/")),
        ("cp", lake.at("main/d/x"), lake.at("main/e/")),
        ("mv", lake.at("main/none"), lake.at("main/e/")),
        ("mv", lake.at("main/d/"), lake.at("nobranch/e/")),
    ]:
        ran = ana("fs", *words)
        assert ran.code == 1, words
        assert ran.err
        assert paths() == before
    ana.ok("fs", "mv", "--force", lake.at("main/d/"), lake.at("main/e/"))
    assert paths() == ["e/x"]
