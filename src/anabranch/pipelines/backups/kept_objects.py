"""What keeps garbage collection from the objects of a backup while they are copied: pins of the
commits, and records that protect the objects of staged changes, and the files of staged tables, as
if these had been restored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice

from anabranch.errors import AnabranchError
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import is_record_path
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.stores.entries import (
    AreaSource,
    Entries,
    EntryReader,
)
from anabranch.pipelines.verification.stores.object_sources import ObjectSources
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import MAX_PIN_SECONDS, Pin

__all__ = ["PinnedCommits", "keeping_objects", "required_commits"]

_PROTECTED_SECONDS = 2 * 86_400.0
_RENEWAL_SECONDS = 300.0
_COMMITS_OF_A_PIN = 5000

PinnedCommits = Sequence[tuple[Repository, Sequence[str]]]
"""The commits of each repository whose objects a backup needs."""


def required_commits(inspected: Inspected, sources: ObjectSources) -> PinnedCommits:
    """Returns the commits whose objects a backup needs."""
    return [
        (
            repository,
            [
                commit.id
                for _, commit in inspected.commits(repository)
                if commit.metarange_id in required
            ],
        )
        for repository, _, required in sources.repositories
    ]


@contextmanager
def keeping_objects(
    core: Core, name: str, commits: PinnedCommits, sources: ObjectSources, reader: EntryReader
) -> Iterator[None]:
    """Keeps objects while the context is entered. Raises CommitExpired and Conflict if some may be
    gone already.
    """
    pins: list[Pin] = []
    protected: list[list[str]] = []
    stopped = threading.Event()

    def renew() -> None:
        while not stopped.wait(_RENEWAL_SECONDS):
            for pin in pins:
                with suppress(AnabranchError):  # it lasts for an hour
                    core.pins.renew(pin, MAX_PIN_SECONDS)

    thread = threading.Thread(target=renew, name="backup-pins", daemon=True)
    try:
        pins.extend(_pin(core, name, commits))  # those before an error are released, too
        for area in sources.areas:
            for entries in reader.read(area):
                protected.append(entries.addresses.to_pylist())
                protected[-1] += _files_of_tables(core, area, entries)
                core.restored.keep(name, protected[-1], _PROTECTED_SECONDS)
        thread.start()
        yield
    finally:
        stopped.set()
        if thread.is_alive():
            thread.join()
        for pin in pins:
            core.pins.release_after_reference(pin)
        for addresses in protected:
            core.restored.release(name, addresses)


def _files_of_tables(core: Core, area: AreaSource, entries: Entries) -> list[str]:
    """Returns the addresses of the files that staged records of tables lead to."""
    columns = (entries.paths, entries.stored, entries.kinds, entries.sizes)
    return [
        address
        for path, stored, kind, size in zip(*(each.to_pylist() for each in columns), strict=True)
        if is_record_path(path)
        for address in core.record_admission.leads_to(
            area.repository,
            path,
            Entry(address=stored, address_type=kind, size=size, mtime=0, checksum=""),
        )
    ]


def _pin(core: Core, name: str, commits: PinnedCommits) -> Iterator[Pin]:
    for repository, ids in commits:
        iterator = iter(ids)
        number = 0
        while batch := list(islice(iterator, _COMMITS_OF_A_PIN)):
            own = f"backup/{name}/{number}"
            yield core.pins.pin(repository, batch, name=own, seconds=MAX_PIN_SECONDS)
            number += 1
