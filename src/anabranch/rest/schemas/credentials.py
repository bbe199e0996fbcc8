"""Access keys, as the API shows them."""

from __future__ import annotations

import msgspec

from anabranch.access.credentials.credentials import Credential

__all__ = ["CredentialsWithSecret", "credentials_with_secret"]


class CredentialsWithSecret(msgspec.Struct, frozen=True):
    """An access key with its secret; `creation_date` in seconds since 1970."""

    access_key_id: str
    creation_date: int
    secret_access_key: str


def credentials_with_secret(credential: Credential) -> CredentialsWithSecret:
    """Returns the schema of a new credential; its secret is shown only once."""
    return CredentialsWithSecret(
        access_key_id=credential.access_key_id,
        creation_date=credential.issued_date,
        secret_access_key=credential.secret.reveal(),
    )
