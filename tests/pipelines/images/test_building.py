"""Image builds: contents, digests, warnings, and errors, which leave no image."""

from __future__ import annotations

import json

import pytest

from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    Denied,
    Invalid,
    NotFound,
    ReadOnlyRepository,
)


def test_example_of_the_proposal_builds(images, fill, import_folder, lake):
    images.commit("sea", {"base/a": b"a", "path/to/collection/x": b"old"})
    lake.tags.create("sea", "tag1", "main")
    first = images.commit(
        "sky", {"path/to/collection/x": b"x", "path/to/collection/date=11072022/y": b"y1"}
    )
    second = images.commit("sky", {"path/to/collection/date=11072022/y": b"y2"})
    images.commit("sky", {"pictures/cats/tom": b"meow", "pictures/dogs/rex": b"bow"})
    lake.tags.create("sky", "tag123", "main")
    fill({"some-path/deep/e": b"external", "other": b"no"})
    layers = f"""
ADD "lakefs://sky/{first}/path/to/collection/"                 "path/to/collection/"
ADD "lakefs://sky/{second}/path/to/collection/date=11072022/"  "path/to/collection/date=11072022/"
ADD "lakefs://sky/tag123/pictures/cats/"                       "pictures/animals/cats/"
ADD "local://{import_folder}/some-path/"                             "external/some-path/"

LABEL "author=oz.katz"
LABEL "notebook_url=https://dbc-123.cloud.databricks.com/?o=12345#notebook/45678"
LABEL "spark_version=3.3.2"
"""
    added = {
        "path/to/collection/x": b"x",
        "path/to/collection/date=11072022/y": b"y2",
        "pictures/animals/cats/tom": b"meow",
        "external/some-path/deep/e": b"external",
    }
    plain = images.build("v120", layers)
    assert images.contents("v120") == added
    over = images.build("v121", "FROM lakefs://sea/tag1" + layers)
    assert images.contents("v121") == {"base/a": b"a", **added}
    again = images.build("v122", "FROM lakefs://image:v120\nADD lakefs://sea/tag1/base/a .")
    assert images.contents("v122") == {"a": b"a", **added}

    assert plain.plan.labels == {
        "author": "oz.katz",
        "notebook_url": "https://dbc-123.cloud.databricks.com/?o=12345#notebook/45678",
        "spark_version": "3.3.2",
    }
    assert (over.plan.objects, over.plan.size) == (5, 1 + 1 + 2 + 4 + 8)
    assert over.plan.shadowed == 2
    assert [pin.objects for pin in over.plan.pins] == [2, 2, 1, 1, 1]
    assert over.plan.pins[1].pinned == f"lakefs://sky/{first}/path/to/collection/"
    assert again.plan.base == plain.plan.digest
    commit = lake.commits.get("image", "v122")
    assert commit.parents == (plain.commit_id,)
    assert lake.images.get("v121") == over


def test_equal_pins_give_equal_digests(images, fill, import_folder):
    commit_id = images.commit("sea", {"a/1": b"1", "a/2": b"2"})
    fill({"x": b"x"})
    text = f"ADD lakefs://sea/{commit_id}/a/ b\nADD local://{import_folder}/ c\nLABEL a=1 b=2"
    one = images.build("one", text)
    two = images.build("two", text.replace(commit_id, "main").replace("a=1 b=2", "b=2\nLABEL a=1"))
    assert one.plan.digest == two.plan.digest
    assert images.resolve("three", text).digest == one.plan.digest
    assert images.build("four", text + " c=3").plan.digest != one.plan.digest
    (import_folder / "x").write_bytes(b"other")
    assert images.build("five", text).plan.digest != one.plan.digest


def test_image_keeps_objects_of_deleted_sources(images, lake):
    images.commit("sea", {"a": b"a", "b": b"b"})
    images.build("v1", "FROM lakefs://sea/main")
    images.commit("sea", {"a": b"new", "b": None})
    lake.repositories.delete("sea", force=True)
    assert images.contents("v1") == {"a": b"a", "b": b"b"}


def test_staged_changes_are_not_in_the_image(images, lake):
    images.commit("sea", {"a": b"a"})
    lake.objects.upload("sea", "main", "a", [b"staged"])
    images.build("v1", "FROM lakefs://sea/main")
    assert images.contents("v1") == {"a": b"a"}
    image = images.build("again", "FROM lakefs://sea/main\nADD lakefs://sea/main/a b")
    (warning,) = image.plan.remarks
    assert warning.kind == "pinned"
    assert warning.line == 1
    with pytest.raises(Invalid, match="Lakefile:1: lakefs://sea/main may point to another"):
        images.build("v2", "FROM lakefs://sea/main", strict=True)
    with pytest.raises(Invalid, match="may point to another"):
        images.build("v2", "FROM lakefs://sea/main~1", strict=True)


def test_objects_that_match_exclude_patterns_are_not_added(images):
    images.commit("sea", {"a/1.csv": b"1", "a/1.tmp": b"2", "a/_temporary/0/x.csv": b"3"})
    images.build("v1", "ADD --exclude=*.tmp --exclude=_temporary/* lakefs://sea/main/a/ /")
    assert images.contents("v1") == {"1.csv": b"1"}


def test_later_layers_replace_objects_and_replacements_are_reported(images):
    images.commit("sea", {"a": b"a", "b": b"b", "c/a": b"c"})
    image = images.build(
        "v1",
        "ADD lakefs://sea/main/a x\nADD lakefs://sea/main/b x\n"
        "ADD lakefs://sea/main/c/ y\nADD lakefs://sea/main/b y/a",
    )
    assert images.contents("v1") == {"x": b"b", "y/a": b"b"}
    assert (image.plan.shadowed, image.plan.size) == (2, 2)
    warnings = [warning for warning in image.plan.remarks if warning.kind == "shadowed"]
    assert [(warning.line, warning.message) for warning in warnings] == [
        (1, "1 of its objects are replaced by later layers: x"),
        (3, "1 of its objects are replaced by later layers: y/a"),
    ]


