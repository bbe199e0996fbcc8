"""The wrapper `lakefs`: objects, their readers and writers."""

from __future__ import annotations

import csv
import hashlib
import io
import os

import pytest
from lakefs.exceptions import (
    ForbiddenException,
    InvalidRangeException,
    NotFoundException,
    ObjectExistsException,
    ObjectNotFoundException,
    PermissionException,
    api_exception_handler,
)
from lakefs.models import CommonPrefix, ObjectInfo

TEXT = "Über die Flüsse\nto the sea\n" * 100


@pytest.fixture
def main(lake):
    return lake.branch("main")


@pytest.mark.wiring
@pytest.mark.parametrize("content", [b"some bytes", b"", bytes(range(256)) * 5000])
def test_bytes_are_uploaded_and_read(main, content):
    written = main.object("a").upload(content)
    found = written.stat()
    assert found.size_bytes == len(content)
    assert found.checksum == hashlib.md5(content, usedforsecurity=False).hexdigest()
    with main.object("a").reader() as reader:
        assert reader.read() == content


def test_text_is_uploaded_and_read(main):
    main.object("a").upload(TEXT, content_type="text/plain; charset=utf-8")
    assert main.object("a").stat().content_type == "text/plain; charset=utf-8"
    with main.object("a").reader("r") as reader:
        assert reader.read() == TEXT


def test_an_object_has_metadata(main):
    metadata = {"Colour": "blue", "empty": ""}
    main.object("a").upload("x", metadata=metadata, pre_sign=False)  # as headers, in lower case
    assert main.object("a").stat().metadata == {"colour": "blue", "empty": ""}


def test_a_writer_writes_when_it_is_closed(main):
    with main.object("a").writer("w") as writer:
        writer.write("one ")
        writer.write(b"two")
        assert writer.tell() == 7
        assert not main.object("a").exists()
    assert main.object("a").reader("r").read() == "one two"


def test_a_writer_that_fails_writes_nothing(main):
    class Interrupted(Exception):
        pass

    def write():
        with main.object("a").writer("w") as writer:
            writer.write("half")
            raise Interrupted

    with pytest.raises(Interrupted):
        write()
    assert not main.object("a").exists()


def test_a_writer_takes_more_than_fits_in_memory(main):
    piece = os.urandom(1 << 20)
    with main.object("big").writer() as writer:
        for _ in range(34):
            writer.write(piece)
    digest = hashlib.md5(piece * 34, usedforsecurity=False).hexdigest()
    assert main.object("big").stat().checksum == digest
    with main.object("big").reader() as reader:
        reader.seek(-5, os.SEEK_END)
        assert reader.read() == piece[-5:]


@pytest.mark.parametrize("mode", ["x", "xb"])
def test_exclusive_creation_happens_once(main, mode):
    main.object("a").upload(b"one", mode=mode)
    with pytest.raises(ObjectExistsException):
        main.object("a").upload(b"two", mode=mode)
    with pytest.raises(FileExistsError):
        main.object("a").upload(b"two", mode=mode)
    assert main.object("a").reader().read() == b"one"


def test_exclusive_creation_is_decided_when_the_writer_closes(main):
    first, second = main.object("a").writer("x"), main.object("a").writer("x")
    first.write("first")
    second.write("second")
    first.close()
    with pytest.raises(ObjectExistsException):
        second.close()
    assert main.object("a").reader("r").read() == "first"


def test_a_reader_moves_about(main):
    content = bytes(range(256))
    main.object("a").upload(content)
    with main.object("a").reader() as reader:
        assert reader.read(10) == content[:10]
        assert reader.tell() == 10
        assert reader.read(5) == content[10:15]
        assert reader.seek(100) == 100
        assert reader.read(3) == content[100:103]
        assert reader.seek(-3, os.SEEK_CUR) == 100
        assert reader.seek(-6, os.SEEK_END) == 250
        assert reader.read(100) == content[250:]
        assert reader.read() == b""
        assert reader.seek(999) == 999
        assert reader.read(1) == b""


def test_a_reader_beyond_the_end_reads_nothing(main):
    main.object("empty").upload(b"")
    main.object("a").upload(b"abc")
    with main.object("empty").reader() as reader:
        assert reader.read(10) == b""
        assert reader.read() == b""
    with main.object("a").reader() as reader:
        reader.seek(3)
        assert reader.read() == b""


def test_a_range_beyond_the_end_is_an_error_of_its_own(lake, client, main):
    main.object("a").upload(b"abc")
    with pytest.raises(InvalidRangeException) as caught, api_exception_handler():
        client.sdk_client.objects_api.get_object(lake.id, "main", "a", range="bytes=3-")
    assert caught.value.status_code == 416


