"""Where requests go: hosts, paths, queries."""

from __future__ import annotations

import pytest

from anabranch.s3.protocol.addressing import Address, Domains, parse_address, parse_parameters
from anabranch.s3.protocol.errors import S3Error

domains = Domains(["S3.Example.com", "lake"])


@pytest.mark.parametrize(
    ("host", "bucket"),
    [
        ("s3.example.com", ""),
        ("S3.EXAMPLE.com:8000", ""),
        ("lake", ""),
        ("sea.s3.example.com", "sea"),
        ("sea.lake:80", "sea"),
        ("a.b.lake", None),
        (".lake", None),
        ("example.com", None),
        ("localhost:8000", None),
        ("[::1]:8000", None),
        ("", None),
    ],
)
def test_hosts(host, bucket):
    assert domains.bucket(host) == bucket
    assert domains.matches({"host": host}, "") == (bucket is not None)


@pytest.mark.parametrize(
    ("headers", "query", "taken"),
    [
        ({"authorization": "AWS4-HMAC-SHA256 x"}, "", True),
        ({"authorization": "AWS key:signature"}, "", True),
        ({"authorization": "Basic QVdTNA=="}, "", False),
        ({"authorization": "Bearer AWS4"}, "", False),
        ({"x-amz-signature": "x"}, "", True),
        ({}, "X-Amz-Credential=x", True),
        ({}, "a=b&X%2DAmz-Credential=x", False),
        ({}, "X-Amz-Credential=", False),
        ({}, "AWSAccessKeyId=x", True),
        ({}, "prefix=AWSAccessKeyId", False),
    ],
)
def test_signed_requests(headers, query, taken):
    assert domains.matches(headers, query) == taken


@pytest.mark.parametrize(
    ("path", "bucket", "expected"),
    [
        ("/", "", ("", "")),
        ("", "", ("", "")),
        ("/sea", "", ("sea", "")),
        ("/sea/", "", ("sea", "")),
        ("/sea/main/a%2Fb+c%20d", "", ("sea", "main/a/b+c d")),
        ("/sea//main", "", ("sea", "/main")),
        ("/main/a", "sea", ("sea", "main/a")),
        ("//a", "sea", ("sea", "/a")),
    ],
)
def test_paths(path, bucket, expected):
    assert parse_address(path, bucket) == Address.of(*expected)


def test_keys_are_a_reference_and_a_path():
    address = Address.of("sea", "main//a/b")
    assert (address.ref, address.path) == ("main", "/a/b")
    assert Address.of("sea", "main")[2:] == ("main", "")


def test_queries():
    assert parse_parameters("a=1&a=2&b=x+y%2B&uploads&c=") == {
        "a": "1",
        "b": "x y+",
        "uploads": "",
        "c": "",
    }
    with pytest.raises(S3Error):
        parse_parameters("a=%ff")
    with pytest.raises(S3Error):
        parse_address("/sea/%ff", "")
