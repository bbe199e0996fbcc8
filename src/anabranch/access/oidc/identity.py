"""A person at a provider, as the claims describe them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.access.identities.users import check_username
from anabranch.access.oidc.configuration import ClaimNames
from anabranch.errors import Denied, Invalid

__all__ = ["Identity", "check_required", "missing_claims", "to_identity"]

_MAX_GROUPS = 10_000
_MAX_TEXT_LENGTH = 255
_UNWANTED_IN_NAMES = frozenset('*?$"<>\\')
"""Wildcards and variables of policies, and characters that no name of a person has."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A person. `external_id` is unique among all providers, `username` is how a new user would be
    called. `initial_groups` is None without a claim of them. `provisioned_id` is that of the user
    whom SCIM created for the person, empty if it is not known.
    """

    external_id: str
    username: str
    friendly_name: str
    email: str
    initial_groups: tuple[str, ...] | None
    groups: frozenset[str]
    provisioned_id: str = ""


def missing_claims(claims: Mapping[str, Any], names: ClaimNames) -> bool:
    """Returns whether any claim that is configured, and the e-mail address, is missing."""
    wanted = {"email", *names.usernames, names.friendly_name, names.initial_groups, names.groups}
    wanted.add(names.provisioned_id)
    wanted.update(name for name, _ in names.required)
    return any(name not in claims for name in wanted if name)


def check_required(claims: Mapping[str, Any], names: ClaimNames) -> None:
    """Raises Denied unless the claims have all required values. A list has each of its values."""
    for name, value in names.required:
        given = claims.get(name)
        values = given if isinstance(given, list) else [given]
        if value not in (_to_text(each) for each in values if each is not None):
            raise Denied(
                f"users who log in must have another value of the claim {name!r}",
                kind="claim_mismatch",
                hint="The setting auth.oidc.validate_id_token_claims decides who may log in.",
            )


def to_identity(claims: Mapping[str, Any], names: ClaimNames) -> Identity:
    """Returns the person whom valid claims describe; raises Invalid if none of the claims that
    name users can be a user's name.
    """
    # an issuer has no fragment, so the pair is unambiguous
    external_id = f"{claims['iss']}#{claims['sub']}"
    initial_groups = claims.get(names.initial_groups) if names.initial_groups else None
    return Identity(
        external_id=external_id,
        username=_username(claims, names),
        friendly_name=_clean(claims.get(names.friendly_name)),
        email=_email(claims),
        initial_groups=None if initial_groups is None else tuple(_names(initial_groups)),
        groups=frozenset(_names(claims.get(names.groups) if names.groups else None)),
        provisioned_id=_clean(claims.get(names.provisioned_id)),
    )


def _username(claims: Mapping[str, Any], names: ClaimNames) -> str:
    for name in (*names.usernames, "sub"):
        text = _clean(claims.get(name))
        try:
            check_username(text)
        except Invalid:
            continue
        if _UNWANTED_IN_NAMES.isdisjoint(text):
            return text
    raise Invalid(
        "none of the claims that name users can be a user's name",
        kind="invalid_username",
        hint="The setting auth.oidc.username_claim_names names these claims.",
    )


def _email(claims: Mapping[str, Any]) -> str:
    """Returns the e-mail address unless the provider says that it is not verified: it is shown as
    the author of commits.
    """
    if claims.get("email_verified", True) in (False, "false"):
        return ""
    email = _clean(claims.get("email"))
    return email if "@" in email else ""


def _names(value: object) -> list[str]:
    """Returns the names in a claim: a list, or text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return []
    texts = (item.strip() for item in items[:_MAX_GROUPS] if isinstance(item, str))
    return [text for text in texts if text]


def _clean(value: object) -> str:
    """Returns a text in Unicode's normal form C, empty for anything that cannot be shown."""
    if not isinstance(value, str):
        return ""
    text = unicodedata.normalize("NFC", value).strip()
    return text if text.isprintable() and len(text) <= _MAX_TEXT_LENGTH else ""


def _to_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else str(value)
