"""What a session depends on: the record of its user, and of what opened it.

A token names random texts of both records. It authenticates while they are the same:

    the user is deleted, and created again     the new record has another epoch
    all sessions of a user are ended           the record gets another epoch
    the access key that opened it is deleted,
    or the principal of another system         there is no record, or one with another id

Records of earlier versions and of lakeFS have no such texts, and tokens issued for them name none.
Such tokens are valid for such records alone, so they are none of a user who is created again.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["SessionBinding"]

_CLAIMS = {
    "epoch": "epoch",
    "access_key_id": "access_key",
    "principal_id": "principal",
    "opener_record": "opener",
}
"""The claims of tokens, by the fields that they hold."""


class SessionBinding(msgspec.Struct, frozen=True, kw_only=True):
    """The epoch of a user's sessions; the access key, or the principal of another system, that
    opened the session, and the id of its record. Empty for what there is not: logins at an identity
    provider have neither.
    """

    epoch: str = ""
    access_key_id: str = ""
    principal_id: str = ""
    opener_record: str = ""

    def claims(self) -> dict[str, str]:
        """Returns the claims of tokens that name what the session depends on."""
        texts = {claim: getattr(self, field) for field, claim in _CLAIMS.items()}
        return {claim: text for claim, text in texts.items() if text}

    @classmethod
    def from_claims(cls, claims: Mapping[str, object]) -> SessionBinding:
        """Returns what the claims of a token name; raises ValueError if one is not a text."""
        texts: dict[str, str] = {}
        for field, claim in _CLAIMS.items():
            text = claims.get(claim, "")
            if not isinstance(text, str):
                raise ValueError(f"the claim {claim} is not a text")  # noqa: TRY004
            texts[field] = text
        return cls(**texts)
