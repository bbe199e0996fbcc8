"""A repository in a folder, as hooks see it."""

import pytest
from support.library_lake import LibraryLake

from anabranch.library import open_lake


@pytest.fixture
def lake(tmp_path):
    """The repository `flights` with a branch `dev`."""
    with open_lake(tmp_path / "lake") as opened:
        opened.repositories.create("flights", "local://flights")
        opened.branches.create("flights", "dev", "main")
        yield LibraryLake(opened, "flights")
