"""Delta Lake: the log of a table, of which one file at a time is damaged.

Readers either refuse the table or mean the same by it as the library of the format, where this
accepts it, too.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fuzz.shapes import JSON_LINES
from fuzz.target import Refused, Target, outcome
from fuzz.targets.memory_objects import PLACE, MemoryObjects, seed_of

from anabranch.tables.delta.log_files import LOG_FOLDER, LogFiles
from anabranch.tables.delta.snapshot import read_delta_table, read_delta_versions
from anabranch.tables.live_rows.live_table import LiveTable
from anabranch.versioning.strategies.delta.commit import parse_commit
from anabranch.versioning.strategies.delta.table_state import TableState, read_state

__all__ = ["TARGETS"]


@cache
def _delta() -> Mapping[str, bytes]:
    """The log of a table, by its paths: a commit, a checkpoint of it, and another commit."""
    log = {
        f"{0:020}.json": seed_of("delta_commit", "first.json"),
        f"{0:020}.checkpoint.parquet": seed_of("delta_checkpoint", "checkpoint.parquet"),
        f"{1:020}.json": seed_of("delta_commit", "second.json"),
    }
    return {f"table/{LOG_FOLDER}{name}": content for name, content in log.items()}


def _read_delta(replaced: str, data: bytes, *, checkpoint: bool) -> LiveTable | Refused:
    log = {
        path: content
        for path, content in _delta().items()
        if checkpoint or "checkpoint" not in path
    }
    objects = MemoryObjects({**log, f"table/{LOG_FOLDER}{replaced}": data})
    outcome(read_delta_versions, objects, PLACE, 10)
    for version in (0, 1):
        outcome(_state_for_merges, objects, version)
    return outcome(read_delta_table, objects, PLACE)


def _state_for_merges(objects: MemoryObjects, version: int) -> TableState:
    log = LogFiles(objects, f"table/{LOG_FOLDER}")
    state = read_state(log, version)
    for number in (0, 1):
        commit = parse_commit("table", number, log.commit(number))
        list(state.changes(commit))
        hash((commit.operation, *map(state.partition, (*commit.adds, *commit.removes))))
    hash((state.isolation_level, state.has_commit_timestamps))
    return state


def check_commit(data: bytes) -> None:
    found = _read_delta(f"{0:020}.json", data, checkpoint=False)
    other = _read_delta(f"{1:020}.json", data, checkpoint=True)
    for table in (found, other):
        assert isinstance(table, Refused) or len(table.files) <= len(data) + 10
    if isinstance(found, Refused):
        return
    theirs = _paths_of_deltalake(data)
    assert theirs is None or theirs == sorted(each.path for each in found.files)


def _paths_of_deltalake(first: bytes) -> list[str] | None:
    """Returns the paths of the files that the library finds, None if it refuses the table."""
    from deltalake import DeltaTable

    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        log = folder / LOG_FOLDER
        log.mkdir()
        (log / f"{0:020}.json").write_bytes(first)
        (log / f"{1:020}.json").write_bytes(_delta()[f"table/{LOG_FOLDER}{1:020}.json"])
        found = DeltaTable(folder).file_uris()
        return sorted(f"table/{uri.removeprefix(f'{folder}/')}" for uri in found)
    except Exception:  # noqa: BLE001  it raises errors of many classes
        return None
    finally:
        shutil.rmtree(folder)


def check_checkpoint(data: bytes) -> None:
    found = _read_delta(f"{0:020}.checkpoint.parquet", data, checkpoint=True)
    assert isinstance(found, Refused) or len(found.files) <= len(data) + 10


TARGETS = (
    Target(
        "delta_commit",
        check_commit,
        tokens=(
            *(b'{"remove":{"path":"a"}}', b"\n", b"deletionVector", b"storageType", b"u", b"i"),
            *(b"readerFeatures", b"columnMapping", b"delta.columnMapping.mode", b"name", b"id"),
            *(b"decimal(38,38)", b"struct", b"schemaString", b"partitionValues", b"%2e%2e/", b"%"),
        ),
        shape=JSON_LINES,
        inputs=80,
    ),
    Target("delta_checkpoint", check_checkpoint, tokens=(b"PAR1", b"add", b"path", b"SNAPPY")),
)
