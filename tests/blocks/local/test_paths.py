"""Addresses of a local store: their paths, and those that are refused."""

from __future__ import annotations

import os
from pathlib import PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch import _kernel as kernel
from anabranch.blocks.local.paths import TEMPORARY, Place, is_plain, parse_address, parse_prefix
from anabranch.errors import Invalid

ROOT = "/srv/blocks"
SEGMENTS = st.one_of(
    st.sampled_from(["", ".", "..", TEMPORARY, ".a", "a.", "é", "a\0", "\ud800", "x" * 120]),
    st.text(st.characters(codec="ascii"), max_size=4),
)

HOSTILE = [
    "local://",
    "local:///",
    "local:////",
    "local://.",
    "local://..",
    "local://../secret",
    "local://space/..",
    "local://space/../..",
    "local://space/../../etc/passwd",
    "local://space/a/../b",
    "local://space/./a",
    "local://space/.",
    "local://space//a",
    "local://space/a//b",
    "local://space/",
    "local://space/a/",
    "local://space/\0",
    "local://space/a\0b",
    "local://space/..\0",
    "local:///etc/passwd",
    "local:///srv",
    "local:///srv/blocks",
    "local:///srv/blocks/",
    "local:///srv/blocks/..",
    "local:///srv/blocks/../secret",
    "local:///srv/blocks//etc/passwd",
    "local:///srv/blocksy/a",
    "local:////srv/blocks/a",
    "local:///srv/./blocks/a",
    "local:///srv/blocks/space/../a",
    f"local://{TEMPORARY}",
    f"local://{TEMPORARY}/a",
    f"local:///srv/blocks/{TEMPORARY}/a",
    "local://space/" + "k" * 256,
    "local://space/" + "é" * 128,
    "local://" + "a/" * 2_050 + "a",
    "local://space/\ud800",
    "local:/space/a",
    "local:space/a",
    "LOCAL://space/a",
    "local//space/a",
    " local://space/a",
    "mem://space/a",
    "/srv/blocks/space/a",
    "",
]


@pytest.mark.parametrize("address", HOSTILE, ids=ascii)
def test_hostile_addresses_are_refused(address):
    with pytest.raises(Invalid) as refused:
        parse_address(address, ROOT)
    assert refused.value.kind == "invalid_address"


@pytest.mark.parametrize(
    ("address", "folder", "name"),
    [
        ("local://space/a", "space", "a"),
        ("local://a", "", "a"),
        ("local:///srv/blocks/space/a", "space", "a"),
        ("local:///srv/blocks/srv/blocks/a", "srv/blocks", "a"),
        ("local://srv/blocks/a", "srv/blocks", "a"),
        ("local://space/data/..a/...", "space/data/..a", "..."),
        ("local://space/%2e%2e/a", "space/%2e%2e", "a"),
        ("local://space/..\n", "space", "..\n"),
        ("local://space/\n", "space", "\n"),
        ("local://space/..\\..\\a", "space", "..\\..\\a"),
        ("local://space/\uff0e\uff0e/a", "space/\uff0e\uff0e", "a"),
        (f"local://space/{TEMPORARY}/a", f"space/{TEMPORARY}", "a"),
        (f"local://{TEMPORARY}x/a", f"{TEMPORARY}x", "a"),
        ("local://space/" + "é" * 127, "space", "é" * 127),
    ],
    ids=ascii,
)
def test_valid_addresses_map_to_one_file(address, folder, name):
    assert parse_address(address, ROOT) == Place(folder, name)


PIECES = st.sampled_from(
    [
        "/",
        "/",
        ".",
        "..",
        "...",
        "a",
        "b c",
        "é",
        "\0",
        "\n",
        "\\",
        "%2e",
        "srv",
        "blocks",
        "~",
        "\ud800",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.booleans())
@example("..", False)
@example("/srv/blocks/..", True)
def test_accepted_addresses_are_below_the_root(text, qualified):
    address = f"local://{ROOT}/{text}" if qualified else f"local://{text}"
    try:
        place = parse_address(address, ROOT)
    except Invalid:
        return
    path = f"{ROOT}/{place.path}"
    assert os.path.normpath(path) == path, "the operating system reads it letter by letter"
    assert PurePosixPath(path).is_relative_to(ROOT)
    assert path != ROOT
    assert "\0" not in path
    path.encode()
    assert parse_address(f"local://{place.path}", ROOT) == place, "it is its own kept form"
    assert parse_address(f"local://{path}", ROOT) == place, "and so is its qualified form"


@pytest.mark.parametrize(
    ("prefix", "folder", "start"),
    [
        ("local://", "", ""),
        ("local://sp", "", "sp"),
        ("local://space/", "space", ""),
        ("local://space/data/ab", "space/data", "ab"),
        ("local://space/..", "space", ".."),
        ("local:///srv/blocks/", "", ""),
        ("local:///srv/blocks/space/d", "space", "d"),
    ],
)
def test_prefixes_name_a_folder_and_the_beginning_of_a_name(prefix, folder, start):
    assert parse_prefix(prefix, ROOT) == Place(folder, start)


@pytest.mark.parametrize(
    "prefix",
    [
        "local://../",
        "local://space/../",
        "local://space/../x",
        "local://space//",
        "local:///etc/",
        "local:///srv/blo",
        "local:///srv/blocks/../",
        f"local://{TEMPORARY}/",
        "s3://space/",
        "loc",
        "",
    ],
)
def test_hostile_prefixes_are_refused(prefix):
    with pytest.raises(Invalid):
        parse_prefix(prefix, ROOT)


@given(st.lists(SEGMENTS, max_size=5), st.sampled_from(["local://", f"local://{ROOT}/", "s3://"]))
@example(["data", "g8sf0r3dc5gc73f0k8pg", "cq1vd3rdc5gc73f0k8q0"], "local://")
def test_an_ordinary_address_maps_to_its_own_path(segments, beginning):
    address = beginning + "/".join(segments)
    ordinary = kernel.ordinary_place(address)
    if ordinary is not None:
        assert parse_address(address, ROOT) == ordinary


def test_addresses_of_objects_are_ordinary():
    address = "local://sea/data/g8sf0r3dc5gc73f0k8pg/cq1vd3rdc5gc73f0k8q0"
    folder, _, name = address.removeprefix("local://").rpartition("/")
    assert kernel.ordinary_place(address) == (folder, name)


@given(st.text("ab./\0", max_size=8))
def test_plain_paths_have_names_alone(path):
    names = path.split("/")
    assert is_plain(path) == ("\0" not in path and {"", ".", ".."}.isdisjoint(names))