def test_objects_of_an_image_can_be_added_to_another(images):
    images.commit("sea", {"a/1": b"1", "b": b"2"})
    images.build("v1", "FROM lakefs://sea/main")
    images.build("v2", "ADD lakefs://image:v1/a/ c\nADD lakefs://image/v1/b d")
    assert images.contents("v2") == {"c/1": b"1", "d": b"2"}


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("FROM lakefs://none/main", NotFound, "Lakefile:1: repository not found"),
        ("\nFROM lakefs://sea/none", NotFound, "Lakefile:2: not found"),
        ("FROM lakefs://image:none", NotFound, "Lakefile:1: .*not found"),
        ("FROM lakefs://image:v1", Invalid, "v1 cannot be its own source"),
        ("ADD lakefs://image:v1~1/a b", Invalid, "v1 cannot be its own source"),
        ("ADD lakefs://sea/main/none/ a", NotFound, "there is nothing to add"),
        ("ADD lakefs://sea/main/none a", NotFound, "there is no such object"),
        ("ADD lakefs://sea/main/a b", NotFound, "there is no such object"),
        ("ADD --exclude=* lakefs://sea/main/a/ a", NotFound, "there is nothing to add"),
        ("", Invalid, "the image would have no objects"),
        (f"ADD lakefs://sea/main/a/ {'x' * 1020}", Invalid, "more than 1,024 bytes: 'a/long'"),
        ("ADD local:///etc/ etc", Denied, "Lakefile:1: .*not in allowed external prefixes"),
        ("ADD s3://bucket/a/ b", Invalid, "Lakefile:1: s3://bucket/a/"),
    ],
)
def test_failed_build_creates_no_image(images, lake, text, error, message):
    images.commit("sea", {"a/long": b"1"})
    for run in (images.resolve, images.build):
        with pytest.raises(error, match=message):
            run("v1", text)
    assert lake.images.find("v1") is None


def test_sources_can_be_empty_with_allow_empty(images, import_folder):
    images.commit("sea", {"a/b": b"1"})
    text = f"ADD lakefs://sea/main/none/ a\nADD local://{import_folder}/ b"
    image = images.build("v1", text, allow_empty=True)
    assert (image.plan.objects, images.contents("v1")) == (0, {})


def test_build_of_an_existing_tag_raises_and_keeps_the_image(images, lake):
    images.commit("sea", {"a": b"1"})
    image = images.build("v1", "FROM lakefs://sea/main")
    images.commit("sea", {"a": b"2"})
    with pytest.raises(AlreadyExists, match="image v1 already exists"):
        images.build("v1", "FROM lakefs://sea/main")
    assert lake.images.get("v1") == image
    lake.images.delete("v1")
    with pytest.raises(NotFound):
        lake.images.delete("v1")
    images.build("v1", "FROM lakefs://sea/main")
    assert images.contents("v1") == {"a": b"2"}


@pytest.mark.parametrize("tag", ["", "a b", "v1~1", "v1:resolve", "a/b", "main"])
def test_invalid_tag_raises(images, tag):
    images.commit("sea", {"a": b"1"})
    images.build("v1", "FROM lakefs://sea/main")
    with pytest.raises(AnabranchError) as caught:
        images.build(tag, "FROM lakefs://sea/main")
    assert caught.value.kind in {"invalid_tag_name", "name_is_a_branch"}


def test_writes_to_the_repository_of_images_raise_read_only(images, lake):
    images.commit("sea", {"a": b"1"})
    images.build("v1", "FROM lakefs://sea/main")
    with pytest.raises(ReadOnlyRepository):
        lake.objects.upload("image", "main", "a", [b"2"])
    with pytest.raises(ReadOnlyRepository):
        lake.tags.delete("image", "v1")


def test_images_are_listed_by_label(images, lake):
    images.commit("sea", {"a": b"1"})
    for number, label in enumerate(["a=1", "a=1 b=2", "b=2"]):
        images.build(f"v{number}", f"FROM lakefs://sea/main\nLABEL {label}")
    page = lake.images.list(amount=1, labels={"a": "1"})
    assert ([image.tag for image in page.items], page.has_more) == (["v0"], True)
    page = lake.images.list(amount=5, labels={"a": "1"}, after=page.next_offset)
    assert ([image.tag for image in page.items], page.has_more) == (["v1"], False)
    assert len(lake.images.list(amount=5).items) == 3


def test_physical_addresses_in_images_are_those_of_the_sources(images, lake, fill, import_folder):
    images.commit("sea", {"a": b"a"})
    fill({"raw/b": b"b"})
    images.build("v1", f"ADD lakefs://sea/main/a .\nADD local://{import_folder}/raw/b .")

    def listed(repository, reference):
        page = lake.objects.listing(repository, reference, amount=10)
        return {
            item["path"]: item["physical_address"]
            for item in json.loads(page.json(user_metadata=False))
        }

    addresses = listed("image", "v1")
    assert addresses["a"] == listed("sea", "main")["a"]
    assert addresses["a"].startswith(lake.blocks.qualify("local://sea/data/"))
    assert addresses["b"] == f"local://{import_folder}/raw/b"
    for path, address in addresses.items():
        assert lake.objects.stat("image", "v1", path).physical_address == address
