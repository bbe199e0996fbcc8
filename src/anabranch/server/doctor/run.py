"""Runs all checks that apply to the settings; checks that depend on others run last.

They leave no test data, and create no database, folder or key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from anabranch.keyvalue.contract import KeyValueStore
from anabranch.library import DATABASE_FILE
from anabranch.server.composition import own_version
from anabranch.server.config.settings import Settings
from anabranch.server.doctor.address import check_address
from anabranch.server.doctor.blocks import buckets_in_use, check_blocks
from anabranch.server.doctor.check_result import CheckResult, State, errors_collected
from anabranch.server.doctor.disk_space import check_folders, written_folders
from anabranch.server.doctor.identity_provider import check_identity_provider
from anabranch.server.doctor.keys import check_keys
from anabranch.server.doctor.modes import check_modes
from anabranch.server.doctor.sqlite import check_sqlite
from anabranch.server.doctor.versions import check_versions
from anabranch.server.installation.keys import missing_keys, with_keys
from anabranch.server.installation.shared_settings import compare_settings
from anabranch.server.stores.block_stores import open_blocks
from anabranch.server.stores.keyvalue_stores import open_keyvalue
from anabranch.versioning.records import keys, references

__all__ = ["run_checks"]

_TOKEN_BYTES = 8


def run_checks(
    settings: Settings, clock: Callable[[], float], random_bytes: Callable[[int], bytes]
) -> Iterator[CheckResult]:
    """Yields the results of all checks, as they are available."""
    yield from check_versions(own_version())
    yield from check_address(settings.listen_address)
    yield from check_keys(settings)
    yield from check_identity_provider(settings)
    folders = check_folders(written_folders(settings))
    yield from folders
    yield from check_modes(settings)
    database = _check_database(settings, clock)
    yield from database
    if not any(result.state is State.WRONG for result in (*folders, *database)):
        yield from _check_contents(settings, clock, random_bytes)


def _check_database(settings: Settings, clock: Callable[[], float]) -> list[CheckResult]:
    if settings.database.type == "mem":
        message = "the database is in memory: everything is lost when the server stops"
        return [CheckResult("database", State.DOUBTFUL, message)]
    if settings.database.type == "local":
        return check_sqlite(settings.database.local.path)
    results: list[CheckResult] = []
    with errors_collected("database", results):
        # an extra, which may not be installed
        from anabranch.server.stores.keyvalue_stores import connection_string  # noqa: PLC0415

        connection_string(settings.database)
        from anabranch.server.doctor.postgres import check_postgres  # noqa: PLC0415

        processes = settings.workers or os.cpu_count() or 1
        results += check_postgres(settings.database, processes, clock)
    return results


def _check_contents(
    settings: Settings, clock: Callable[[], float], random_bytes: Callable[[int], bytes]
) -> list[CheckResult]:
    """Checks the shared settings, and the buckets that the database names."""
    results: list[CheckResult] = []
    namespaces = [settings.blockstore.default_namespace_prefix]
    if _database_exists(settings):
        with errors_collected("database", results):
            keyvalue = open_keyvalue(settings.database)
            try:
                results += _check_shared(settings, keyvalue, random_bytes)
                namespaces += _namespaces(keyvalue)
            finally:
                keyvalue.close()
    if settings.blockstore.type == "local":
        namespaces = ["local://any"] if settings.blockstore.local.path.is_dir() else []
    with errors_collected("blocks", results):
        buckets = buckets_in_use(namespaces)
        if buckets:
            token = random_bytes(_TOKEN_BYTES).hex()
            results += check_blocks(open_blocks(settings.blockstore), buckets, token, clock)
        else:
            message = "no storage namespace is in use yet, so none was checked"
            results.append(CheckResult("blocks", State.SOUND, message))
    return results


def _database_exists(settings: Settings) -> bool:
    if settings.database.type == "local":
        return (settings.database.local.path / DATABASE_FILE).exists()
    return settings.database.type != "mem"


def _check_shared(
    settings: Settings, keyvalue: KeyValueStore, random_bytes: Callable[[int], bytes]
) -> list[CheckResult]:
    if missing_keys(settings):
        return []
    hint = "Use the same settings for all servers, or run `anabranch migrate --adopt` with these."
    different = compare_settings(with_keys(settings, random_bytes), keyvalue)
    if not different:
        return [CheckResult("settings", State.SOUND, "they are those of the database's servers")]
    return [CheckResult("settings", State.WRONG, message, hint) for message in different]


def _namespaces(keyvalue: KeyValueStore) -> list[str]:
    """Returns the storage namespaces of all repositories."""
    stem = keys.repository("")
    return [
        references.repository_from(raw).storage_namespace
        for key, raw in keyvalue.scan(keys.GRAVELER, stem)
        if key.startswith(stem)
    ]
