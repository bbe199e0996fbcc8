"""The files of an Iceberg table's metadata: names, hints, compression."""

import gzip
import json

import pytest
from support.formats.folder_objects import FolderObjects

from anabranch.errors import Invalid
from anabranch.tables.iceberg.metadata_files import MetadataFiles
from anabranch.tables.live_rows.addresses import TablePlace

MINIMAL = {"format-version": 2, "snapshots": []}


@pytest.fixture
def files(tmp_path):
    """Writes metadata files; returns them as a table's."""

    def files(hint="", **contents):
        folder = tmp_path / "t" / "metadata"
        folder.mkdir(parents=True)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        if hint:
            (folder / "version-hint.text").write_text(hint)
        return MetadataFiles(FolderObjects(tmp_path), TablePlace("sea", "t/"))

    return files


CONTENT = json.dumps(MINIMAL).encode()


@pytest.mark.parametrize(
    ("hint", "names", "current"),
    [
        ("", ["v1.metadata.json", "v10.metadata.json", "v9.metadata.json"], "v10.metadata.json"),
        ("2", ["v1.metadata.json", "v2.metadata.json"], "v2.metadata.json"),
        ("1", ["v1.metadata.json", "v2.metadata.json"], "v2.metadata.json"),
        ("", ["00001-a.metadata.json", "00002-b.gz.metadata.json"], "00002-b.gz.metadata.json"),
        ("00001-a", ["00001-a.metadata.json", "00002-b.metadata.json"], "00001-a.metadata.json"),
    ],
)
def test_the_current_file_is_found(files, hint, names, current):
    assert files(hint, **dict.fromkeys(names, CONTENT)).current() == current


def test_compressed_metadata_are_read(files):
    found = files(**{"v1.gz.metadata.json": gzip.compress(CONTENT)})
    assert found.metadata("v1.gz.metadata.json") == MINIMAL


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(CONTENT)[:-10], "cut off"),
        (b"[" * 100_000, "cannot be read"),
        (b"{}", "format-version"),
        (b'{"format-version": "two"}', "cannot be read"),
    ],
    ids=["cut", "nested", "empty", "wrong"],
)
def test_damaged_metadata_are_refused(files, content, reason):
    require_refused(files, content, reason)


@pytest.mark.slow
def test_a_bomb_of_metadata_is_refused(files):
    bomb = gzip.compress(b"[" + b" " * (300 << 20), 1)
    require_refused(files, bomb, "more than 256 MiB")


def require_refused(files, content, reason):
    found = files(**{"v1.metadata.json": content})
    with pytest.raises(
        Invalid, match=f"v1.metadata.json of the table cannot be read.*{reason}|{reason}"
    ):
        found.metadata("v1.metadata.json")
