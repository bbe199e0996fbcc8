"""Planted faults of what is on a disk."""

from __future__ import annotations

from simulation.planted.plant import Plant, needs
from simulation.world import World

__all__ = ["PLANTED"]

_JOURNAL = "anabranch.blocks.local.journal"
_QUARANTINE = "anabranch.blocks.local.quarantine"


@needs("folder")
def skipped_sync(world: World) -> None:
    """A small block is referred to before the journal is synced that has it."""
    world.replace(f"{_JOURNAL}.segment.sync_data", lambda _descriptor: None)


@needs("folder")
def skipped_folder_sync(world: World) -> None:
    """The name of a new journal is not synced."""
    world.replace(f"{_JOURNAL}.segment.sync_folder", lambda _path: None)


@needs("folder")
def unsynced_checkpoint(world: World) -> None:
    """A journal is used again before the files of its blocks are synced."""
    world.replace(f"{_JOURNAL}.journal.sync_files", lambda _paths, _descriptor: None)


@needs("folder")
def table_not_durable(world: World) -> None:
    """A commit refers to small tables before they are durable."""
    tables = "anabranch.versioning.trees.unsynced_tables.UnsyncedTables"
    world.replace(f"{tables}.make_durable", lambda _self: None)


@needs("folder")
def seal_is_too_late(world: World) -> None:
    """What may be durable later is lost although a write that came after it is durable."""
    world.store.is_ordered = False


@needs("folder")
def commit_is_durable_later(world: World) -> None:
    """A commit is acknowledged before it is durable, as what is only prepared may be."""
    world.replace("simulation.folder.may_be_durable_later", lambda: True)


@needs("garbage")
def unsynced_quarantine(world: World) -> None:
    """An object is removed into quarantine, whose file is not synced, but in a journal alone."""
    world.replace(f"{_QUARANTINE}.sync_files", lambda _paths, _descriptor: None)


@needs("garbage")
def unsynced_restoration(world: World) -> None:
    """An object that was brought back loses its name in quarantine before the other is synced."""
    world.replace(f"{_QUARANTINE}.sync_folder", lambda _path: None)


PLANTED: tuple[Plant, ...] = (
    skipped_sync,
    skipped_folder_sync,
    unsynced_checkpoint,
    table_not_durable,
    seal_is_too_late,
    commit_is_durable_later,
    unsynced_quarantine,
    unsynced_restoration,
)
