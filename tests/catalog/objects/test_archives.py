"""Archives of objects are what `tar` and Python's `tarfile` read."""

from __future__ import annotations

import io
import subprocess
import tarfile

import pytest

from anabranch.catalog.objects import archives
from anabranch.errors import Gone, Invalid, NotFound

WORDS = {
    "a.csv": b"id\n1\n",
    "deep/b.bin": bytes(range(256)) * 3_000,  # longer than a piece, no multiple of a block
    "deep/block": b"x" * 512,
    "deep/empty": b"",
    "deep/er/c": b"c",
    "deep/" + "n" * 200 + "/" + "ü🦭" * 40: b"a name longer than the fields of a header",
    "other/d": b"d",
}


@pytest.fixture
def filled(lake):
    for path, content in WORDS.items():
        lake.objects.upload("sea", "main", path, [content])
    return lake


def archive(lake, *paths, reference="main"):
    return lake.archives.make("sea", reference, dict.fromkeys(paths))


def extracted(made, folder):
    """Returns the files that `tar` makes of an archive."""
    folder.mkdir()
    content = b"".join(made.chunks())
    assert len(content) == made.byte_count
    subprocess.run(["tar", "-x", "-C", folder], input=content, check=True)
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_all_objects_are_extracted_as_they_are(filled, tmp_path):
    assert extracted(archive(filled, ""), tmp_path / "out") == WORDS


def test_names_are_relative_to_the_folder_that_has_all(filled, tmp_path):
    made = archive(filled, "deep/er/", "deep/block")
    assert extracted(made, tmp_path / "out") == {"er/c": b"c", "block": b"x" * 512}
    assert extracted(archive(filled, "deep/er/c"), tmp_path / "one") == {"c": b"c"}
    made = archive(filled, "deep/er/", "a.csv")
    assert extracted(made, tmp_path / "top") == {"deep/er/c": b"c", "a.csv": b"id\n1\n"}


def test_an_object_that_is_named_twice_is_there_once(filled, tmp_path):
    made = archive(filled, "other/", "other/d")
    assert len(made.members) == 1
    assert extracted(made, tmp_path / "out") == {"other/d": b"d"}
    made = archive(filled, "deep/er/", "deep/", "deep/er/c", "deep/block")
    assert extracted(made, tmp_path / "deep") == {
        path: content for path, content in WORDS.items() if path.startswith("deep/")
    }


def test_pieces_are_neither_tiny_nor_whole(filled):
    for number in range(300):
        filled.objects.upload("sea", "main", f"many/{number:03d}", [b"%d" % number])
    sizes = [len(piece) for piece in archive(filled, "many/").chunks()]
    assert len(sizes) == 2
    assert max(sizes) < 300_000


def test_times_and_markers_of_folders_are_kept(filled):
    filled.objects.upload("sea", "main", "other/new/", [])
    content = io.BytesIO(b"".join(archive(filled, "other/").chunks()))
    with tarfile.open(fileobj=content) as read:
        marker, file = read.getmember("other/new"), read.getmember("other/d")
    assert (marker.isdir(), file.isreg()) == (True, True)
    assert file.mtime == filled.objects.stat("sea", "main", "other/d").entry.mtime
    assert (file.mode, file.uid, file.gid) == (0o644, 0, 0)


def test_the_content_is_that_of_the_moment_it_was_made(filled, tmp_path):
    made = archive(filled, "other/", "a.csv")
    filled.objects.upload("sea", "main", "a.csv", [b"changed"])
    filled.objects.delete("sea", "main", "other/d")
    assert extracted(made, tmp_path / "out") == {"other/d": b"d", "a.csv": b"id\n1\n"}


def test_a_commit_and_a_tag_are_archived_without_what_is_staged(filled, tmp_path):
    commit = filled.commits.commit("sea", "main", message="words", committer="ann")
    filled.objects.upload("sea", "main", "other/e", [b"staged"])
    for number, reference in enumerate((commit.id, "main@", "main~0")):
        made = archive(filled, "other/", reference=reference)
        assert extracted(made, tmp_path / f"{number}") == {"other/d": b"d"}


@pytest.mark.parametrize(
    "path",
    ["x/../../out", "../out", "/etc/passwd", "x//y", "x/./y", "x/..", "x\0y", ".", "deep/.."],
)
def test_a_path_that_would_lead_elsewhere_is_refused(filled, path):
    filled.objects.upload("sea", "main", path, [b"hostile"])
    for paths in (["", path], [""]):
        with pytest.raises(Invalid, match="not a valid path of a file") as caught:
            archive(filled, *paths)
        assert caught.value.kind == "unsafe_path"


def test_bytes_that_are_no_utf_8_are_those_of_the_name(filled, tmp_path):
    path = b"raw/\xff\xfe".decode("utf-8", "surrogateescape")
    entry = filled.objects.stat("sea", "main", "other/d").entry
    header = archives._header(path, entry)
    content = header + b"d" + bytes(511) + bytes(1024)
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "-x", "-C", tmp_path / "out"], input=content, check=True)
    assert [name.name for name in (tmp_path / "out" / "raw").iterdir()] == [path[4:]]


@pytest.mark.parametrize("path", ["absent", "absent/", "deep", "oth"])
def test_what_is_not_there_is_not_found(filled, path):
    with pytest.raises(NotFound):
        archive(filled, "a.csv", path)


def test_more_objects_than_an_archive_may_have_are_refused(filled, monkeypatch):
    monkeypatch.setattr(archives, "MAX_OBJECTS", 6)
    with pytest.raises(Invalid, match="at most 6 objects") as caught:
        archive(filled, "")
    assert caught.value.kind == "archive_too_large"
    assert len(archive(filled, "deep/", "a.csv").members) == 6


def test_lost_data_ends_the_archive_with_an_error(filled):
    made = archive(filled, "other/d", "a.csv")
    address = made.members[1].source.physical_address
    filled.blocks.delete([address])
    with pytest.raises(Gone):
        list(made.chunks())
