"""Paths at destinations, in slices."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.blocks.memory import MemoryBlocks
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.exports.prefix import PrefixDestination

NAMES = st.text(st.sampled_from("ab.0é\U0001f600"), min_size=1, max_size=3).filter(
    lambda name: name not in {".", ".."}
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


def compatible(paths):
    """Returns the paths of which none is a folder of another."""
    return {path for path in paths if not any(each.startswith(f"{path}/") for each in paths)}


@pytest.mark.parametrize("kind", ["folder", "prefix"])
@given(paths=st.sets(PATHS, max_size=12).map(compatible), cuts=st.lists(PATHS, max_size=4))
def test_each_path_is_in_exactly_one_slice(kind, paths, cuts):
    with tempfile.TemporaryDirectory() as root:
        if kind == "folder":
            destination = FolderDestination(root)
            for path in paths:
                file = Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(b"")
        else:
            blocks = MemoryBlocks()
            destination = PrefixDestination(blocks, "mem://out")
            for path in paths:
                blocks.put(f"mem://out/{path}", [b""])
        ends = sorted(set(cuts), key=str.encode)
        found = []
        for after, last in zip(["", *ends], [*ends, ""], strict=True):
            part = list(destination.paths(after, last))
            for path in part:
                assert path.encode() > after.encode()
                assert not last or path.encode() <= last.encode()
            found += part
        assert sorted(found) == sorted(paths)
