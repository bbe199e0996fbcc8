"""Snapshots: one contract for a lake in a folder and one on a server."""

from __future__ import annotations

import os
import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.session.sizes import sized

import anabranch
from anabranch.errors import Invalid, NotFound
from anabranch.lake.snapshots.snapshot import Snapshot
from anabranch.model.objects.stat import CommonPrefix, Stat

from .lakes import WaitingLake

NAMES = ["a", "b", "ab", "a b", "ä", "🌊", "-", "%2F", "..", "", "x.csv", "y.csv", "z.json"]
SIZES = [0, 1, 511, 512, 4096, 200_000]


@pytest.fixture(scope="module", params=["folder", "server", "asyncio"])
def lake(request, tmp_path_factory):
    if request.param == "folder":
        yield request.getfixturevalue("folder_lake")
        return
    server = request.getfixturevalue("lake_server")
    cache = tmp_path_factory.mktemp("cache")
    connect = anabranch.connect if request.param == "server" else WaitingLake
    with connect(server.url, *server.auth, cache_folder=cache) as lake:
        yield lake


def random_path(chance):
    path = "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 4)))
    return path or "top"


def fill(lake, repository, seed, count=60):
    """Commits random objects and returns their contents by path."""
    chance = random.Random(seed)
    contents = {random_path(chance): chance.randbytes(chance.choice(SIZES)) for _ in range(count)}
    for path, content in contents.items():
        metadata = {"n": path} if chance.random() < 0.3 else {}
        lake.objects.upload(repository, "main", path, [content], metadata=metadata)
    lake.commits.commit(repository, "main", message="objects")
    return contents


def shown(item):
    """Returns what each lake says of an item; where relative addresses begin differs."""
    if isinstance(item, CommonPrefix):
        return item.path
    entry = item.entry
    return (
        *(item.path, item.physical_address, entry.size, entry.mtime, entry.checksum),
        *(entry.metadata, entry.content_type),
    )


def listed(lake, repository, reference, **options):
    pages = lake.objects.pages(repository, reference, **options)
    return [shown(item) for page in pages for item in page.items]


def expression(pattern):
    """Returns a pattern of paths as a regular expression, folder by folder."""
    names = [
        "(?:[^/]*/)*" if name == "**" else re.escape(name).replace(r"\*", "[^/]*") + "/"
        for name in pattern.split("/")
    ]
    return re.compile("".join(names))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sample(2)
def test_a_snapshot_has_what_the_listing_has(lake, sea, seed):
    contents = fill(lake, sea, seed)
    snapshot = lake.snapshot(sea, "main")
    assert isinstance(snapshot, Snapshot)
    paths = sorted(contents, key=str.encode)
    assert (len(snapshot), [*snapshot.paths()]) == (len(paths), paths)
    chance = random.Random(seed)
    prefixes = ["", *(path[: chance.randint(0, len(path))] for path in paths)]
    for prefix in prefixes:
        for delimiter in ("", "/"):
            expected = listed(lake, sea, "main", prefix=prefix, delimiter=delimiter)
            found = [shown(item) for item in snapshot.list(prefix, delimiter=delimiter)]
            assert found == expected
        assert [*snapshot.paths(prefix)] == [path for path in paths if path.startswith(prefix)]
    for path in paths:
        assert shown(snapshot.stat(path)) == shown(lake.objects.stat(sea, "main", path))
        assert snapshot.exists(path)
        assert path in snapshot
        assert f"{path}+" not in snapshot
        assert snapshot.read(path) == contents[path]
    mixed = [each for path in paths for each in (path, f"{path}+")]
    found = snapshot.stat_many(mixed)
    assert found == [snapshot.stat(path) if path in contents else None for path in mixed]
    order = chance.choices(paths, k=100)
    assert [*snapshot.read_many(order)] == [contents[path] for path in order]


@pytest.mark.sample(7)
@pytest.mark.parametrize("pattern", ["**/*.csv", "*", "a*/**", "a/*/b", "**", "*/*.json", "a/b"])
def test_a_pattern_matches_folder_by_folder(lake, sea, pattern):
    paths = ["a", "a/b", "a/c/b", "ab/x.csv", "b/c/y.csv", "x.csv", "b/z.json", "a.csv/b"]
    for path in paths:
        lake.objects.upload(sea, "main", path, [b"1"])
    lake.commits.commit(sea, "main", message="paths")
    matching = expression(pattern)
    expected = sorted(path for path in paths if matching.fullmatch(f"{path}/"))
    assert [*lake.snapshot(sea, "main").glob(pattern)] == expected