def test_a_reader_reads_lines(main):
    main.object("rivers.csv").upload("river,km\nMurray,2508\nNiger,4180\n")
    with main.object("rivers.csv").reader("r") as reader:
        assert list(csv.reader(reader)) == [["river", "km"], ["Murray", "2508"], ["Niger", "4180"]]
    with pytest.raises(io.UnsupportedOperation):
        main.object("rivers.csv").reader().write(b"x")


def test_an_object_is_read_at_any_reference(lake, main):
    main.object("a").upload("one")
    first = main.commit("One")
    main.object("a").upload("two")
    assert main.object("a").reader("r").read() == "two"
    for reference in (first, lake.ref("main@"), lake.ref("main~0")):
        assert reference.object("a").reader("r").read() == "one"


def test_an_object_is_copied(lake, main):
    main.object("a").upload("one", metadata={"colour": "blue"})
    commit = main.commit("One")
    side = lake.branch("side").create("main")
    copied = commit.object("a").copy("side", "b")
    assert (copied.ref, copied.path) == ("side", "b")
    assert side.object("b").reader("r").read() == "one"
    assert side.object("b").stat().metadata == {"colour": "blue"}
    with pytest.raises(NotFoundException):
        commit.object("nope").copy("side", "c")


def test_objects_are_deleted_one_by_one_and_together(main):
    for path in "abcdef":
        main.object(path).upload(path)
    main.object("a").delete()
    main.object("a").delete()
    main.delete_objects("b")
    main.delete_objects(["c", "nope"])
    main.delete_objects(each.path for each in main.objects(prefix="d"))
    assert [each.path for each in main.objects()] == ["e", "f"]


def test_objects_are_listed(main):
    for path in ("a/1", "a/2", "b", "c/3"):
        main.object(path).upload(path)
    assert [each.path for each in main.objects()] == ["a/1", "a/2", "b", "c/3"]
    found = list(main.objects(delimiter="/"))
    assert [(type(each), each.path) for each in found] == [
        (CommonPrefix, "a/"),
        (ObjectInfo, "b"),
        (CommonPrefix, "c/"),
    ]
    assert [each.path for each in main.objects(prefix="a/", after="a/1")] == ["a/2"]
    assert len(list(main.objects(max_amount=3))) == 3


def test_listing_continues_beyond_one_page(main):
    paths = [f"{number:03}" for number in range(230)]
    for path in paths:
        main.object(path).upload("")
    main.commit("Many")
    assert [each.path for each in main.objects()] == paths


@pytest.mark.parametrize(
    "path",
    [
        "with space and +",
        "percent%20%2F%",
        "a//b",
        "/leading",
        "trailing/",
        "../up/./here",
        "Füße/日本/🦆",
        "tab\there",
        "new\nline",
        "question?and#hash&and=",
        "quote'\"\\",
        "x" * 1024,
        "ä" * 512,
    ],
)
def test_any_path_makes_the_round(main, path):
    main.object(path).upload("content")
    commit = main.commit("Save")
    assert [each.path for each in commit.objects()] == [path]
    assert commit.object(path).reader("r").read() == "content"
    assert commit.object(path).stat().path == path
    main.object(path).delete()
    assert list(main.objects()) == []


@pytest.mark.parametrize("path", ["x" * 1025, "ä" * 513])
def test_a_path_beyond_1024_bytes_is_refused(main, path):
    with pytest.raises(Exception, match="400"):
        main.object(path).upload("content")
    assert list(main.objects()) == []


def test_missing_resource_is_not_found(lake, main):
    missing = main.object("nope")
    assert missing.exists() is False
    with pytest.raises(ObjectNotFoundException):
        missing.stat()
    with pytest.raises(FileNotFoundError):
        missing.reader().read()
    with pytest.raises(NotFoundException):
        lake.branch("nope").object("a").upload("x", pre_sign=False)
    with pytest.raises(NotFoundException):
        lake.branch("nope").object("a").delete()


def test_a_read_only_repository_is_forbidden(client, fresh, server):
    import lakefs
    import lakefs_sdk

    client.sdk_client.repositories_api.create_repository(
        lakefs_sdk.RepositoryCreation(
            name=fresh, storage_namespace=f"{server.storage}{fresh}", read_only=True
        )
    )
    branch = lakefs.Repository(fresh, client=client).branch("main")
    with pytest.raises(ForbiddenException):
        branch.object("a").upload("x", pre_sign=False)
    with pytest.raises(PermissionException):
        branch.object("a").delete()
