"""Pages of trees, with staged changes over them, against dictionaries."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch._kernel import KernelError, decode_entry, encode_entry
from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import (
    changes,
    delimiters,
    keys,
    pieces,
    prefixes,
    records,
    value,
)

from .conftest import encoded, patient


def fill(listing, staged, sizes=(1000,)):
    """Feeds a listing what it asks for, in pieces, and returns how many changes it took."""
    fed = 0
    turn = 0
    while not listing.done:
        wanted = [change for change in staged if change[0] >= listing.position]
        size = sizes[turn % len(sizes)]
        listing.feed(wanted[:size], last=len(wanted) <= size)
        fed += min(size, len(wanted))
        turn += 1
    return fed


def page(tree, amount, staged=(), **window):
    listing = tree.listing(amount=amount, **window)
    fill(listing, staged)
    return [key for key, _ in listing.rows()], listing.has_more


@patient
@given(st.data(), records(), changes(40), prefixes, delimiters)
def test_pages_are_those_of_a_dictionary(lake, data, committed, staged, prefix, delimiter):
    tree = lake.write(committed)
    after = data.draw(st.one_of(st.just(b""), keys, prefixes))
    everything = dict(committed)
    for key, new in staged:
        everything.pop(key, None)
        if new is not None:
            everything[key] = new
    expected = tree_model.listing(everything, prefix, after, delimiter)
    found = []
    more = True
    while more:
        amount = data.draw(st.integers(1, 12))
        listing = tree.listing(prefix=prefix, after=after, delimiter=delimiter, amount=amount)
        fill(listing, staged, data.draw(pieces(len(staged))))
        found += listing.rows()
        assert len(listing) == len(listing.rows()) <= amount
        more = listing.has_more
        after = listing.last_key()
        assert not more or len(listing) == amount
    assert found == expected


def test_a_common_prefix_as_after_skips_its_members(lake):
    names = (b"a/1", b"a/2", b"ab", b"b/1")
    tree = lake.write({key: value(key, 0) for key in names})
    assert page(tree, 1, delimiter=b"/") == ([b"a/"], True)
    assert page(tree, 9, after=b"a/", delimiter=b"/") == ([b"ab", b"b/"], False)
    assert page(tree, 9, after=b"a/1", delimiter=b"/") == ([b"a/", b"ab", b"b/"], False)
    assert page(tree, 9, after=b"a/") == ([b"a/1", b"a/2", b"ab", b"b/1"], False)


def test_a_page_needs_no_more_changes_than_it_shows(lake):
    tree = lake.write({b"k%03d" % number: value(b"k", 0) for number in range(100)})
    staged = [(b"k%03d+" % number, value(b"k", 1)) for number in range(100)]
    listing = tree.listing(amount=10)
    assert fill(listing, staged, (4,)) == 8
    assert listing.has_more
    assert listing.last_key() == b"k004+"


def test_tombstones_hide_a_common_prefix(lake):
    tree = lake.write({key: value(key, 0) for key in (b"a/1", b"a/2", b"b")})
    gone = [(b"a/1", None), (b"a/2", None)]
    assert page(tree, 9, gone, delimiter=b"/") == ([b"b"], False)
    assert page(tree, 1, gone[:1], delimiter=b"/") == ([b"a/"], True)


@patient
@given(records(), changes(40), prefixes, delimiters)
def test_staged_records_are_the_changes_they_hold(lake, committed, staged, prefix, delimiter):
    tree = lake.write(committed)
    fed, fed_records = (tree.listing(prefix=prefix, delimiter=delimiter, amount=9) for _ in "ab")
    within = [change for change in staged if change[0] >= fed.position]
    fed.feed(within, last=True)
    fed_records.feed_staged(encoded(within), last=True)
    assert fed_records.rows() == fed.rows()
    assert fed_records.has_more == fed.has_more


def test_what_is_no_staged_record_is_refused(lake):
    listing = lake.write({b"k": value(b"k", 0)}).listing(amount=5)
    with pytest.raises(KernelError):
        listing.feed_staged([(b"k", b"\x0a\x7f")], last=True)
    listing.feed_staged([], last=True)
    assert [key for key, _ in listing.rows()] == [b"k"]


def test_nothing(lake):
    empty = lake.open("")
    assert page(empty, 5) == ([], False)
    assert page(empty, 0, [(b"k", value(b"k", 0))]) == ([], True)
    assert page(lake.write({b"\xff": value(b"", 0)}), 5, after=b"\xff", delimiter=b"\xff") == (
        [],
        False,
    )
    assert empty.listing(amount=1).last_key() == b""


def test_changes_out_of_order_are_refused(lake):
    tree = lake.write({b"k": value(b"k", 0)})
    listing = tree.listing(prefix=b"k", amount=5)
    for bad in ([(b"n", None), (b"m", None)], [(b"n", None), (b"n", None)], [(b"j", None)]):
        with pytest.raises(ValueError, match="in order"):
            listing.feed(bad, last=False)
    assert len(listing) == 0


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
entries = st.tuples(
    st.one_of(texts, st.sampled_from(("s3://bucket/key", "local:///k", "data/x/y"))),
    st.integers(0, 2),
    st.integers(-(2**40), 2**40),
    st.just(0),
    st.integers(0, 2**62),
    texts,
    st.dictionaries(texts, texts, max_size=3),
    texts,
)


def stats(path, data, metadata):
    """Returns what lakeFS answers of an entry."""
    address, kind, mtime, _, size, checksum, pairs, content_type = decode_entry(data)
    whole = kind == 2 or (kind == 0 and address.startswith(("s3://", "local://")))
    expected = {
        "checksum": checksum,
        "content_type": content_type or "application/octet-stream",
        "mtime": mtime,
        "path": path,
        "path_type": "object",
        "physical_address": address if whole else f"ns://lake/{address}",
        "size_bytes": size,
    }
    return expected | ({"metadata": pairs} if metadata and pairs else {})


@patient
@given(st.dictionaries(texts.filter(bool), entries, min_size=1, max_size=8), st.booleans())
def test_json_is_that_of_the_entries(lake, objects, metadata):
    by_key = {path.encode(): encode_entry(*entry) for path, entry in objects.items()}
    listing = lake.write(by_key).listing(amount=100)
    fill(listing, [])
    text = listing.object_stats_json("ns://lake", metadata)
    found = json.loads(text)
    assert found == [
        stats(key.decode(), data, metadata) for key, (_, data) in sorted(by_key.items())
    ]
    assert all(list(stats) == sorted(stats) for stats in found)
    assert all(
        list(s.get("metadata", {})) == sorted(s.get("metadata", {}), key=str.encode) for s in found
    )


@pytest.mark.parametrize("metadata", [{}, {"0": "first"}, {"k": "v", "::z": "w"}])
def test_json_has_no_system_metadata(lake, metadata):
    system = {"::anabranch::checksum": "x", "::anabranch::parts": "y"}
    tree = lake.write({b"a": encode_entry("a", 1, 0, 0, 1, "c", {**metadata, **system}, "")})
    listing = tree.listing(amount=5)
    fill(listing, [])
    (found,) = json.loads(listing.object_stats_json("ns", user_metadata=True))
    assert found.get("metadata", {}) == metadata


def test_json_of_common_prefixes_and_bytes_that_are_no_text(lake):
    entry = encode_entry("a", 1, 0, 0, 1, "c", {}, "")
    tree = lake.write({b"a\xff\x01": entry, b"d/\xc3/x": entry})
    listing = tree.listing(delimiter=b"/", amount=5)
    fill(listing, [])
    first, second = json.loads(listing.object_stats_json("ns", user_metadata=True))
    assert first["path"] == "a\ufffd\x01"
    assert second == {
        "checksum": "",
        "mtime": 0,
        "path": "d/",
        "path_type": "common_prefix",
        "physical_address": "",
        "size_bytes": 0,
    }


@pytest.mark.parametrize(
    ("address", "kind", "shown"),
    [
        ("data/x", 1, "local:///srv/sea/data/x"),
        ("local://other/data/x", 2, "local:///srv/other/data/x"),
        ("local://other/data/x", 0, "local:///srv/other/data/x"),
        ("local:///raw/x", 2, "local:///raw/x"),
        ("s3://bucket/x", 2, "s3://bucket/x"),
    ],
)
def test_json_has_full_addresses_with_the_root_of_local_blocks(lake, address, kind, shown):
    tree = lake.write({b"a": encode_entry(address, kind, 0, 0, 1, "c", {}, "")})
    listing = tree.listing(amount=5)
    fill(listing, [])
    (found,) = json.loads(listing.object_stats_json("local:///srv/sea", True, "local:///srv/"))
    assert found["physical_address"] == shown
    (found,) = json.loads(listing.object_stats_json("local:///srv/sea", user_metadata=True))
    assert found["physical_address"] == (shown if kind == 1 else address)
