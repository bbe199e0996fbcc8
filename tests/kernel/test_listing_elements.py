"""Pages of trees as the XML of S3's listings, against a writer made of Python's own parts."""

from __future__ import annotations

import time
from urllib.parse import quote
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch._kernel import KernelError, decode_entry, encode_entry

from .conftest import patient

CONTROLS = {chr(number): f"&#x{number:X};" for number in (*range(32), 127, 0xFFFE, 0xFFFF)}
FIRST_SECOND, LAST_SECOND = -62135596800, 253402300799

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
odd = st.sampled_from(
    [b"&", b"<a>", b'"', b"'", b"]]>", b"\x00", b"\x7f", b"\xff", b"\xe2\x82", b"/"]
)
odd |= st.sampled_from(["ä", "😀", "\ufffe", "\uffff", "\ufffd", "%2F", "+", " "]).map(str.encode)
keys = st.lists(st.one_of(odd, texts.map(str.encode), st.binary(max_size=4)), min_size=1).map(
    b"".join
)
keys = keys.filter(bool)
checksums = st.one_of(st.from_regex(r"[0-9a-f]{32}(-[0-9]{1,4})?", fullmatch=True), texts)
checksums |= st.sampled_from(['"abc"', '"', "a\nb", "<&>"])
seconds = st.integers(FIRST_SECOND, LAST_SECOND) | st.integers(-(2**63), 2**63 - 1)
entries = st.builds(
    lambda mtime, size, checksum: encode_entry("a", 1, mtime, 5, size, checksum, {}, "t"),
    seconds,
    st.integers(-(2**63), 2**63 - 1),
    checksums,
)


def escaped(text: str) -> str:
    whole = "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)
    return escape(whole, CONTROLS | {'"': "&quot;"})


def shown(key: bytes, *, encoded: bool) -> str:
    return quote(key, safe="/") if encoded else escaped(key.decode(errors="surrogateescape"))


def etag(checksum: str) -> str:
    safe = "".join(char if " " <= char <= "~" else "?" for char in checksum)
    return escaped(safe if safe.startswith('"') else f'"{safe}"')


def instant(mtime: int) -> str:
    moment = time.gmtime(min(max(mtime, FIRST_SECOND), LAST_SECOND))
    return f"{moment.tm_year:04}" + time.strftime("-%m-%dT%H:%M:%S.000Z", moment)


def modelled(rows, root, *, name="Contents", after_key="", at_end="", encoded=False) -> str:
    """Returns the elements of a page."""
    parts = []
    for key, value in rows:
        whole = shown(root + key, encoded=encoded)
        if value is None:
            parts.append(f"<CommonPrefixes><Prefix>{whole}</Prefix></CommonPrefixes>")
            continue
        _, _, mtime, _, size, checksum, _, _ = decode_entry(value[1])
        parts.append(
            f"<{name}><Key>{whole}</Key>{after_key}<LastModified>{instant(mtime)}</LastModified>"
            f"<ETag>{etag(checksum)}</ETag><Size>{size}</Size>{at_end}</{name}>"
        )
    return "".join(parts)


def listed(tree, **window):
    listing = tree.listing(amount=1000, **window)
    listing.feed([], last=True)
    return listing


@patient
@given(
    st.dictionaries(keys, entries, min_size=1, max_size=12),
    st.sampled_from([b"", b"/", b"&"]),
    st.sampled_from([b"", b"main/", b"a&b/", "ä/".encode(), b"\xff/"]),
    st.booleans(),
)
def test_elements_are_those_of_python(lake, objects, delimiter, root, encoded):
    listing = listed(lake.write(objects), delimiter=delimiter)
    assert len(listing)
    for form in (
        {},
        {"at_end": "<StorageClass>STANDARD</StorageClass>"},
        {"name": "Version", "after_key": "<VersionId>null</VersionId>", "at_end": "<Owner/>"},
    ):
        written = listing.s3_elements(root, encoded=encoded, **form)
        assert written.decode() == modelled(listing.rows(), root, encoded=encoded, **form)


def test_a_page_without_items_has_no_elements(lake):
    assert listed(lake.open("")).s3_elements(b"main/") == b""


def test_what_is_no_entry_is_an_error(lake):
    listing = listed(lake.write({b"a": (b"identity", b"\xff no entry")}))
    with pytest.raises(KernelError):
        listing.s3_elements(b"main/")
