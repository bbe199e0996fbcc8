"""Keys derived for a day, and how many are remembered."""

from __future__ import annotations

import pytest
from support.clients.s3_requests import Draft

from anabranch.model.secret import Secret
from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.signatures.signature_v4 import verify_header
from anabranch.signing.credential_scope import Scope
from anabranch.signing.signing_keys import SigningKeys, derive


def test_the_published_example():
    # AWS, "Derive a signing key for signature version 4"
    secret = Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
    key = derive(secret, Scope("20120215", "us-east-1", "iam"))
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


def test_the_oldest_goes_when_there_are_too_many():
    keys = SigningKeys(2)
    secret = Secret("secret")
    scopes = [Scope("20240101", region) for region in "abc"]
    for scope in scopes:
        keys.put(secret, scope, scope.region.encode())
        keys.put(secret, scope, b"is there already")
    assert len(keys) == 2
    assert keys.find(secret, scopes[0]) is None
    assert keys.find(secret, scopes[2]) == b"c"
    assert keys.find(Secret("other"), scopes[2]) is None


def test_a_wrong_signature_leaves_no_key(botocore, gate):
    sent = botocore.header(Draft())
    keys = SigningKeys()
    with pytest.raises(S3Error):
        verify_header(sent.request, sent.time, lambda _: Secret("wrong"), keys)
    assert len(keys) == 0
    verify_header(sent.request, sent.time, gate.secrets.get, keys)
    assert len(keys) == 1
