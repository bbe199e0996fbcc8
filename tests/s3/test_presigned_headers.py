"""Headers in the query of a presigned URL: which count, and which do not."""

from __future__ import annotations

import pytest

from anabranch.s3.protocol.presigned_headers import with_presigned_headers
from anabranch.signing.request import Request

V2 = "AWSAccessKeyId=AKIA&Signature=x&Expires=1"
V4 = "X-Amz-Algorithm=a&X-Amz-Credential=b&X-Amz-Date=c&X-Amz-Security-Token=d&X-Amz-Signature=e"


def carried(query, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request.from_wire("PUT", "/repo/main/a", query, named.items())
    return with_presigned_headers(request).headers


@pytest.mark.parametrize("proof", [V2, V4])
@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("x-amz-meta-depth=1%2B2", "x-amz-meta-depth", "1+2"),
        ("X-Amz-Meta-Depth=a+b", "x-amz-meta-depth", "a b"),
        ("x-amz-copy-source=repo%2Fmain%2Fa%2520b", "x-amz-copy-source", "repo/main/a%20b"),
        ("x-amz-copy-source-if-match=%22a%22", "x-amz-copy-source-if-match", '"a"'),
        ("x-amz-tagging=k%3Dv", "x-amz-tagging", "k=v"),
        ("x-amz-metadata-directive=REPLACE", "x-amz-metadata-directive", "REPLACE"),
        ("X-Amz-Checksum-Mode=ENABLED", "x-amz-checksum-mode", "ENABLED"),
        ("x-amz-checksum-algorithm=SHA256", "x-amz-checksum-algorithm", "SHA256"),
        ("x-amz-object-attributes=ETag%2CChecksum", "x-amz-object-attributes", "ETag,Checksum"),
        ("x-amz-max-parts=3", "x-amz-max-parts", "3"),
    ],
)
def test_query_headers_are_used(proof, part, name, value):
    assert carried(f"{proof}&{part}") == {name: value}
    assert carried(f"{part}&{proof}", **{name.replace("-", "_"): "sent"}) == {name: "sent"}
    assert carried(part) == {}


def test_the_type_counts_in_version_2():
    assert carried(f"{V2}&content-type=text%2Fx") == {"content-type": "text/x"}
    assert carried(f"{V4}&content-type=text%2Fx") == {}


@pytest.mark.parametrize(
    "part",
    [
        "x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32",
        "x-amz-content-sha256=UNSIGNED-PAYLOAD",
        "response-content-type=text%2Fx",
        "if-match=x",
        "host=other",
        "x-amz-date=c",
    ],
)
def test_other_query_parameters_are_not_headers(part):
    for proof in (V2, V4):
        assert carried(f"{proof}&{part}", host="lake") == {"host": "lake"}
