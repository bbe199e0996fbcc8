"""Short texts: reference expressions and addresses of the lake."""

from __future__ import annotations

from fuzz.target import Refused, Target, outcome

from anabranch.model.references.expression import MAX_COUNT, parse_expression
from anabranch.model.uri import LakeUri, parse_uri
from anabranch.s3.protocol.addressing import parse_address

__all__ = ["TARGETS"]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def check_expression(data: bytes) -> None:
    text = _text(data)
    found = outcome(parse_expression, text)
    if isinstance(found, Refused):
        return
    assert str(found) == text
    assert parse_expression(str(found)) == found
    assert not (found.view and found.modifiers)
    assert all(0 <= each.count <= MAX_COUNT for each in found.modifiers)


def check_address(data: bytes) -> None:
    text = _text(data)
    for base in ("", "lakefs://repo/main/"):
        found = outcome(parse_uri, text, base)
        if isinstance(found, Refused):
            continue
        assert isinstance(found, LakeUri)
        assert parse_uri(str(found)) == found, f"{text!r} is {found!r}"
        assert found.repository
        assert found.ref or not found.key
    outcome(parse_address, data.decode("latin-1"), "")


TARGETS = (
    Target(
        "expression",
        check_expression,
        lambda: (
            *(b"main", b"main~3^2", b"main@", b"v1$", b"main@{2 hours ago}~1", b"8fe1^^"),
            *(b"main@{2026-01-01T00:00:00Z}", "zweig-ü~".encode()),
        ),
        (b"~", b"^", b"@", b"$", b"@{", b"}", b"{", b"\n", b" ", b"99999999999999999999", b"~0"),
    ),
    Target(
        "address",
        check_address,
        lambda: (
            *(b"lakefs://repo/main/a/b c?#%20", b"lakefs://repo", b"lakefs://image:tag/a"),
            *(b"lakefs://repo/main~2/", b"a/b", b"lakefs://image:tag", b"/repo/main/a%2Fb"),
        ),
        (b"lakefs://", b"image:", b"/", b"//", b"..", b"%2f", b"%ff", b"s3://", b"lakefs:/"),
    ),
)
