"""Encrypted secrets, which have lakeFS's format byte for byte."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.session.hypothesis_profiles import examples

from anabranch.access.credentials.secret_encryption import SecretCipher
from anabranch.errors import Corrupt
from anabranch.model.secret import Secret

KEY = Secret("THIS_MUST_BE_CHANGED_IN_PRODUCTION")
PLAIN = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

# Sealed by Go: golang.org/x/crypto v0.21.0, scrypt.Key and nacl/secretbox.Seal, with the salt
# 01…08 and the nonce 64…7b.
BY_GO = bytes.fromhex(
    "01020304050607086465666768696a6b6c6d6e6f707172737475767778797a7b"
    "a58c3f086548b81dcc34804b6ddc6be362f2b0243da84f0b1c6f4402c8d09027"
    "e169ed40bf3d8a999387fa3c2b6edd7381f48b700bc71b82"
)


def fixed(count: int) -> bytes:
    return bytes(range(1, 9)) if count == 8 else bytes(range(100, 124))


def test_encryption_matches_the_bytes_of_go():
    assert SecretCipher(KEY, fixed).encrypt(Secret(PLAIN)) == BY_GO


def test_bytes_encrypted_by_go_are_decrypted():
    assert SecretCipher(KEY, fixed).decrypt(BY_GO).reveal() == PLAIN


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=80))
@settings(max_examples=examples(40), deadline=None)
def test_there_and_back(text):
    sealer = SecretCipher(KEY, os.urandom)
    stored = sealer.encrypt(Secret(text))
    assert len(stored) == 8 + 24 + 16 + len(text.encode())
    assert sealer.decrypt(stored).reveal() == text
    assert sealer.encrypt(Secret(text)) != stored


@pytest.mark.parametrize("place", [0, 7, 8, 31, 32, 60, len(BY_GO) - 1])
def test_changed_byte_raises_corrupt(place):
    changed = bytearray(BY_GO)
    changed[place] ^= 1
    with pytest.raises(Corrupt) as error:
        SecretCipher(KEY, fixed).decrypt(bytes(changed))
    assert error.value.kind == "secret_does_not_open"
    assert PLAIN not in str(error.value)


@pytest.mark.parametrize("length", [0, 7, 8, 31, 32, 47])
def test_truncated_secret_raises_corrupt(length):
    with pytest.raises(Corrupt):
        SecretCipher(KEY, fixed).decrypt(BY_GO[:length])


def test_other_key_raises_corrupt():
    with pytest.raises(Corrupt):
        SecretCipher(Secret("another"), fixed).decrypt(BY_GO)
