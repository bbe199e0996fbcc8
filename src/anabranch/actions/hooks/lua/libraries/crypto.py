"""`crypto/*`: digests and signatures as bytes, and AES in CBC mode."""

from __future__ import annotations

import hashlib
import hmac as signatures
import os
from collections.abc import Callable, Mapping
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from anabranch.actions.hooks.contract import HookContext

__all__ = ["aes", "hmac", "md5", "sha1", "sha256"]

_BLOCK_BYTES = 16


def md5(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `crypto/md5`."""
    return {"digest": _digest("md5")}


def sha1(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `crypto/sha1`."""
    return {"digest": _digest("sha1")}


def sha256(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `crypto/sha256`."""
    return {"digest": _digest("sha256")}


def hmac(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `crypto/hmac`."""

    def sign_sha256(message: bytes, key: bytes) -> bytes:
        return signatures.digest(key, message, "sha256")

    def sign_sha1(message: bytes, key: bytes) -> bytes:
        return signatures.digest(key, message, "sha1")

    return {
        "sign_sha256": sign_sha256,
        "sign_sha1": sign_sha1,
        "signsha256": sign_sha256,
        "signsha1": sign_sha1,
    }


def aes(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `crypto/aes`: a ciphertext begins with its random initial vector."""

    def encrypt_cbc(key: bytes, plaintext: bytes) -> bytes:
        start = os.urandom(_BLOCK_BYTES)
        padder = PKCS7(8 * _BLOCK_BYTES).padder()
        padded = padder.update(plaintext) + padder.finalize()
        encryptor = Cipher(algorithms.AES(key), modes.CBC(start)).encryptor()
        return start + encryptor.update(padded) + encryptor.finalize()

    def decrypt_cbc(key: bytes, ciphertext: bytes) -> bytes:
        start, rest = ciphertext[:_BLOCK_BYTES], ciphertext[_BLOCK_BYTES:]
        decryptor = Cipher(algorithms.AES(key), modes.CBC(start)).decryptor()
        unpadder = PKCS7(8 * _BLOCK_BYTES).unpadder()
        padded = decryptor.update(rest) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()

    return {
        "encrypt_cbc": encrypt_cbc,
        "decrypt_cbc": decrypt_cbc,
        "encryptCBC": encrypt_cbc,
        "decryptCBC": decrypt_cbc,
    }


def _digest(algorithm: str) -> Callable[[bytes], bytes]:
    def digest(message: bytes) -> bytes:
        return hashlib.new(algorithm, message, usedforsecurity=False).digest()

    return digest
