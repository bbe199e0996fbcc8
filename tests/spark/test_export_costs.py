"""What exports on Spark read, and how many jobs they are: tasks share ranges by keys."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from support.progress import CallbackProgress
from support.session.sizes import sized

import anabranch.spark
from anabranch import _kernel
from anabranch.blocks.table_addresses import is_table_address
from anabranch.errors import Corrupt, Gone
from anabranch.pipelines.exports.changes import changes
from anabranch.pipelines.exports.folder import TEMPORARY, FolderDestination
from anabranch.pipelines.exports.prefix import PrefixDestination
from anabranch.pipelines.exports.state import STATE, read_state
from anabranch.spark.jobs import exports
from anabranch.spark.planning.partition_planning import Range
from anabranch.spark.planning.tree_parts import MAX_PARTS, group_parts
from anabranch.spark.sources.table_files import StoredTables
from anabranch.spark.sources.tree_parts import open_tree_part

pytestmark = pytest.mark.timeout(600)

BODIES = [b"", b"one", b"two" * 1000, b"huge" * 800_000]
ODD = [
    *(
        "%41+ &?#",
        "ä/€ \N{PILE OF POO}",
        "line\nbreak",
        'quote"\\',
        "a b/c d",
        "tab\t/\x01",
        "zz/\x7f",
    ),
    *("-", "~", ",;:", "'", "e\N{COMBINING ACUTE ACCENT}", "\N{LATIN SMALL LETTER E WITH ACUTE}"),
]


class RemoteBlocks:
    """The blocks of a local store, which are reached as those of a remote one. The number of bytes
    that are read of tables is appended to a file, also in tasks.
    """

    def __init__(self, blocks, counted):
        self._blocks = blocks
        self._counted = counted

    def __getattr__(self, name):
        return getattr(self._blocks, name)

    def local_path(self, _):
        return None

    def get(self, address, start=0, length=None):
        for piece in self._blocks.get(address, start, length):
            self._count(address, piece)
            yield piece

    def read(self, address, start=0, length=None):
        content = self._blocks.read(address, start, length)
        self._count(address, content)
        return content

    def _count(self, address, content):
        if is_table_address(address):
            with self._counted.open("a") as file:
                file.write(f"{len(content)}\n")


def open_remote(opener, counted):
    return RemoteBlocks(opener(), counted)


@pytest.fixture
def remote(lake, tmp_path):
    """The lake, as its stores and as the opener of its blocks: tasks download its tables."""
    store = partial(open_remote, lake.blocks.opener(), tmp_path / "bytes-read")
    for number, body in enumerate(BODIES):
        lake.blocks.put(f"local://raw/{number}", [body])
    return SimpleNamespace(core=lake.core, blocks=store(), store=store)


def import_bodies(lake, bodies):
    """Makes a commit of the objects whose bodies are given by number; returns its tree's ranges."""
    paths = sorted(bodies, key=str.encode)
    listing = {
        "path": paths,
        "physical_address": [f"local://raw/{bodies[path]}" for path in paths],
        "size": pa.array([len(BODIES[bodies[path]]) for path in paths], pa.int64()),
        "checksum": [hashlib.md5(BODIES[bodies[path]]).hexdigest() for path in paths],
    }
    done = lake.import_listing("sea", "main", pa.table(listing), verify="none", prefix="")
    repository = lake.core.repositories.get("sea")
    return lake.core.trees.open(repository, done.commit.metarange_id).ranges()


def table_sizes(lake, ranges):
    addresses = [f"local://sea/_lakefs/{each.id}" for each in ranges]
    return sum(lake.blocks.stat(address).size for address in addresses)


def read_bytes(tmp_path):
    """Returns how many bytes of tables were read since the last call."""
    file = tmp_path / "bytes-read"
    total = sum(map(int, file.read_text().split())) if file.exists() else 0
    file.unlink(missing_ok=True)
    return total


def exported(destination):
    paths = [path for path in destination.paths() if not path.startswith((STATE, "EXPORT_"))]
    return {path: destination.read_note(path) for path in paths}


