"""Lake addresses: ``lakefs://REPOSITORY[/REF[/KEY]]``.

An address has three parts and no escapes. Everything after the slash that ends the ref is the key
of an object, or a prefix of keys, taken literally: ``?``, ``#``, ``%20``, spaces and further
slashes are part of it. The ref is a name or an expression; it contains no slash. An image may also
be written as ``lakefs://image:TAG[/KEY]``.
"""

from __future__ import annotations

import re

import msgspec

from anabranch.errors import Invalid
from anabranch.model.names import check_repository

__all__ = ["IMAGES", "SCHEME", "LakeUri", "is_address", "parse_uri"]

SCHEME = "lakefs://"

IMAGES = "image"
"""The repository whose tags are images."""

_IMAGE = f"{SCHEME}{IMAGES}:"

_SHAPE = f"Write it like {SCHEME}my-repository/main/folder/file.parquet."
_ALMOST_SCHEME = re.compile(r"(lakefs:|lakefs/|//)/*", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_BLANK = re.compile(r"\s", re.ASCII)


class LakeUri(msgspec.Struct, frozen=True):
    """A parsed address: a repository, a ref and a key; "" for a part that is missing.

    A ref without a key means all its objects, so ``lakefs://r/main`` and ``lakefs://r/main/`` are
    equal; `str()` returns the shorter. There is no key without a ref.
    """

    repository: str
    ref: str = ""
    key: str = ""

    def __str__(self) -> str:
        if self.key:
            return f"{SCHEME}{self.repository}/{self.ref}/{self.key}"
        return f"{SCHEME}{self.repository}/{self.ref}".rstrip("/")


def parse_uri(text: str, base: str = "") -> LakeUri:
    """Parses an address.

    A relative address is appended to `base` literally (as lakectl does): with ``lakefs://r/main/``
    as the base, ``file`` is ``lakefs://r/main/file``.

    Raises Invalid (kind invalid_uri) for a malformed address. Does not check whether the repository
    and the ref exist, nor parse the ref.
    """
    if base and not text.startswith(SCHEME):
        text = base + text
    if not text.startswith(SCHEME):
        raise _without_scheme(text)
    if text.startswith(_IMAGE) and text != _IMAGE:
        text = f"{SCHEME}{IMAGES}/{text[len(_IMAGE) :]}"
    repository, _, rest = text.removeprefix(SCHEME).partition("/")
    ref, _, key = rest.partition("/")
    _check_repository(text, repository)
    if rest and not ref:
        raise _invalid(text, "no branch, tag or commit stands behind the repository", _SHAPE)
    if _BLANK.search(ref):
        raise _invalid(
            text, f"the ref {ref!r} holds white space", "Names of branches and tags hold none."
        )
    return LakeUri(repository, ref, key)


def _check_repository(text: str, repository: str) -> None:
    if not repository:
        raise _invalid(text, "it names no repository", _SHAPE)
    try:
        check_repository(repository)
    except Invalid as error:
        reason = f"{repository!r} cannot name a repository"
        raise _invalid(text, reason, error.hint) from None


def _without_scheme(text: str) -> Invalid:
    almost = _ALMOST_SCHEME.match(text)
    if almost:
        hint = f"Did you mean {SCHEME}{text[almost.end() :]}?"
    elif _OTHER_SCHEME.match(text):
        hint = _SHAPE
    else:
        hint = f"{_SHAPE} A base address makes relative ones possible."
    return _invalid(text, f"it does not begin with {SCHEME}", hint)


def _invalid(text: str, reason: str, hint: str) -> Invalid:
    return Invalid(f"address {text!r}: {reason}", kind="invalid_uri", hint=hint)


def is_address(text: str) -> bool:
    """Returns whether a text is an address such as ``http://host`` or ``s3://bucket`` rather than
    the path of a file, also one that `Path` has normalized to ``http:/host``.
    """
    return _ADDRESS.match(text) is not None
