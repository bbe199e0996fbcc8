"""Settings that all servers of one database must have in common, and the check that they do.

A server with another key, or another place for objects, would seem to work: it would refuse the
credentials that others gave, and find nothing where others have put it. So the first server writes
into the database how it is set, secrets as digests, and each that starts later compares.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import get_args

import msgspec

from anabranch.errors import Corrupt, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.secret import Secret
from anabranch.server.config.field import declared, value_of
from anabranch.server.config.settings import Settings
from anabranch.server.stores.keyvalue_stores import is_on_this_machine

__all__ = [
    "adopt_settings",
    "compare_settings",
    "require_shared_settings",
    "written_down",
]

_PARTITION, _KEY = "anabranch", b"shared-settings"
_SALT_BYTES = 16
_SECRET = "sha256:"  # noqa: S105  no secret, the sign of one


class _Record(msgspec.Struct, frozen=True):
    """What is in the database: values by names of settings."""

    salt: str
    values: dict[str, str]


def require_shared_settings(
    settings: Settings, store: KeyValueStore, random_bytes: Callable[[int], bytes]
) -> None:
    """Writes down how this server is set, where no other has; else raises Invalid, which names
    every difference, unless it is set as the others are.
    """
    while True:
        raw = store.get(_PARTITION, _KEY)
        there = _Record(random_bytes(_SALT_BYTES).hex(), {}) if raw is None else _decode(raw)
        found = _differences(there, settings)
        if found:
            raise Invalid(
                "this server is set otherwise than the others on its database: " + "; ".join(found),
                kind="different_settings",
                hint="Set all of them alike. To change what they have in common, stop all of them "
                "and run `anabranch migrate --adopt` with the new settings.",
            )
        here = _values(settings, there.salt)
        if here.keys() <= there.values.keys():
            return
        made = msgspec.structs.replace(there, values={**there.values, **here})
        if _write(store, made, raw):
            return


def written_down(store: KeyValueStore) -> frozenset[str]:
    """Returns the names of the settings that the database's servers have in common. Raises
    Corrupt.
    """
    raw = store.get(_PARTITION, _KEY)
    return frozenset() if raw is None else frozenset(_decode(raw).values)


def compare_settings(settings: Settings, store: KeyValueStore) -> list[str]:
    """Returns in what these settings differ from what the database's servers have in common, in
    words. Raises Corrupt.
    """
    raw = store.get(_PARTITION, _KEY)
    return [] if raw is None else _differences(_decode(raw), settings)


def adopt_settings(
    settings: Settings, store: KeyValueStore, random_bytes: Callable[[int], bytes]
) -> list[str]:
    """Puts these settings in place of what the servers had in common, and returns what is
    different now, in words.
    """
    while True:
        raw = store.get(_PARTITION, _KEY)
        found: list[str] = []
        if raw is not None:
            with suppress(Corrupt):
                found = _differences(_decode(raw), settings)
        salt = random_bytes(_SALT_BYTES).hex()
        if _write(store, _Record(salt, _values(settings, salt)), raw):
            return found


def _differences(there: _Record, settings: Settings) -> list[str]:
    """Returns in what settings differ from what is there; names that either does not know were
    added by a later version.
    """
    return [
        f"{name} is another"
        if value.startswith(_SECRET)
        else f"{name} is {value!r} here and {there.values[name]!r} there"
        for name, value in _values(settings, there.salt).items()
        if there.values.get(name, value) != value
    ]


def _values(settings: Settings, salt: str) -> dict[str, str]:
    """Returns the values of the settings that are shared, but those of stores not in use."""
    kinds = get_args(declared()["blockstore.type"].type)
    unused = tuple(f"blockstore.{kind}." for kind in kinds if kind != settings.blockstore.type)
    alone = is_on_this_machine(settings.database)
    values = {}
    for name, setting in declared().items():
        value = value_of(settings, name)
        if not setting.means.shared or name.startswith(unused):
            continue
        if isinstance(value, Secret):
            digest = hashlib.sha256(f"{salt}{value.reveal()}".encode()).hexdigest()
            values[name] = _SECRET + digest
        elif not isinstance(value, Path):
            values[name] = str(value)
        elif not alone:  # else the whole installation may have been moved
            values[name] = str(value.resolve())
    return values


def _write(store: KeyValueStore, record: _Record, before: bytes | None) -> bool:
    written = Write(_PARTITION, _KEY, msgspec.json.encode(record))
    return store.apply([written], [Expect(_PARTITION, _KEY, before)])


def _decode(raw: bytes) -> _Record:
    try:
        return msgspec.json.decode(raw, type=_Record)
    except msgspec.DecodeError as error:
        raise Corrupt(
            f"what the servers of this database have in common cannot be read: {error}",
            kind="damaged_settings",
            path=_KEY.decode(),
            hint="`anabranch migrate --adopt` writes it anew.",
        ) from error
