"""Objects: one contract for all lakes."""

from __future__ import annotations

import hashlib
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from anabranch.errors import Invalid, NotFound, PreconditionFailed
from anabranch.model.objects.stat import CommonPrefix, Stat

ODD_PATHS = [
    "a b",
    " leading and trailing ",
    "a//b",
    "/a",
    "a/",
    "..",
    "../a",
    "a/../b",
    "./a",
    "%2F",
    "a%2Fb%20c%",
    "a+b&c=d;e?f#g",
    "ünï/中文/🌊",
    "\u00e9",
    "e\u0301",
    '"quoted\\"',
    "tab\tand\nline",
    "<a href='x'>",
    "a" * 1000,
    "ü" * 500,
]


def listed(lake, repository, reference="main", **options):
    pages = lake.objects.pages(repository, reference, **options)
    return [item for page in pages for item in page.items]


def test_an_object_is_what_was_uploaded(lake, sea):
    made = lake.objects.upload(
        sea, "main", "a", [b"hel", b"", b"lo"], content_type="text/plain; charset=utf-8"
    )
    assert isinstance(made, Stat)
    entry = made.entry
    assert (made.path, entry.size, entry.metadata) == ("a", 5, {})
    assert entry.checksum == hashlib.md5(b"hello").hexdigest()
    assert entry.content_type == "text/plain; charset=utf-8"
    stat = lake.objects.stat(sea, "main", "a")
    opened = lake.objects.open(sea, "main", "a")
    assert opened.entry.checksum == stat.entry.checksum == entry.checksum
    assert opened.physical_address == stat.physical_address == made.physical_address
    assert made.physical_address.startswith("local:///")
    assert (opened.entry.mtime, opened.byte_count) == (entry.mtime, 5)
    assert opened.read_bytes() == b"".join(opened.chunks()) == b"hello"
    assert opened.read_bytes(1, 3) == b"ell"
    assert list(opened.chunks(5)) == []


@pytest.mark.parametrize("chunks", [[], [b""], [b"", b""], iter(())])
def test_an_empty_object_is_an_object(lake, sea, chunks):
    lake.objects.upload(sea, "main", "empty", chunks)
    opened = lake.objects.open(sea, "main", "empty")
    assert opened.entry.size == 0
    assert opened.read_bytes() == opened.read() == b""
    assert list(opened.chunks()) == []


def test_odd_paths_stay_as_they_are(lake, sea):
    for number, path in enumerate(ODD_PATHS):
        made = lake.objects.upload(sea, "main", path, [b"%d" % number])
        assert made.path == path
    for number, path in enumerate(ODD_PATHS):
        assert lake.objects.stat(sea, "main", path).path == path
        assert lake.objects.open(sea, "main", path).read_bytes() == b"%d" % number
    expected = sorted(ODD_PATHS, key=str.encode)
    assert [item.path for item in listed(lake, sea)] == expected
    changes = lake.branches.changes(sea, "main", amount=100)
    assert [change.path for change in changes.items] == expected
    copied = lake.objects.copy(sea, "main", "c/" + ODD_PATHS[4], source_path=ODD_PATHS[9])
    assert copied.path == "c/" + ODD_PATHS[4]
    lake.commits.commit(sea, "main", message="odd")
    half = ODD_PATHS[::2]
    for path in half:
        lake.objects.delete(sea, "main", path)
    assert lake.objects.delete_many(sea, "main", [p for p in ODD_PATHS if p not in half]) == []
    assert [item.path for item in listed(lake, sea)] == [copied.path]