@pytest.mark.parametrize("objects", [2_000, pytest.param(6_000, marks=pytest.mark.slow)])
def test_each_block_of_tables_is_read_by_one_task(spark, lake, remote, tmp_path, objects):
    ranges = import_bodies(lake, {name(n): n % 3 for n in range(objects)})
    read_bytes(tmp_path)
    done = anabranch.spark.export(
        *(spark, remote, "sea", "main", str(tmp_path / "out")),
        store=remote.store,
        entries_per_task=1_000,
    )
    assert done.stored == objects
    groups = group_parts([[], map(as_range, ranges)], 1_000)
    assert max(map(len, groups)) >= objects // 2_000, "a range is divided"
    assert read_bytes(tmp_path) <= 1.2 * table_sizes(lake, ranges)


@pytest.mark.sample(1)
@pytest.mark.parametrize("to", ["folder", "store"])
@pytest.mark.slow  # a cost
def test_the_next_export_reads_each_block_of_tables_once(spark, lake, remote, tmp_path, to):
    """In a folder, one phase removes and another copies."""
    address = str(tmp_path / "out") if to == "folder" else "local://out"

    def export():
        return anabranch.spark.export(
            *(spark, remote, "sea", "main", address), store=remote.store, entries_per_task=1_000
        )

    count = sized(3_000, weekly=6_000)
    bodies = {name(n): n % 3 for n in range(count)}
    before = import_bodies(lake, bodies)
    export()
    read_bytes(tmp_path)
    bodies = {path: (body + 1) % 3 for path, body in list(bodies.items())[100:]}
    after = import_bodies(lake, bodies)
    done = export()
    assert (done.stored, done.removed) == (count - 100, 100)
    assert read_bytes(tmp_path) <= 1.2 * table_sizes(lake, [*before, *after])
    if to == "folder":
        assert exported(FolderDestination(address)) == {
            path: BODIES[body] for path, body in bodies.items()
        }
        assert not list((tmp_path / "out").glob(f"{TEMPORARY}*")), "files of changes are removed"


def name(number):
    """Returns a path that does not compress, as addresses and checksums do not."""
    digest = hashlib.sha256(b"%d" % number).hexdigest()
    return f"d{number % 3}/{digest}{digest[::-1]}"


def as_range(info):
    return Range(info.id, info.min_key, info.max_key, info.count, info.estimated_size)


def range_end(prefix):
    """Returns a path after which a range ends."""
    return next(
        path for n in range(10**7) if _kernel.ends_range((path := f"{prefix}/~{n}").encode())
    )


@pytest.mark.slow  # a cost
def test_the_number_of_jobs_does_not_grow_with_the_objects(
    spark, lake, remote, tmp_path, monkeypatch
):
    monkeypatch.setattr(exports, "_MIN_ENTRIES", 10)
    monkeypatch.setattr(exports, "_MAX_WAVES", 6)
    jobs = []
    for count in (24, 72):
        names = [f"r{number:03}" for number in range(count)]
        bodies = {f"{name}/{n}": n % 3 for name in names for n in range(9)}
        ranges = import_bodies(lake, {**bodies, **dict.fromkeys(map(range_end, names), 0)})
        assert len(ranges) == count
        before = job_count(spark)
        out = str(tmp_path / f"out-{count}")
        done = anabranch.spark.export(spark, remote, "sea", "main", out, store=remote.store)
        assert done.stored == count * 10
        jobs.append(job_count(spark) - before)
    assert jobs[0] > 3, "there are several waves"
    assert jobs[1] <= jobs[0] + 1


