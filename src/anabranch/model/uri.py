"""An address: ``lakefs://REPOSITORY[/REF[/KEY]]``.

Three parts and no escapes. What follows the third slash of the address is the key of an object,
or the beginning of many keys, letter by letter: ``?``, ``#``, ``%20``, spaces and further slashes
are part of it. The ref is a name or an expression; it holds no slash. An image may also be written
as ``lakefs://image:TAG[/KEY]``.
"""

from __future__ import annotations

import re

import msgspec

from anabranch.errors import Invalid
from anabranch.model.names import check_repository

__all__ = ["IMAGES", "SCHEME", "LakeUri", "parse_uri"]

SCHEME = "lakefs://"

IMAGES = "image"
"""The repository whose tags are images."""

_IMAGE = f"{SCHEME}{IMAGES}:"

_SHAPE = f"Write it like {SCHEME}my-repository/main/folder/file.parquet."
_ALMOST_SCHEME = re.compile(r"(lakefs:|lakefs/|//)/*", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_BLANK = re.compile(r"\s", re.ASCII)


class LakeUri(msgspec.Struct, frozen=True):
    """A place: a repository, in it a ref, in that a key; "" for what is not named.

    A ref without a key stands for all its objects, so ``lakefs://r/main`` and
    ``lakefs://r/main/`` are the same place; `str()` writes the shorter. There is no key without
    a ref.
    """

    repository: str
    ref: str = ""
    key: str = ""

    def __str__(self) -> str:
        if self.key:
            return f"{SCHEME}{self.repository}/{self.ref}/{self.key}"
        return f"{SCHEME}{self.repository}/{self.ref}".rstrip("/")


def parse_uri(text: str, base: str = "") -> LakeUri:
    """Returns the place that an address names.

    A text that is no whole address is put behind `base`, letter to letter (as lakectl does): with
    ``lakefs://r/main/`` as the base, ``file`` is ``lakefs://r/main/file``.

    Raises Invalid (kind invalid_uri) where it names no place. Whether the place exists, and
    whether its ref is a name or an expression, is not looked at.
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
