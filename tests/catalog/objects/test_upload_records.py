"""Records of multipart uploads: as lakeFS reads them, and listed in pages."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.model.objects.stat import CommonPrefix

from .conftest import World


def test_the_record_is_one_that_lakefs_reads(world):
    lake = world.open()
    upload = lake.uploads.create(
        "sea", "main", "a", content_type="text/x", metadata={"k": "v"}, checksum_algorithm="crc32"
    )
    ((key, raw),) = world.keyvalue.scan("multiparts")
    assert key.decode() == upload.id
    assert (
        fields(raw)
        >= {
            1: upload.id.encode(),
            2: b"a",
            4: upload.address.encode(),
            5: b"\n\x01k\x12\x01v",
            6: b"text/x",
        }.items()
    )
    assert fields(raw).keys() - {*range(1, 7)} == {101, 102, 103, 104}


def fields(raw):
    """Returns the fields of a message, all of which are strings or messages."""
    found, at = {}, 0

    def varint():
        nonlocal at
        number, shift = 0, 0
        while True:
            byte = raw[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(raw):
        tag, length = varint(), varint()
        assert tag & 7 == 2
        found[tag >> 3] = raw[at : at + length]
        at += length
    return Fields(found)


class Fields(dict):
    def __ge__(self, other):
        return set(self.items()) >= set(other)


KEYS = st.text("ab/", min_size=1, max_size=4)


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    paths=st.lists(KEYS, max_size=12),
    prefix=st.sampled_from(["", "m", "main/", "main/a", "main/a/", "none/"]),
    delimiter=st.sampled_from(["", "/", "a", "b/"]),
    amount=st.integers(1, 4),
)
def test_pages_against_a_plain_model(tmp_path_factory, paths, prefix, delimiter, amount):
    from anabranch.testing.lake import Clock

    lake = World(tmp_path_factory.getbasetemp() / "pages", Clock()).open()
    for path in paths:
        lake.uploads.create("sea", "main", path)
    ids = {item.id: item.key for item in lake.uploads.list("sea", amount=100).items}
    assert sorted(ids.values()) == sorted(f"main/{path}" for path in paths)
    expected = []
    for key, upload in sorted((key, upload) for upload, key in ids.items()):
        if not key.startswith(prefix):
            continue
        head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
        item = (prefix + head + found, "") if found else (key, upload)
        if item not in expected:
            expected.append(item)
    got, after = [], ("", "")
    while True:
        page = lake.uploads.list(
            "sea",
            prefix=prefix,
            delimiter=delimiter,
            after_key=after[0],
            after_id=after[1],
            amount=amount,
        )
        rows = [
            (item.path, "") if isinstance(item, CommonPrefix) else (item.key, item.id)
            for item in page.items
        ]
        got += rows
        if page.last is None:
            break
        assert len(rows) == amount
        assert rows[-1] == page.last
        after = page.last
    assert got == expected


def test_a_page_begins_behind_all_uploads_of_a_key(world):
    lake = world.open()
    for path in ("a", "a", "a/b", "b"):
        lake.uploads.create("sea", "main", path)
    page = lake.uploads.list("sea", after_key="main/a", amount=10)
    assert [item.key for item in page.items] == ["main/a/b", "main/b"]
    page = lake.uploads.list("sea", after_key="main/a", after_id="0", amount=10)
    assert [item.key for item in page.items] == ["main/a", "main/a", "main/a/b", "main/b"]