def test_metadata_are_stored_as_they_are(lake, sea):
    plain = {"author": "ada", "note": "a b"}
    odd = {"Author": "Jané", "ü": "1\r\n2", "empty": "", " x ": " y ", "a:b": "c"}
    for path, metadata in (("plain", plain), ("odd", odd)):
        made = lake.objects.upload(sea, "main", path, [b"1"], metadata=metadata)
        assert made.entry.metadata == metadata
        assert lake.objects.stat(sea, "main", path).entry.metadata == metadata
        assert lake.objects.open(sea, "main", path).entry.metadata == metadata
    lake.objects.set_user_metadata(sea, "main", "odd", {"new": "é"})
    assert lake.objects.stat(sea, "main", "odd").entry.metadata == {"new": "é"}
    assert lake.objects.stat(sea, "main", "odd").entry.size == 1
    long = {"text": "x" * 2000}
    lake.objects.upload(sea, "main", "long", [b"1"], metadata=long)
    assert lake.objects.open(sea, "main", "long").entry.metadata == long


@pytest.mark.sample(1)
def test_large_objects_are_uploaded_in_pieces_and_read_in_order(lake, sea):
    piece = random.Random(3).randbytes(1 << 20)

    def pieces():
        for number in range(20):
            yield piece[number:]

    content = b"".join(pieces())
    made = lake.objects.upload(sea, "main", "large", pieces())
    assert (made.entry.size, made.entry.checksum) == (
        len(content),
        hashlib.md5(content).hexdigest(),
    )
    opened = lake.objects.open(sea, "main", "large")
    assert hashlib.md5(b"".join(opened.chunks())).digest() == hashlib.md5(content).digest()
    digest = hashlib.md5()
    while part := opened.read(100_000):
        digest.update(part)
    assert digest.digest() == hashlib.md5(content).digest()
    assert opened.read_bytes(len(content) - 3) == content[-3:]


def test_an_upload_whose_chunks_fail_changes_nothing(lake, sea):
    class Stop(Exception):
        pass

    def broken(error):
        yield b"x" * 100_000
        raise error

    for error in (Stop("no"), OSError(5, "disk"), NotFound("x")):
        with pytest.raises(type(error)) as raised:
            lake.objects.upload(sea, "main", "a", broken(error))
        assert raised.value is error
    assert listed(lake, sea) == []


def test_an_object_is_only_created_if_it_is_absent(lake, sea):
    lake.objects.upload(sea, "main", "a", [b"1"], if_absent=True)
    for chunks in ([b"2"], iter([b"2"] * 2)):
        with pytest.raises(PreconditionFailed):
            lake.objects.upload(sea, "main", "a", chunks, if_absent=True)
    with pytest.raises(PreconditionFailed):
        lake.objects.copy(sea, "main", "a", source_path="a", if_absent=True)
    assert lake.objects.open(sea, "main", "a").read_bytes() == b"1"


def test_objects_are_copied_from_references_and_repositories(lake, sea):
    lake.objects.upload(sea, "main", "a", [b"1"], metadata={"k": "v"}, content_type="text/x")
    lake.commits.commit(sea, "main", message="m")
    lake.objects.upload(sea, "main", "a", [b"2"])
    old = lake.objects.copy(sea, "main", "old", source_path="a", source_ref="main@")
    assert (old.entry.metadata, old.entry.content_type) == ({"k": "v"}, "text/x")
    lake.objects.copy(sea, "main", "new", source_path="a")
    other = f"{sea}-other"
    lake.repositories.create(other)
    lake.objects.copy(other, "main", "x/y", source_path="a", source_repository=sea)
    lake.objects.copy(
        *(other, "main", "z"),
        source_path="a",
        source_repository=sea,
        source_ref="main@",
        shallow=True,
    )
    read = [("old", sea), ("new", sea), ("x/y", other), ("z", other)]
    found = [lake.objects.open(repository, "main", path).read_bytes() for path, repository in read]
    assert found == [b"1", b"2", b"2", b"1"]


