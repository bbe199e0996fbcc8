"""Open objects are binary files of one version: one contract for all lakes."""

from __future__ import annotations

import csv
import io
import random
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest

from anabranch.errors import Gone

CONTENT = random.Random(7).randbytes(700_000)


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(4))
def test_random_reads_return_what_bytesio_returns(lake, sea, seed):
    rng = random.Random(seed)
    content = CONTENT[: [131_072, 1, 131_073, len(CONTENT)][seed]]
    lake.objects.upload(sea, "main", "a", [content])
    ours, oracle = lake.objects.open(sea, "main", "a"), io.BytesIO(content)
    for _ in range(60):
        size = rng.choice([-1, None, 0, 1, 100, 8192, 200_000, 500_000])
        if rng.random() < 0.5:
            offset = rng.randrange(len(content) + 100)
            assert ours.seek(offset) == oracle.seek(offset)
        if rng.random() < 0.3:
            assert ours.readline(size) == oracle.readline(size)
        else:
            assert ours.read(size) == oracle.read(size)
        assert ours.tell() == oracle.tell()


def test_an_open_object_stays_the_version_that_was_opened(lake, sea):
    lake.objects.upload(sea, "main", "a", [CONTENT], metadata={"n": "1"})
    opened = lake.objects.open(sea, "main", "a")
    assert opened.read(10) == CONTENT[:10]
    lake.objects.upload(sea, "main", "a", [b"other"])
    assert opened.read(300_000) == CONTENT[10:300_010]
    lake.commits.commit(sea, "main", message="m")
    lake.objects.delete(sea, "main", "a")
    assert opened.read() == CONTENT[300_010:]
    assert opened.read_bytes() == CONTENT
    assert (opened.entry.size, opened.entry.metadata) == (len(CONTENT), {"n": "1"})
    assert lake.objects.open(sea, "main@", "a").read() == b"other"


@pytest.mark.parametrize("size", [5, 300_000])
def test_bytes_that_an_object_does_not_have_are_gone(lake, sea, size):
    lake.objects.upload(sea, "main", "a", [CONTENT[:size]])
    opened = lake.objects.open(sea, "main", "a")
    for wrong in [(0, size + 1), (size + 1,), (size + 1, 5), (-1,)]:
        with pytest.raises(Gone):
            opened.read_bytes(*wrong)
        with pytest.raises(Gone):
            list(opened.chunks(*wrong))
    assert opened.read_bytes(3, 0) == opened.read_bytes(size) == b""
    assert opened.read_bytes(size - 2, 2) == CONTENT[size - 2 : size]


def test_threads_read_ranges_of_one_object(lake, sea):
    lake.objects.upload(sea, "main", "a", [CONTENT])
    opened = lake.objects.open(sea, "main", "a")
    starts = range(0, len(CONTENT), 50_000)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda start: opened.read_bytes(start, 50_000), starts[:-1]))
    assert b"".join(parts) == CONTENT[: starts[-1]]


@pytest.mark.sample(1)
def test_libraries_read_objects_as_files(lake, sea):
    frame = pd.DataFrame({"place": ["Mariana", "Tonga"] * 20_000, "metres": range(40_000)})
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    lake.objects.upload(sea, "main", "t.parquet", [buffer.getvalue()])
    read = pd.read_parquet(lake.objects.open(sea, "main", "t.parquet")._file())
    pd.testing.assert_frame_equal(read, frame)
    lake.objects.upload(sea, "main", "t.csv", ["a,ü\n1,2\n".encode()])
    rows = csv.reader(io.TextIOWrapper(lake.objects.open(sea, "main", "t.csv")._file(), "utf-8"))
    assert list(rows) == [["a", "ü"], ["1", "2"]]
