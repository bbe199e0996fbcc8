"""Keys for the files of one table, which programs get from the catalog: nothing of them is stored.

An access key is the grant itself with a code that only a server of the installation can make, and
its secret is derived from both. So keys need no record, end by themselves, and those of any server
are known to all.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from anabranch.access.credentials.derived_keys import (
    DerivedKeys,
    decode_base64url,
    encode_base64url,
)
from anabranch.access.identities.session_binding import SessionBinding
from anabranch.model.secret import Secret

__all__ = ["IssuedTableKeys", "TableGrant", "TableKeys", "is_table_key"]

_KEY_PREFIX = "TBL"
_CHECK, _SECRET = "check", "secret"


class TableGrant(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What keys of a table's files may do: as the user, and as far as the user may do it with the
    object at `path` of `branch`, read and, if `write`, store files in one area. They end at
    `expires_at`, in seconds since 1970, and with what `binding` names: the access key, for example,
    with which the user has asked for them.
    """

    username: str
    created_at: int
    record_id: str
    repository: str
    area: str
    path: str
    branch: str
    write: bool
    expires_at: int
    binding: SessionBinding


class IssuedTableKeys(msgspec.Struct, frozen=True, kw_only=True):
    """An access key and its secret."""

    access_key_id: str
    secret: Secret
    expires_at: int


_decoder = msgspec.msgpack.Decoder(TableGrant)


def is_table_key(access_key_id: str) -> bool:
    """Returns whether an access key may be one of a table."""
    return access_key_id.startswith(_KEY_PREFIX) and "." in access_key_id


class TableKeys:
    """Issues keys of tables, and reads them. `clock` returns seconds since 1970."""

    def __init__(self, keys: DerivedKeys, clock: Callable[[], float]) -> None:
        self._keys = keys
        self.clock = clock

    def issue(self, grant: TableGrant) -> IssuedTableKeys:
        """Returns the keys of a grant."""
        text = encode_base64url(msgspec.msgpack.encode(grant))
        current = self._keys.current
        return IssuedTableKeys(
            access_key_id=f"{_KEY_PREFIX}{text}.{current.derive(_CHECK, text)}",
            secret=Secret(current.derive(_SECRET, text)),
            expires_at=grant.expires_at,
        )

    def find(self, access_key_id: str) -> tuple[TableGrant, Secret] | None:
        """Returns the grant and the secret of an access key; None for another key, and once it has
        ended.
        """
        if not is_table_key(access_key_id):
            return None
        text, _, check = access_key_id.removeprefix(_KEY_PREFIX).partition(".")
        key = self._keys.find(_CHECK, text, check)
        if key is None:
            return None
        try:
            grant = _decoder.decode(decode_base64url(text))
        except msgspec.MsgspecError:  # of another version
            return None
        if self.clock() >= grant.expires_at:
            return None
        return grant, Secret(key.derive(_SECRET, text))