@pytest.mark.sample(1)
def test_a_listing_is_paged_by_any_amount(lake, sea):
    paths = [f"{number:04}" for number in range(1005)]

    def put(path):
        lake.objects.upload(sea, "main", path, [b"1"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, paths))
    page = lake.objects.listing(sea, "main", amount=1002)
    assert [item.path for item in page.items] == paths[:1002]
    assert (page.has_more, page.next_offset) == (True, paths[1001])
    rest = lake.objects.listing(sea, "main", after=page.next_offset, amount=5000)
    assert [item.path for item in rest.items] == paths[1002:]
    assert (rest.has_more, rest.next_offset) == (False, "")
    pages = list(lake.objects.pages(sea, "main"))
    assert [len(page.items) for page in pages] == [1000, 5]
    changes = lake.branches.changes(sea, "main", amount=1003)
    assert (len(changes.items), changes.has_more) == (1003, True)


def test_folders_are_common_prefixes(lake, sea):
    for path in ("a/1", "a/2", "b", "c//1", "c/2/3"):
        lake.objects.upload(sea, "main", path, [b"1"])
    found = listed(lake, sea, delimiter="/")
    assert [item.path for item in found] == ["a/", "b", "c/"]
    assert isinstance(found[0], CommonPrefix)
    below = listed(lake, sea, prefix="c/", delimiter="/")
    assert [item.path for item in below] == ["c//", "c/2/"]
    page = lake.objects.listing(sea, "main", delimiter="/", amount=1)
    assert (page.has_more, page.next_offset) == (True, "a/")
    assert listed(lake, sea, prefix="nothing") == []


def test_paths_that_cannot_be_deleted_have_a_reason(lake, sea):
    lake.objects.upload(sea, "main", "a", [b"1"])
    ((path, error),) = lake.objects.delete_many(sea, "main", ["a", "", "missing"])
    assert (path, type(error), error.kind) == ("", Invalid, "missing_path")
    assert error.message
    assert listed(lake, sea) == []


@pytest.mark.sample(1)
def test_threads_share_a_lake(lake, sea):
    def work(number):
        path, content = f"t/{number}", b"%d" % number * 1000
        lake.objects.upload(sea, "main", path, [content])
        assert lake.objects.open(sea, "main", path).read_bytes() == content
        return lake.objects.stat(sea, "main", path).path

    with ThreadPoolExecutor(16) as pool:
        paths = list(pool.map(work, range(100)))
    assert sorted(paths) == [item.path for item in listed(lake, sea)]


def test_many_objects_are_read_at_once(lake, sea):
    contents = {path: path.encode() for path in ODD_PATHS}
    for path, content in contents.items():
        lake.objects.upload(sea, "main", path, [content])
    paths = [*contents, *reversed(contents)]
    found = lake.objects.read_many(sea, "main", paths)
    assert found == [contents[path] for path in paths]
    lake.commits.commit(sea, "main", message="odd")
    lake.objects.upload(sea, "main", "a b", [b"new"])
    assert lake.objects.read_many(sea, "main", ["a b", "a/"]) == [b"new", b"a/"]
    assert lake.objects.read_many(sea, "main~0", ["a b"]) == [b"a b"]
    assert lake.objects.read_many(sea, "main", []) == []
    with pytest.raises(NotFound):
        lake.objects.read_many(sea, "nowhere", ["a b"])

    missing, here, empty = lake.objects.read_many(sea, "main", ["absent", "a b", ""])
    assert (missing.kind, here, empty.kind) == ("object_not_found", b"new", "missing_path")
    handle = lake.repository(sea).branch("main")
    assert handle.read_many(iter(["a b", "a/"])) == [b"new", b"a/"]
    with pytest.raises(NotFound):
        handle.read_many(["a b", "absent"])


@pytest.mark.slow
def test_objects_that_are_too_large_for_one_request_are_read_by_several(lake, sea):
    contents = {
        f"{size}": random.Random(size).randbytes(size << 20) for size in (0, 12, 14, 16, 33)
    }
    for path, content in contents.items():
        lake.objects.upload(sea, "main", path, [content])
    paths = ["0", "12", "0", "14", "33", "16", "12", "0"]
    assert lake.objects.read_many(sea, "main", paths) == [contents[path] for path in paths]
