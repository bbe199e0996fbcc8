"""pyarrow's own S3 file system, which is Amazon's C++ library: files, folders and data sets."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs as pafs
from support.clients.odd_keys import ODD_KEYS, dot_segments, empty_segments
from support.clients.round_trip import round_trip

TABLE = pa.table(
    {
        "depth": pa.array(range(3000), pa.int64()),
        "sea": pa.array([("north", "south sea", "é=1/2")[row % 3] for row in range(3000)]),
    }
)
SCHEMA = pa.schema([("sea", pa.string())])
HIVE = ds.partitioning(SCHEMA, flavor="hive")


@pytest.fixture(scope="module")
def s3fs(server):
    return pafs.S3FileSystem(
        access_key=server.access_key_id,
        secret_key=server.secret_access_key,
        endpoint_override=server.url.removeprefix("http://"),
        scheme="http",
        region="us-east-1",
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=1),
    )


def write(s3fs, path, content):
    with s3fs.open_output_stream(path) as stream:
        stream.write(content)


def paths(s3fs, folder, kind=pafs.FileType.File):
    found = s3fs.get_file_info(pafs.FileSelector(folder, recursive=True))
    return sorted(info.path.removeprefix(f"{folder}/") for info in found if info.type is kind)


@pytest.mark.wiring
def test_files(s3fs, repo):
    base = f"{repo.id}/main"
    content = bytes(range(256)) * 1000
    write(s3fs, f"{base}/a b", content)
    info = s3fs.get_file_info(f"{base}/a b")
    assert (info.type, info.size) == (pafs.FileType.File, len(content))
    with s3fs.open_input_file(f"{base}/a b") as file:
        assert file.read_at(100, 500) == content[500:600]
        file.seek(-5, 2)
        assert file.read() == content[-5:]
    with s3fs.open_input_stream(f"{base}/a b") as stream:
        assert stream.readall() == content
    s3fs.copy_file(f"{base}/a b", f"{base}/b")
    s3fs.move(f"{base}/b", f"{base}/c+d")
    assert paths(s3fs, base) == ["a b", "c+d"]
    s3fs.delete_file(f"{base}/a b")
    assert s3fs.get_file_info(f"{base}/a b").type is pafs.FileType.NotFound
    assert repo.get("c+d") == content
    with pytest.raises(FileNotFoundError):
        s3fs.open_input_file(f"{base}/none")


def test_metadata_and_types_of_content(s3fs, repo):
    path = f"{repo.id}/main/a"
    metadata = {"Content-Type": "text/x", "Cache-Control": "no-cache"}
    with s3fs.open_output_stream(path, metadata=metadata) as stream:
        stream.write(b"content")
    with s3fs.open_input_stream(path) as stream:
        response = stream.metadata()
    assert response["Content-Type"] == b"text/x"
    assert response["Cache-Control"] == b"no-cache"


def test_large_files_go_in_parts(s3fs, repo):
    piece = bytes(range(256)) * 4096
    with s3fs.open_output_stream(f"{repo.id}/main/large") as stream:
        for _ in range(23):
            stream.write(piece)
    with s3fs.open_input_file(f"{repo.id}/main/large") as file:
        assert file.size() == 23 * len(piece)
        assert file.read_at(len(piece), 17 * len(piece)) == piece


def test_folders(s3fs, repo):
    """Folders are empty objects whose names end in a slash, as pyarrow makes them."""
    base = f"{repo.id}/main"
    s3fs.create_dir(f"{base}/a/b")
    assert s3fs.get_file_info(base).type is pafs.FileType.Directory
    assert s3fs.get_file_info(f"{base}/a/b").type is pafs.FileType.Directory
    assert paths(s3fs, base, pafs.FileType.Directory) == ["a", "a/b"]
    write(s3fs, f"{base}/a/b/c", b"c")
    write(s3fs, f"{base}/a/d", b"d")
    s3fs.delete_dir_contents(f"{base}/a")
    assert paths(s3fs, base) == []
    assert s3fs.get_file_info(f"{base}/a").type is pafs.FileType.Directory
    write(s3fs, f"{base}/a/e", b"e")
    s3fs.delete_dir(f"{base}/a")
    assert s3fs.get_file_info(f"{base}/a").type is pafs.FileType.NotFound
    assert repo.paths() == []
    assert s3fs.get_file_info(f"{repo.id}/none").type is pafs.FileType.NotFound
    assert base in [info.path for info in s3fs.get_file_info(pafs.FileSelector(repo.id))]


@pytest.mark.slow  # test_boto3.py has pages
def test_more_files_than_one_request_lists_or_deletes(s3fs, repo):
    base = f"{repo.id}/main"
    write(s3fs, f"{base}/many/0000", b"")
    for number in range(1, 1005):
        s3fs.copy_file(f"{base}/many/0000", f"{base}/many/{number:04}")
    assert paths(s3fs, f"{base}/many") == [f"{number:04}" for number in range(1005)]
    s3fs.delete_dir(f"{base}/many")
    assert repo.paths() == []


def test_a_partitioned_data_set(s3fs, repo):
    base = f"{repo.id}/main/depths"
    ds.write_dataset(TABLE, base, filesystem=s3fs, format="parquet", partitioning=HIVE)
    read = ds.dataset(base, filesystem=s3fs, partitioning=HIVE)
    assert read.to_table().sort_by("depth").select(["depth", "sea"]).equals(TABLE)
    south = read.to_table(filter=ds.field("sea") == "south sea")
    assert south.num_rows == 1000
    repo.commit()
    repo.branch("dev")
    ds.write_dataset(
        TABLE.slice(0, 30),
        f"{repo.id}/dev/depths",
        filesystem=s3fs,
        format="parquet",
        partitioning=HIVE,
        existing_data_behavior="delete_matching",
    )
    there = ds.dataset(f"{repo.id}/dev/depths", filesystem=s3fs, partitioning=HIVE)
    assert (there.count_rows(), read.count_rows()) == (30, 3000)
    repo.commit(branch="dev")
    repo.merge("dev")
    merged = ds.dataset(base, filesystem=s3fs, partitioning=HIVE)
    assert merged.to_table().sort_by("depth").column("depth").to_pylist() == list(range(30))


def test_parquet_at_any_reference(s3fs, repo):
    pq.write_table(TABLE, f"{repo.id}/main/depths.parquet", filesystem=s3fs)
    commit = repo.commit()
    pq.write_table(TABLE.slice(0, 1), f"{repo.id}/main/depths.parquet", filesystem=s3fs)
    old = pq.read_table(f"{repo.id}/{commit.id}/depths.parquet", filesystem=s3fs)
    assert old.equals(TABLE)
    assert pq.read_metadata(f"{repo.id}/main/depths.parquet", filesystem=s3fs).num_rows == 1


class Keys:
    """pyarrow as a client of keys."""

    def __init__(self, s3fs, bucket):
        self.s3fs = s3fs
        self.bucket = bucket

    def put(self, key, content):
        write(self.s3fs, f"{self.bucket}/{key}", content)

    def get(self, key):
        with self.s3fs.open_input_stream(f"{self.bucket}/{key}") as stream:
            return stream.readall()

    def size(self, key):
        return self.s3fs.get_file_info(f"{self.bucket}/{key}").size

    def keys(self, branch):
        folder = f"{self.bucket}/{branch}"
        return [f"{branch}/{path}" for path in paths(self.s3fs, folder)]

    def copy(self, source, target):
        self.s3fs.copy_file(f"{self.bucket}/{source}", f"{self.bucket}/{target}")

    def delete(self, key):
        self.s3fs.delete_file(f"{self.bucket}/{key}")


@pytest.mark.slow
def test_odd_keys(s3fs, odd_bucket):
    """pyarrow refuses empty segments itself, takes a slash at the end for a folder, and cuts off a
    key at NUL; `.` and `..` it signs as they are and sends resolved: `main/a/../b` as `main/b`.
    """
    keys = [
        key for key in ODD_KEYS if not (empty_segments(key) or dot_segments(key) or "\x00" in key)
    ]
    assert len(keys) > 250
    round_trip(Keys(s3fs, odd_bucket), keys)
