"""Random trees, as fsspec's file system in memory has them: of a branch, a commit and a tag."""

from __future__ import annotations

import random

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support.session.sizes import sized

NAMES = ["a", "b", "ab", "c.csv", "d.csv", "e.json", "x y", "ä", "a+b"]
PATTERNS = ["*", "**", "*.csv", "**/*.csv", "a/*", "*/*", "**/a*/*", "[ab]", "?", "a*/**", "x y/*"]


def random_tree(chance):
    """Returns files by path, none of which is also a folder."""
    files = {}
    for _ in range(40):
        path = "/".join(chance.choices(NAMES, k=chance.randint(1, 4)))
        folders = {path[:at] for at, sign in enumerate(path) if sign == "/"}
        is_folder = any(each.startswith(f"{path}/") for each in files)
        if not folders & files.keys() and not is_folder:
            files[path] = chance.randbytes(chance.choice([0, 1, 100]))
    return files


@pytest.fixture(params=range(sized(2, weekly=4)))
def trees(request, fs, sea):
    """The root of each reference, the files, and a file system in memory with the same."""
    chance = random.Random(request.param)
    files = random_tree(chance)
    memory = MemoryFileSystem()
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]
    for path, content in files.items():
        fs.pipe_file(f"{sea}/main/{path}", content)
        memory.makedirs(memory._parent(f"/top/{path}"), exist_ok=True)
        memory.pipe_file(f"/top/{path}", content)
    commit = fs.lake.commits.commit(sea, "main", message="tree").id
    fs.lake.tags.create(sea, "v1", "main")
    yield [f"{sea}/{name}" for name in ("main", "main~0", "v1", commit)], files, memory
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def within(root, names):
    return [name.removeprefix(root).strip("/") for name in names]


def shown(root, infos):
    return {
        name.removeprefix(root).strip("/"): (info["type"], info["size"])
        for name, info in infos.items()
    }


@pytest.mark.sample(1)
def test_files_and_folders_are_those_of_the_oracle(fs, trees):
    roots, files, memory = trees
    for root in roots:
        for maxdepth in (None, 1, 2, 3):
            for withdirs in (False, True):
                options = {"maxdepth": maxdepth, "withdirs": withdirs, "detail": True}
                expected = shown("/top", memory.find("/top", **options))
                found = shown(root, fs.find(root, **options))
                assert found == expected, (root, options)
        for pattern in PATTERNS:
            expected = {*within("/top", memory.glob(f"/top/{pattern}"))}
            assert {*within(root, fs.glob(f"{root}/{pattern}"))} == expected, pattern
        folders = [place for place, _, _ in memory.walk("/top")]
        walked = {place.removeprefix(root).strip("/"): names for place, *names in fs.walk(root)}
        assert walked.keys() == {*within("/top", folders)}
        for folder in folders:
            here = folder.replace("/top", root, 1)
            expected = sorted(within("/top", memory.ls(folder, detail=False)))
            assert sorted(within(root, fs.ls(here, detail=False))) == expected
            assert fs.isdir(here)
            assert not fs.isfile(here)
            assert fs.du(here) == memory.du(folder)
        for path, content in files.items():
            here = f"{root}/{path}"
            assert fs.isfile(here)
            assert not fs.isdir(here)
            assert fs.ls(here)[0]["size"] == fs.size(here) == len(content)
            assert fs.cat_file(here) == content
            assert not fs.exists(f"{here}+")
            assert not fs.exists(f"{here}/below")


@pytest.mark.sample(1)
def test_contents_and_slices_are_those_of_the_oracle(fs, trees):
    roots, files, _ = trees
    chance = random.Random(1)
    bounds = [None, 0, 1, 50, 99, 100, 1000, -1, -50, -100, -1000]
    for root in roots:
        paths = [f"{root}/{path}" for path in files]
        assert fs.cat(paths) == {f"{root}/{path}": content for path, content in files.items()}
        assert fs.cat(root, recursive=True) == fs.cat(paths)
        parts = [
            (*chance.choices(bounds, k=2), *chance.choice([*files.items()])) for _ in range(99)
        ]
        expected = [content[start:end] for start, end, _, content in parts]
        names = [f"{root}/{path}" for _, _, path, _ in parts]
        found = fs.cat_ranges(names, [each[0] for each in parts], [each[1] for each in parts])
        assert found == expected
        for (start, end, _, _), name, content in zip(parts, names, expected, strict=True):
            assert fs.cat_file(name, start, end) == content
