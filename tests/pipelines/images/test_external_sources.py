"""Objects outside of all repositories: pinned by ETag; reads fail after they were replaced."""

from __future__ import annotations

import os
from urllib.parse import parse_qs, urlsplit

import pytest

from anabranch.catalog.presigning.presigned_urls import UrlGrant
from anabranch.errors import Gone
from anabranch.model.image import PINNED


@pytest.fixture
def image(images, fill, import_folder):
    fill({"raw/a": b"aa", "raw/b/c": b"cc"})
    return images.build(
        "v1", f"ADD local://{import_folder}/raw/ data\nADD local://{import_folder}/raw/a a"
    )


def replace(path, content):
    before = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(before + 1, before + 1))


def test_external_objects_are_pinned_to_their_etags(image, images, lake, import_folder):
    assert images.contents("v1") == {"data/a": b"aa", "data/b/c": b"cc", "a": b"aa"}
    entry = lake.objects.stat("image", "v1", "a").entry
    assert entry.metadata == {PINNED: entry.checksum}
    folder, single = image.plan.pins
    assert (folder.pinned, folder.objects, folder.size) == (f"local://{import_folder}/raw/", 2, 4)
    assert folder.digest != single.digest != ""


@pytest.mark.usefixtures("image")
def test_reading_a_replaced_object_raises_gone(lake, import_folder):
    replace(import_folder / "raw/a", b"xx")
    opened = lake.objects.open("image", "v1", "data/a")
    for read in (lambda: next(opened.chunks()), opened.read_bytes):
        with pytest.raises(Gone, match="was replaced: the image pins the ETag") as caught:
            read()
        assert caught.value.kind == "source_replaced"
    assert opened.read_if_cached(0, 2) is None
    assert lake.objects.open("image", "v1", "data/b/c").read_bytes() == b"cc"
    (import_folder / "raw/a").unlink()
    with pytest.raises(Gone, match="was deleted"):
        opened.read_bytes()


@pytest.mark.usefixtures("image")
def test_object_replaced_during_read_raises_gone(lake, import_folder):
    chunks = lake.objects.open("image", "v1", "data/a").chunks()
    replace(import_folder / "raw/a", b"xx")
    with pytest.raises(Gone, match="was replaced"):
        list(chunks)


@pytest.mark.usefixtures("image")
def test_copies_have_their_own_bytes(lake, images, import_folder):
    def copy():
        return lake.objects.copy(
            "sea", "main", "copied", source_path="a", source_ref="v1", source_repository="image"
        )

    assert copy().entry.metadata == {}
    replace(import_folder / "raw/a", b"xx")
    assert lake.objects.open("sea", "main", "copied").read_bytes() == b"aa"
    with pytest.raises(Gone, match="was replaced"):
        copy()
    images.build("v2", "ADD lakefs://image:v1/data/ /")
    with pytest.raises(Gone, match="was replaced"):
        lake.objects.open("image", "v2", "a").read_bytes()


@pytest.mark.usefixtures("image")
def test_presigned_urls_point_to_the_server_which_checks_the_etag(lake, import_folder):
    opened = lake.objects.open("image", "v1", "a")
    url = lake.presigning.read_url(opened.physical_address, "http://here", opened.pinned_etag).url
    params = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    grant = UrlGrant("GET", params["address"], int(params["expires"]), etag=params["etag"])
    block = lake.signed_blocks.open(grant, params["signature"])
    assert b"".join(block.read(0, block.size)) == b"aa"
    replace(import_folder / "raw/a", b"xx")
    with pytest.raises(Gone, match="was replaced"):
        list(block.read(0, block.size))
