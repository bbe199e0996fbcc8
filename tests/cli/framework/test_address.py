"""Addresses by the kind that a command requires."""

from __future__ import annotations

import pytest

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import (
    address,
    object_address,
    prefix_address,
    ref_address,
    ref_or_name,
    repository_address,
    same_repository,
)
from anabranch.model.uri import LakeUri


def test_each_kind_of_place():
    assert repository_address("lakefs://flights") == LakeUri("flights")
    assert ref_address("lakefs://flights/main~2^2") == LakeUri("flights", "main~2^2")
    assert ref_address("lakefs://flights/dev:joe-1/") == LakeUri("flights", "dev:joe-1")
    assert object_address("lakefs://flights/main/a/b") == LakeUri("flights", "main", "a/b")
    assert prefix_address("lakefs://flights/main/a/") == LakeUri("flights", "main", "a/")
    assert prefix_address("lakefs://flights/main") == LakeUri("flights", "main")


@pytest.mark.parametrize(
    ("parse", "text", "reason"),
    [
        (repository_address, "lakefs://flights/main", "names more than a repository"),
        (ref_address, "lakefs://flights", "names no branch, tag or commit"),
        (ref_address, "lakefs://flights/main/x", "names an object"),
        (ref_address, "lakefs://flights/..", "is not a valid ref"),
        (object_address, "lakefs://flights/main/", "names no object"),
        (prefix_address, "lakefs://flights", "names no branch, tag or commit"),
        (prefix_address, "lakefs://flights/./x", "is not a valid ref"),
        (repository_address, "flights", "does not begin with lakefs://"),
    ],
)
def test_other_places_are_refused_with_an_example(parse, text, reason):
    with pytest.raises(Usage, match="lakefs://") as caught:
        parse(text)
    assert reason in caught.value.message
    assert "lakefs://" in caught.value.hint


def test_a_second_ref_may_be_a_bare_name():
    assert ref_or_name("main~1") == "main~1"
    assert ref_or_name("lakefs://flights/main") == LakeUri("flights", "main")
    assert same_repository("flights", "main~1") == "main~1"
    assert same_repository("flights", LakeUri("flights", "main")) == "main"
    with pytest.raises(Usage, match="different repositories"):
        same_repository("flights", LakeUri("trains", "main"))


def test_written_addresses_are_printable():
    assert address("r", "main", "a\x1b") == "lakefs://r/main/a\\x1b"
    assert address("r") == "lakefs://r"