def test_a_snapshot_stays_when_the_branch_moves(lake, sea):
    main = lake.repository(sea).branch("main")
    main.write("a", "old")
    commit = main.commit("old")
    main.write("uncommitted", "1")
    snapshots = [
        main.snapshot(),
        lake.repository(sea).snapshot("main"),
        lake.snapshot(sea, commit.id),
    ]
    main.write("a", "newer")
    main.write("b", "new")
    main.commit("new")
    lake.branches.create(sea, "other", "main")
    lake.objects.delete(sea, "main", "a")
    main.commit("gone")
    for snapshot in snapshots:
        assert (snapshot.commit_id, snapshot.commit.message) == (commit.id, "old")
        assert [*snapshot.paths()] == ["a"]
        assert snapshot.read("a") == snapshot.open("a", "rb").read() == b"old"
        assert snapshot.open("a").read() == "old"
        assert [*snapshot.read_many(["a", "a"])] == [b"old", b"old"]
    assert snapshots[0].reference == "main"
    assert lake.snapshot(sea, "main~2").commit_id == commit.id


def test_what_is_not_there_is_not_found(lake, sea):
    snapshot = lake.snapshot(sea, "main")
    assert (len(snapshot), [*snapshot.list()], [*snapshot.glob("**")]) == (0, [], [])
    for call in (
        snapshot.stat,
        snapshot.read,
        snapshot.open,
        lambda path: snapshot.read_many([path]),
    ):
        for path in ("a", "", "\ud800", "a" * 2000, "\udcff"):
            with pytest.raises(NotFound) as missing:
                call(path)
            assert missing.value.kind == "object_not_found"
    assert [*snapshot.read_many([])] == []
    assert snapshot.stat_many(["a", ""]) == [None, None]
    assert 1 not in snapshot
    with pytest.raises(NotFound) as missing:
        lake.snapshot(sea, "nothing")
    assert missing.value.kind == "reference_not_found"
    with pytest.raises(NotFound) as missing:
        lake.snapshot("no-such", "main")
    assert missing.value.kind == "repository_not_found"
    with pytest.raises(Invalid) as refused:
        lake.snapshot(sea, "main$")
    assert refused.value.kind == "invalid_reference"
    with pytest.raises(ValueError, match="'w'"):
        snapshot.open("a", "w")
    with pytest.raises(Invalid):
        snapshot.glob("[")


@pytest.mark.sample(1)
def test_many_objects_are_read_in_order_whatever_their_sizes(lake, sea):
    chance = random.Random(5)
    sizes = [0, 10, 3 << 20, 100, 1 << 20, (1 << 20) - 1, 5, 17 << 20, 1]
    contents = {f"{number}": chance.randbytes(size) for number, size in enumerate(sizes)}
    for path, content in contents.items():
        lake.objects.upload(sea, "main", path, [content])
    lake.commits.commit(sea, "main", message="sizes")
    snapshot = lake.snapshot(sea, "main")
    order = [*contents, *reversed(contents)]
    for path, content in zip(order, snapshot.read_many(order), strict=True):
        assert content == contents[path]
    with snapshot.open("2", "rb") as file:
        file.seek(1 << 20)
        assert file.read(100) == contents["2"][1 << 20 :][:100]


@pytest.mark.slow
def test_a_thousand_reads_in_flight(lake, sea):
    contents = {f"{number:04}": os.urandom(100) for number in range(200)}
    for path, content in contents.items():
        lake.objects.upload(sea, "main", path, [content])
    lake.commits.commit(sea, "main", message="objects")
    snapshot = lake.snapshot(sea, "main")
    paths = [*contents] * 5
    with ThreadPoolExecutor(100) as pool:
        assert [*pool.map(snapshot.read, paths)] == [contents[path] for path in paths]
        many = pool.map(lambda _: [*snapshot.read_many(paths)], range(sized(4, weekly=20)))
        assert all(each == [contents[path] for path in paths] for each in many)


@pytest.mark.sample(1)
def test_reads_that_are_given_up_leave_the_lake_usable(lake, sea):
    for number in range(50):
        lake.objects.upload(sea, "main", f"{number:02}", [b"1" * 100_000])
    lake.commits.commit(sea, "main", message="objects")
    snapshot = lake.snapshot(sea, "main")
    for _ in range(10):
        reading = snapshot.read_many(snapshot.paths())
        assert next(reading) == b"1" * 100_000
        reading.close()
    assert len(b"".join(snapshot.read_many(snapshot.paths()))) == 5_000_000


def test_each_item_of_a_listing_is_an_object_or_a_prefix(lake, sea):
    for path in ("a/b", "a/c", "d"):
        lake.objects.upload(sea, "main", path, [b"1"])
    lake.commits.commit(sea, "main", message="objects")
    folder, single = lake.repository(sea).ref("main").snapshot().list(delimiter="/")
    assert (type(folder), type(single)) == (CommonPrefix, Stat)
    assert repr(lake.snapshot(sea, "main")).endswith("3 objects>")
