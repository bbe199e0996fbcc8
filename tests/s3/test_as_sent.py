"""Clients that sign what they send, where that is not the canonical form."""

from __future__ import annotations

import pytest

from anabranch.s3.protocol.errors import S3Error
from anabranch.signing.canonical_v4 import canonical_request, string_to_sign
from anabranch.signing.chunk_signatures import ChunkSeed
from anabranch.signing.credential_scope import Scope
from anabranch.signing.request import Request
from anabranch.signing.signing_keys import derive
from anabranch.signing.timestamps import parse_compact

KEY = "AKIAIOSFODNN7EXAMPLE"
DATE = "20240229T120000Z"
NAMES = "host;x-amz-content-sha256;x-amz-date;x-amz-meta-a"


def signed(gate, path, query, meta):
    """Signs the path, the query's parts sorted and the headers exactly as they are sent."""
    scope = Scope(DATE[:8], "us-east-1")
    headers = {
        "host": "h",
        "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
        "x-amz-date": DATE,
        "x-amz-meta-a": meta,
    }
    request = Request.from_wire("PUT", path, query, headers.items())
    canonical = canonical_request(request, NAMES, "UNSIGNED-PAYLOAD", as_sent=True)
    assert canonical.split("\n")[1] == path
    text = string_to_sign(DATE, scope, canonical)
    signature = ChunkSeed(derive(gate.secrets[KEY], scope), DATE, scope.text, "").sign(text)
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={KEY}/{scope.text}, SignedHeaders={NAMES}, "
        f"Signature={signature}"
    )
    return headers


CASES = [
    ("/repo/main/year=2024/a:b", "", "x"),
    ("/repo/main/a%2Fb", "", "x"),
    ("/repo/main/a%2fb", "partNumber=1&uploadId=a/b", "x"),
    ("/repo/main/(a)+b", "prefix=a+b&list-type=2", "x"),
    ("/repo/main/a", "", "two  spaces"),
]


@pytest.mark.parametrize(("path", "query", "meta"), CASES)
def test_signatures_as_sent_are_accepted_and_damaged_ones_rejected(gate, path, query, meta):
    headers = signed(gate, path, query, meta)
    gate.now = parse_compact(DATE)
    assert gate.verifier.verify(Request.from_wire("PUT", path, query, headers.items()))
    for wrong in (
        (path + "x", query, headers),
        (path, query + "&x", headers),
        (path, query, {**headers, "x-amz-meta-a": meta + "x"}),
    ):
        with pytest.raises(S3Error) as caught:
            gate.verifier.verify(Request.from_wire("PUT", *wrong[:2], wrong[2].items()))
        assert caught.value.code == "SignatureDoesNotMatch"


def test_request_signed_as_sent_cannot_be_replayed_with_another_meaning(gate):
    # a plus that was sent as it is means a space, and must not turn into a plus
    headers = signed(gate, "/repo", "prefix=a+b", "x")
    gate.now = parse_compact(DATE)
    with pytest.raises(S3Error):
        gate.verifier.verify(Request.from_wire("PUT", "/repo", "prefix=a%2Bb", headers.items()))
