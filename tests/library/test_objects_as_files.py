"""Objects of an open lake are binary files: compared with io.BytesIO, and read by pandas, pyarrow,
Polars, zipfile, csv and json.
"""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import anabranch
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone

CONTENT = random.Random(7).randbytes(400_000)
FRAME = pd.DataFrame({"place": ["Mariana", "Tonga"] * 500, "metres": range(1000)})


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with anabranch.open(tmp_path_factory.mktemp("lake")) as lake:
        lake.repositories.create("sea")
        yield lake


@pytest.fixture(scope="module")
def stored(lake):
    def store(content, path="object"):
        lake.objects.upload("sea", "main", path, [content])
        return lake.objects.open("sea", "main", path)

    return store


@pytest.mark.parametrize("seed", range(8))
def test_random_reads_return_what_bytesio_returns(stored, seed):
    rng = random.Random(seed)
    content = CONTENT[: rng.choice([0, 1, 5000, len(CONTENT)])]
    ours, oracle = stored(content, f"random/{seed}"), io.BytesIO(content)
    for _ in range(150):
        size = rng.choice([-1, None, 0, 1, 100, 8192, 200_000, 500_000])
        whence = rng.choice([io.SEEK_SET, io.SEEK_END])
        offset = rng.randrange(len(content) + 100) * (-1 if whence else 1)
        if offset + (len(content) if whence else 0) >= 0:
            assert ours.seek(offset, whence) == oracle.seek(offset, whence)
        if rng.random() < 0.3:
            assert ours.readline(size) == oracle.readline(size)
        elif rng.random() < 0.2:
            buffer, other = bytearray(1000), bytearray(1000)
            assert ours.readinto(buffer) == oracle.readinto(other)
            assert buffer == other
        else:
            assert ours.read(size) == oracle.read(size)
        assert ours.tell() == oracle.tell()


def test_lines_and_properties_are_those_of_a_binary_file(stored):
    with stored(b"a\nb\r\n\nc") as file:
        assert isinstance(file, io.BufferedIOBase)
        assert (file.readable(), file.seekable(), file.writable()) == (True, True, False)
        assert (file.mode, file.isatty(), file.closed) == ("rb", False, False)
        assert next(file) == b"a\n"
        assert list(file) == [b"b\r\n", b"\n", b"c"]
        file.seek(0)
        assert file.readlines() == [b"a\n", b"b\r\n", b"\n", b"c"]
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
        with pytest.raises(io.UnsupportedOperation):
            file.fileno()
        with pytest.raises(ValueError, match="negative"):
            file.seek(-1)
    assert file.closed
    with pytest.raises(ValueError, match="closed"):
        file.read()
    with pytest.raises(ValueError, match="closed"):
        file.read(1)
    assert file.read_bytes() == b"a\nb\r\n\nc"


def test_pandas_polars_and_pyarrow_read_objects(stored):
    parquet, text = io.BytesIO(), FRAME.to_csv(index=False).encode()
    FRAME.to_parquet(parquet)
    table = stored(parquet.getvalue(), "table.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(table), FRAME)
    pd.testing.assert_frame_equal(pd.read_csv(stored(text, "table.csv")), FRAME)
    opened = stored(parquet.getvalue(), "table.parquet")
    assert pq.ParquetFile(opened).read(columns=["metres"])["metres"].to_pylist() == [*range(1000)]
    opened = stored(parquet.getvalue(), "table.parquet")
    assert pl.read_parquet(opened).rows() == [*FRAME.itertuples(index=False, name=None)]


def test_the_standard_library_reads_objects(stored):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one", CONTENT)
        archive.writestr("two.json", '{"a": [1]}')
    with zipfile.ZipFile(stored(packed.getvalue(), "archive.zip")) as archive:
        assert archive.read("one") == CONTENT
        assert json.load(archive.open("two.json")) == {"a": [1]}
    assert json.load(stored(b'{"a": [1]}')) == {"a": [1]}
    rows = csv.reader(io.TextIOWrapper(stored("a,ü\n1,2\n".encode()), encoding="utf-8"))
    assert list(rows) == [["a", "ü"], ["1", "2"]]


def test_an_object_that_is_never_read_as_a_file_opens_nothing(stored):
    opened = stored(b"1")
    assert opened.read_bytes() == b"1"
    assert not hasattr(opened, "_stream")


def test_reading_a_lost_object_raises_gone(lake, stored):
    opened = stored(b"1" * 10, "lost")
    blocks: BlockStore = lake.blocks
    blocks.delete([blocks.unqualify(opened.physical_address)])
    with pytest.raises(Gone):
        opened.read()
    with pytest.raises(Gone):
        opened.read(3)
