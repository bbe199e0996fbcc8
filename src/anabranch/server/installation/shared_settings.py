"""The check that settings which all servers of one database share are equal.

A server with another key would refuse the credentials that other servers issued; one with another
location of objects would not find the objects that they stored. Therefore the first server records
its settings in the database, secrets as digests, and each server that starts later compares its own
settings with them.
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
    "record_current_key",
    "recorded_names",
    "require_shared_settings",
]

_PARTITION, _KEY = "anabranch", b"shared-settings"
_SALT_BYTES = 16
_SECRET = "sha256:"  # noqa: S105  the prefix of a digest


class _Record(msgspec.Struct, frozen=True):
    """The record in the database: values by names of settings."""

    salt: str
    values: dict[str, str]


_DECODER = msgspec.json.Decoder(_Record)


def require_shared_settings(
    settings: Settings, store: KeyValueStore, random_bytes: Callable[[int], bytes]
) -> None:
    """Records the settings of this server if none are recorded. Raises Invalid, which names all
    differences, if they differ from the recorded ones.
    """
    while True:
        raw = store.get(_PARTITION, _KEY)
        recorded = _Record(random_bytes(_SALT_BYTES).hex(), {}) if raw is None else _decode(raw)
        differences = _differences(recorded, settings)
        if differences:
            raise Invalid(
                "the settings of this server differ from those of others on its database: "
                + "; ".join(differences),
                kind="different_settings",
                hint="Give all servers the same settings. To change these, stop all servers and "
                "run `anabranch migrate --adopt` with the new settings.",
            )
        own = _values(settings, recorded.salt)
        if own.keys() <= recorded.values.keys():
            return
        updated = msgspec.structs.replace(recorded, values={**recorded.values, **own})
        if _write(store, updated, raw):
            return


def recorded_names(store: KeyValueStore) -> frozenset[str]:
    """Returns the names of the settings that are recorded in the database. Raises Corrupt."""
    raw = store.get(_PARTITION, _KEY)
    return frozenset() if raw is None else frozenset(_decode(raw).values)


def compare_settings(settings: Settings, store: KeyValueStore) -> list[str]:
    """Returns descriptions of the differences between settings and those recorded in the database.
    Raises Corrupt.
    """
    raw = store.get(_PARTITION, _KEY)
    return [] if raw is None else _differences(_decode(raw), settings)


def adopt_settings(
    settings: Settings, store: KeyValueStore, random_bytes: Callable[[int], bytes]
) -> list[str]:
    """Replaces the recorded settings, and returns descriptions of the differences."""
    while True:
        raw = store.get(_PARTITION, _KEY)
        differences: list[str] = []
        if raw is not None:
            with suppress(Corrupt):
                differences = _differences(_decode(raw), settings)
        salt = random_bytes(_SALT_BYTES).hex()
        if _write(store, _Record(salt, _values(settings, salt)), raw):
            return differences


def _differences(recorded: _Record, settings: Settings) -> list[str]:
    """Returns descriptions of the differences from recorded settings. A setting that only one side
    has is ignored: another version has added it.
    """
    return [
        f"{name} differs"
        if value.startswith(_SECRET)
        else f"{name} is {value!r} here and {recorded.values[name]!r} in the database"
        for name, value in _values(settings, recorded.salt).items()
        if recorded.values.get(name, value)
        not in {value, _alternative(settings, recorded.salt, name)}
    ]


def record_current_key(
    settings: Settings, store: KeyValueStore, random_bytes: Callable[[int], bytes]
) -> None:
    """Records the settings after a key rotation: servers with only the earlier key then differ."""
    require_shared_settings(settings, store, random_bytes)
    adopt_settings(settings, store, random_bytes)


def _values(settings: Settings, salt: str) -> dict[str, str]:
    """Returns the values of the shared settings, except those of stores that are not used."""
    kinds = get_args(declared()["blockstore.type"].type)
    unused = tuple(f"blockstore.{kind}." for kind in kinds if kind != settings.blockstore.type)
    is_local = is_on_this_machine(settings.database)
    values = {}
    for name, setting in declared().items():
        value = value_of(settings, name)
        if not setting.doc.shared or name.startswith(unused):
            continue
        if isinstance(value, Secret):
            values[name] = _digest(salt, value)
        elif not isinstance(value, Path):
            values[name] = str(value)
        elif not is_local:  # a local installation may be moved as a whole
            values[name] = str(value.resolve())
    return values


def _alternative(settings: Settings, salt: str, name: str) -> str | None:
    """Returns the value of another setting that the recorded value may equal, such as the other
    key during a rotation; None without one.
    """
    other = declared()[name].doc.instead
    value = value_of(settings, other) if other else None
    return _digest(salt, value) if isinstance(value, Secret) and value else None


def _digest(salt: str, secret: Secret) -> str:
    return _SECRET + hashlib.sha256(f"{salt}{secret.reveal()}".encode()).hexdigest()


def _write(store: KeyValueStore, record: _Record, before: bytes | None) -> bool:
    written = Write(_PARTITION, _KEY, msgspec.json.encode(record))
    return store.apply([written], [Expect(_PARTITION, _KEY, before)])


def _decode(raw: bytes) -> _Record:
    try:
        return _DECODER.decode(raw)
    except msgspec.DecodeError as error:
        raise Corrupt(
            f"the settings recorded in this database cannot be read: {error}",
            kind="damaged_settings",
            path=_KEY.decode(),
            hint="`anabranch migrate --adopt` replaces them with those of this server.",
        ) from error