def job_count(spark):
    """Returns how many jobs the session has had."""
    scala = spark.sparkContext._jsc.sc()
    scala.listenerBus().waitUntilEmpty(60_000)
    jobs = scala.statusStore().jobsList(None)
    return max((jobs.apply(index).jobId() for index in range(jobs.size())), default=-1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("to", ["folder", "store"])
def test_divided_ranges_are_exported_whole(spark, lake, remote, tmp_path, to):
    address = str(tmp_path / "out") if to == "folder" else "local://out"
    destination = (
        FolderDestination(address) if to == "folder" else PrefixDestination(remote.blocks, address)
    )
    first = {name(n): n % 3 for n in range(1_200)} | dict.fromkeys(ODD, 1)
    first |= {"d1/huge": 3, "gone/only": 1}
    second = {
        path: (body + number % 20 // 19) % 3 for number, (path, body) in enumerate(first.items())
    }
    for path in [*list(first)[5:1_200:7], "gone/only", "-"]:
        del second[path]
    second |= {f"d1/{n:05}x": 2 for n in range(300)} | {f"zz/{n}": 1 for n in range(40)}
    if to == "folder":
        second["-/now a folder"] = 2

    def export(callback=lambda _: None):
        return anabranch.spark.export(
            *(spark, remote, "sea", "main", address),
            store=remote.store,
            entries_per_task=150,
            tasks_at_once=1,
            progress=CallbackProgress(callback),
        )

    def interrupt(_):
        raise InterruptedError

    for bodies in (first, second):
        ranges = import_bodies(lake, bodies)
        (group,) = group_parts([[], map(as_range, ranges)], 150)
        assert len(group) > 4
        with pytest.raises(InterruptedError):
            export(interrupt)
        assert read_state(destination).attempts
        export()
        assert exported(destination) == {path: BODIES[body] for path, body in bodies.items()}
        assert export().stored == 0
    empty = {"one": 1}
    import_bodies(lake, empty)
    assert export().removed == len(second)
    assert exported(destination) == {"one": BODIES[1]}


def test_missing_and_damaged_parts_of_a_range_are_errors_with_its_name(lake, remote):
    (info,) = import_bodies(lake, {name(n): 1 for n in range(1_000)})
    (group,) = group_parts([[], [as_range(info)]], 150)
    tables = StoredTables(remote.store, "local://sea")
    file = Path(lake.blocks.local_path(f"local://sea/_lakefs/{info.id}"))
    content = file.read_bytes()

    def read():
        found = []
        for part in group:
            with open_tree_part(tables, part) as opened:
                base, tree = opened.trees
                found += changes(base, [tree], opened.after, opened.until)
        return found

    assert [key.decode() for key, _ in read()] == sorted(name(n) for n in range(1_000))
    middle = len(content) // 2
    for damaged in (
        content[:middle] + bytes(100) + content[middle + 100 :],
        content[:-40] + bytes(40),
        content[: len(content) // 3],
        b"",
    ):
        file.write_bytes(damaged)
        with pytest.raises(Corrupt, match=info.id):
            read()
    file.unlink()
    with pytest.raises(Gone, match=f"{info.id}: the table is missing"):
        read()


@pytest.mark.slow  # a cost
def test_plans_follow_the_cluster_and_not_the_objects():
    def tree(ranges, entries):
        keys = [b"%08d" % number for number in range(2 * ranges)]
        pairs = zip(keys[::2], keys[1::2], strict=True)
        return [Range(f"{low!r}", low, high, entries, 100 * entries) for low, high in pairs]

    for cores in (1, 8, 500):
        for ranges in (1, 30, 20_000):
            trees = [[], tree(ranges, 50_000)]
            waves = list(exports._plan_waves(trees, cores, 0, 0).after(b""))
            tasks = [task for wave in waves for task in wave]
            assert len(waves) <= exports._MAX_WAVES
            assert len(tasks) <= max(
                2 * exports._TASKS_PER_CORE * cores, ranges * 50_000 // 125_000
            )
            assert len(tasks) >= min(cores, ranges * 5), "each core has work"
            covered = [
                each for task in tasks if not task.part.number for each in task.part.trees[1]
            ]
            assert covered == trees[1]


def test_groups_of_ranges_and_parts_of_ranges_have_the_requested_size():
    sizes = [10, 10, 10, 100, 10, 999, 10]
    tree = [Range(str(n), b"%d" % n, b"%dx" % n, size, 100 * size) for n, size in enumerate(sizes)]
    groups = group_parts([[], tree], 30)
    assert [[entry.entries for entry in group[0].trees[1]] for group in groups] == [
        *([10, 10, 10], [100], [10], [999], [10])
    ]
    assert [len(group) for group in groups] == [1, 3, 1, MAX_PARTS, 1]
    assert all([part.number for part in group] == list(range(len(group))) for group in groups)
    assert group_parts([tree, tree], 30) == []
    small = Range("small", b"a", b"b", 999, 25 * 999)
    assert len(group_parts([[], [small]], 30)[0]) == MAX_PARTS // 4, "its index takes more of it"
    other = Range("other", b"2x", b"4", 60, 6_000)
    ((first, *_),) = group_parts([[other], tree[3:4]], 50)
    assert first.trees == ((other,), (tree[3],))
    assert first.parts == 2, "only the larger tree counts"
