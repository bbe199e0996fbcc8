"""Every file and every id is Pebble's: the version that lakeFS pins writes the same records."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.formats.record_shapes import SHAPES, Record
from support.formats.sstable import encode_value, read_table
from support.session.sizes import sized

from anabranch import _kernel

SOURCE = Path(__file__).parents[1] / "differential" / "pebble"
LENGTH = struct.Struct("<I")

# the first run on a machine fetches and builds Pebble
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="session")
def pebble(build_go) -> Path:
    """The Go program, built once."""
    return build_go(SOURCE, "Pebble")


def write_stream(path: Path, records: Iterable[tuple[bytes, bytes]]) -> None:
    """Writes raw records in the form that the Go program reads."""
    with path.open("wb") as stream:
        for key, value in records:
            stream.write(LENGTH.pack(len(key)) + key + LENGTH.pack(len(value)) + value)


def run(program: Path, *arguments: str | Path, stream: Path | None = None) -> list[list[str]]:
    with (stream or Path(os.devnull)).open("rb") as records:
        answer = subprocess.run(
            [program, *arguments], stdin=records, capture_output=True, check=False, text=True
        )
    assert answer.returncode == 0, answer.stderr
    return [line.split(" ") for line in answer.stdout.splitlines()]


def expect_equal_folders(ours: Path, theirs: Path) -> list[str]:
    """Returns the names, which are the same in both, as are the bytes."""
    names = sorted(path.name for path in theirs.iterdir())
    assert sorted(path.name for path in ours.iterdir()) == names
    for name in names:
        same = (ours / name).read_bytes() == (theirs / name).read_bytes()
        assert same, f"{name} has other bytes"
    return names


def counted(records: Iterable[Record], count: list[int]) -> Iterator[tuple[bytes, bytes]]:
    for key, (identity, data) in records:
        count[0] += 1
        yield key, encode_value(identity, data)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
@pytest.mark.sample(2)
def test_trees_are_pebbles(shape, pebble, tmp_path):
    ours, theirs, stream = tmp_path / "ours", tmp_path / "theirs", tmp_path / "records"
    ours.mkdir()
    theirs.mkdir()
    count = [0]
    write_stream(stream, counted(shape(), count))
    *ranges, metarange = run(pebble, "ranges", theirs, stream=stream)
    stream.unlink()

    written = _kernel.write_tree(shape(), str(ours))
    assert written.metarange_id == metarange[1]
    assert written.count == count[0]
    assert sorted(written.tables) == expect_equal_folders(ours, theirs)

    tree = _kernel.Tables().tree(written.metarange_id, lambda table: str(ours / table))
    fields = [
        ["ranges", r.id, r.min_key.hex(), r.max_key.hex(), str(r.count), str(r.estimated_size)]
        for r in tree.ranges()
    ]
    assert fields == ranges

    names = [line[1] for line in (*ranges, metarange)]
    assert run(pebble, "check", *(ours / name for name in names)) == [[name] for name in names]


@pytest.mark.slow
def test_the_shapes_press_on_what_they_say(tmp_path):
    """Lone records make ranges of one record, the incompressible are cut by size."""
    by_name = {shape.__name__: shape for shape in SHAPES}
    ranges = {}
    for name in ("lone_records", "cut_by_size"):
        written = _kernel.write_tree(by_name[name](), str(tmp_path))
        tree = _kernel.Tables().tree(written.metarange_id, lambda table: str(tmp_path / table))
        ranges[name] = tree.ranges()
    assert sum(r.count == 1 for r in ranges["lone_records"]) >= 3
    assert [r.estimated_size >= 20 << 20 for r in ranges["cut_by_size"]].count(True) >= 2


def random_ranges(count: int) -> list[_kernel.RangeInfo]:
    dice = random.Random(7)
    keys = sorted({dice.randbytes(dice.randrange(1, 60)) for _ in range(count)})
    return [
        _kernel.RangeInfo(
            dice.randbytes(32).hex(),
            key[: dice.randrange(len(key) + 1)],
            key,
            dice.choice([0, 1, dice.randrange(1 << 20)]),
            dice.choice([0, 127, 128, dice.randrange(1 << 40)]),
        )
        for key in keys
    ]


@pytest.mark.parametrize("count", [1, 2, 30, 300, sized(10_000, weekly=40_000)])
def test_metaranges_are_pebbles(count, pebble, tmp_path):
    ours, theirs, stream = tmp_path / "ours", tmp_path / "theirs", tmp_path / "records"
    ours.mkdir()
    theirs.mkdir()
    ranges = random_ranges(count)
    name = _kernel.write_metarange(ranges, str(ours))
    write_stream(stream, _kernel.table_records(str(ours / name)))
    ((_, theirs_name, *_),) = run(pebble, "table", "metaranges", theirs, stream=stream)
    assert theirs_name == name
    assert expect_equal_folders(ours, theirs) == [name]
    table = read_table((ours / name).read_bytes())
    assert table.two_levels == (count > 1000)
    assert [key for key, _ in table.records] == [r.max_key for r in ranges]


def test_the_comparison_can_fail(pebble, tmp_path):
    """A table whose last byte of a value differs has another id, and Pebble sees a flipped bit."""
    ours = tmp_path / "ours"
    ours.mkdir()
    written = _kernel.write_tree([(b"k", (b"i", b"d"))], str(ours))
    write_stream(tmp_path / "records", [(b"k", encode_value(b"i", b"e"))])
    theirs = run(pebble, "ranges", tmp_path, stream=tmp_path / "records")
    assert theirs[-1][1] != written.metarange_id

    path = ours / written.metarange_id
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    refused = subprocess.run([pebble, "check", path], capture_output=True, check=False)
    assert refused.returncode != 0
