"""Images of objects in buckets: pinned by the store's own ETags."""

from __future__ import annotations

import uuid

import pytest
from support.faults.image_builds import build_image

from anabranch.errors import AnabranchError, Gone, Invalid, NotFound
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake


@pytest.fixture
def s3_place(s3):
    name = f"bucket-{uuid.uuid4()}"
    s3.make_bucket(name)
    return s3.blocks(), f"s3://{name}"


@pytest.fixture
def gcs_place(emulated_s3):
    name = f"bucket-{uuid.uuid4()}"
    emulated_s3.make_bucket(name)
    return emulated_s3.gcs_blocks(), f"gs://{name}"


@pytest.fixture(params=["s3_place", "gcs_place"])
def place(request):
    return request.getfixturevalue(request.param)


def lake_over(blocks, folder, images_namespace=""):
    return Lake(
        MemoryStore(),
        blocks,
        cache_folder=folder,
        signing_secret=b"secret",
        images_namespace=images_namespace,
    )


def test_objects_of_a_bucket_are_pinned(place, tmp_path):
    blocks, root = place
    for key in ("raw/a", "raw/b", "single"):
        blocks.put(f"{root}/{key}", [key.encode()])
    with lake_over(blocks, tmp_path, f"{root}/lake/images") as lake:
        text = f"ADD {root}/raw/ x\nADD {root}/single y"
        image = build_image(lake, "v1", text)
        assert (image.plan.objects, image.plan.size) == (3, 16)
        assert lake.objects.open("image", "v1", "x/a").read_bytes() == b"raw/a"
        opened = lake.objects.open("image", "v1", "y")
        assert b"".join(opened.chunks()) == b"single"
        blocks.put(f"{root}/single", [b"others"])
        with pytest.raises(Gone, match="was replaced: the image pins the ETag"):
            next(opened.chunks())
        assert build_image(lake, "v2", text).plan.digest != image.plan.digest
        blocks.delete([f"{root}/raw/a"])
        with pytest.raises(Gone, match="was deleted"):
            lake.objects.open("image", "v1", "x/a").read_bytes()
        with pytest.raises(NotFound, match=r"Lakefile:1: .*nothing to add"):
            build_image(lake, "v3", f"ADD {root}/none/ x")
        with pytest.raises(NotFound, match=r"Lakefile:1: .*no such object"):
            build_image(lake, "v3", f"ADD {root}/none x")


def test_missing_bucket_raises_error(place, tmp_path):
    blocks, root = place
    scheme = root.partition(":")[0]
    with lake_over(blocks, tmp_path, f"{root}/lake/images") as lake:
        with pytest.raises(AnabranchError, match=r"Lakefile:1: .*no-such-bucket") as caught:
            build_image(lake, "v1", f"ADD {scheme}://no-such-bucket-{uuid.uuid4()}/a/ x")
        assert caught.value.kind
        assert lake.images.find("v1") is None


def test_build_without_a_namespace_for_images_raises_invalid(place, tmp_path):
    blocks, root = place
    blocks.put(f"{root}/a", [b"a"])
    with (
        lake_over(blocks, tmp_path) as lake,
        pytest.raises(Invalid, match="no storage namespace for images"),
    ):
        build_image(lake, "v1", f"ADD {root}/a b")
