"""Faults for tests of verification, each planted in an installation that is not open: functions of
its folder, by the kind of finding that each must cause.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from anabranch import _kernel as kernel
from anabranch.blocks.local.journal.record_format import Record, encode, encode_start
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.snapshot import SQLiteSnapshot
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.uploads.upload import Upload
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.uploads import upload_from

__all__ = ["FAULTS", "Fault", "opened_store"]

Fault = Callable[[Path], object]

_STRAY = "sea-x:00000000-0000-4000-8000-000000000000"
_DISTANT = int(time.time()) + 10**8


@contextmanager
def opened_store(folder: Path) -> Iterator[SQLiteStore]:
    """Yields the key-value store of an installation."""
    with closing(SQLiteStore(folder / "metadata" / "metadata.db")) as store:
        yield store


def _write(folder: Path, *writes: Write) -> None:
    with opened_store(folder) as store:
        assert store.apply(writes)


def _partitions(folder: Path) -> list[str]:
    with closing(SQLiteSnapshot(folder / "metadata" / "metadata.db")) as snapshot:
        return [each.partition.decode() for each in snapshot.partitions()]


def _sea(folder: Path) -> str:
    with opened_store(folder) as store:
        raw = store.get(keys.GRAVELER, keys.repository("sea"))
    return references.repository_from(raw or b"").partition


def _branch(folder: Path, name: str = "main") -> Branch:
    with opened_store(folder) as store:
        return references.branch_from(store.get(_sea(folder), keys.branch(name)) or b"")


def _commits(folder: Path) -> list[Commit]:
    with opened_store(folder) as store:
        rows = list(store.scan(_sea(folder), *keys.all_commits()))
    return sorted((references.commit_from(raw) for _, raw in rows), key=lambda c: c.generation)


def _replace_commit(folder: Path, commit: Commit, **changes: object) -> None:
    changed = msgspec.structs.replace(commit, **changes)
    raw = references.commit_bytes(changed)
    _write(folder, Write(_sea(folder), keys.commit(commit.id), raw))


def _replace_branch(folder: Path, name: str, **changes: object) -> None:
    changed = msgspec.structs.replace(_branch(folder, name), **changes)
    _write(folder, Write(_sea(folder), keys.branch(name), references.branch_bytes(changed)))


def _upload(folder: Path) -> Upload:
    with opened_store(folder) as store:
        return next(upload_from(raw) for _, raw in store.scan(keys.UPLOADS))


def _operation_rows(folder: Path) -> tuple[str, Sequence[tuple[bytes, bytes]]]:
    partition = f"anabranch-operations:{_sea(folder)}"
    with opened_store(folder) as store:
        return partition, list(store.scan(partition, b"by-reference/", b"by-reference0"))


def _flip(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def _tables(folder: Path, kind: bytes) -> list[Path]:
    return [
        path
        for path in sorted((folder / "block" / "sea" / "_lakefs").iterdir())
        if len(path.name) == 64 and kernel.table_properties(str(path))["type"] == kind
    ]


def _head_table(folder: Path) -> Path:
    """Returns the metarange of the head of `main`."""
    head = _branch(folder).commit_id
    tree = next(each.metarange_id for each in _commits(folder) if each.id == head)
    return folder / "block" / "sea" / "_lakefs" / tree


def _head_range(folder: Path) -> Path:
    head = _head_table(folder)
    tree = kernel.Tables().tree(head.name, lambda name: str(head.with_name(name)))
    return head.with_name(tree.ranges()[0].id)


def _object(folder: Path, size: int = 40) -> Path:
    objects = (folder / "block" / "sea" / "data").rglob("*")
    return next(path for path in sorted(objects) if path.is_file() and path.stat().st_size == size)


def _table_file(folder: Path, name: str) -> Path:
    """Returns a file of the table: `old` is one that only its first commit needs."""
    (path,) = (folder / "block" / "sea" / "tables").glob(f"*/{name}")
    return path


def _damage_database(folder: Path) -> None:
    with opened_store(folder) as store:  # its log is emptied when it is closed
        store.apply([Write("unused", b"%d" % n, b"x" * 2000) for n in range(200)])
    path = folder / "metadata" / "metadata.db"
    content = bytearray(path.read_bytes())
    page = content.index(b"x" * 500, len(content) // 2) // 4096 * 4096
    content[page : page + 8] = b"\xff" * 8
    path.write_bytes(content)


def _exchange_ranges(folder: Path) -> None:
    """Gives a range the content of another one."""
    head = _head_range(folder)
    other = next(path for path in _tables(folder, b"ranges") if path != head)
    head.write_bytes(other.read_bytes())


def _describe(folder: Path, *, count: int = 0, last: bytes = b"") -> None:
    """Writes a metarange that says something else of a range than what it has, and a commit."""
    head = _head_table(folder)
    tree = kernel.Tables().tree(head.name, lambda name: str(head.with_name(name)))
    each = tree.ranges()[-1]
    wrong = kernel.RangeInfo(
        each.id, each.min_key, each.max_key + last, each.count + count, each.estimated_size
    )
    _commit_metarange(folder, [wrong])


def _overlap(folder: Path) -> None:
    """Writes a metarange whose second range begins with its first, and a commit with it."""
    head = _head_table(folder)
    tree = kernel.Tables().tree(head.name, lambda name: str(head.with_name(name)))
    first, second = tree.ranges()[:2]
    early = kernel.RangeInfo(
        second.id, first.min_key, second.max_key, second.count, second.estimated_size
    )
    _commit_metarange(folder, [first, early])


def _commit_metarange(folder: Path, infos: Sequence[kernel.RangeInfo]) -> None:
    tree = kernel.write_metarange(infos, str(_head_table(folder).parent))
    commit = Commit(
        id=kernel.commit_id("ada", "planted", tree, 1_700_000_000, {}, []),
        committer="ada",
        message="planted",
        creation_date=1_700_000_000,
        metarange_id=tree,
    )
    raw = references.commit_bytes(commit)
    _write(folder, Write(_sea(folder), keys.commit(commit.id), raw))


def _damage_journal(folder: Path) -> None:
    """Leaves a segment of a crashed process, of which a durable record is damaged."""
    identity = bytes(range(8))
    records = [Record(f"sea/data/lost-{n}", b"\1" * 16, b"content") for n in range(3)]
    data = encode_start(identity, 1)
    for record in records:
        data += b"".join(encode(identity, 1, len(data), record))
    path = folder / "block" / ".anabranch-temporary" / "journals"
    path.mkdir(parents=True, exist_ok=True)
    (path / f"{identity.hex()}.journal-1").write_bytes(data)


def _alter_audit_log(folder: Path) -> None:
    path = folder.parent / "audit.log"
    path.write_bytes(path.read_bytes().replace(b'"number":2', b'"number":7'))


def _remove_audit_line(folder: Path) -> None:
    path = folder.parent / "audit.log"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[3:]))


def _change_operation_row(folder: Path) -> None:
    partition, rows = _operation_rows(folder)
    _write(folder, Write(partition, rows[0][0], b"0" * 64))


def _remove_operation_row(folder: Path) -> None:
    partition, rows = _operation_rows(folder)
    _write(folder, Write(partition, rows[0][0], None))


def _forge_operation_row(folder: Path) -> None:
    partition, rows = _operation_rows(folder)
    _write(folder, Write(partition, rows[0][0][:-4] + b"beef", rows[0][1]))


def _leave_out_path(folder: Path) -> None:
    """Gives a commit's record in the history index what another commit has changed."""
    sea = _sea(folder)
    commits = [each for each in _commits(folder) if len(each.parents) == 1]
    first = kernel.encode_changed_paths(commits[-1].id, kernel.changed_paths_between(*_no_trees()))
    _write(folder, Write(sea, keys.changed_paths(commits[-1].id), first))


def _no_trees() -> tuple[kernel.Tree, kernel.Tree]:
    pool = kernel.Tables()
    empty = pool.tree(kernel.EMPTY_TREE_ID, lambda _: "")
    return empty, empty


FAULTS: Mapping[str, Sequence[Fault]] = {
    "database_damaged": [_damage_database],
    "record_unreadable": [
        lambda folder: _write(folder, Write(_sea(folder), keys.branch("dev"), b"\xff")),
        lambda folder: _write(folder, Write(_sea(folder), keys.tag("v1"), b"\xff")),
        lambda folder: _write(folder, Write(_branch(folder).tokens[0], b"staged", b"\xff")),
        lambda folder: _write(folder, Write("anabranch-pins", b"x/y", b"{")),
        lambda folder: _write(folder, Write("auth", b"users/ada", b"\xff")),
        lambda folder: _write(
            folder, Write(f"anabranch-operations:{_sea(folder)}", b"log/0", b"[]")
        ),
    ],
    "commit_id": [
        lambda folder: _replace_commit(folder, _commits(folder)[1], message="another"),
        lambda folder: _replace_commit(folder, _commits(folder)[2], parents=()),
    ],
    "parent_missing": [
        lambda folder: _write(
            folder, Write(_sea(folder), keys.commit(_commits(folder)[1].id), None)
        )
    ],
    "commit_generation": [
        lambda folder: _replace_commit(folder, _commits(folder)[2], generation=1)
    ],
    "commit_missing": [
        lambda folder: _replace_branch(folder, "dev", commit_id="0" * 64),
        lambda folder: _write(
            folder, Write(_sea(folder), keys.commit(_branch(folder).commit_id), None)
        ),
    ],
    "expiry_missing": [
        lambda folder: _replace_branch(folder, "dev", expires_at=_DISTANT),
    ],
    "workspace_without_branch": [
        lambda folder: _write(folder, Write(_sea(folder), keys.branch("ws-1"), None))
    ],
    "workspace_key_stray": [
        lambda folder: _write(folder, Write(_sea(folder), keys.workspace("ws-1"), None))
    ],
    "pull_request_missing": [
        lambda folder: _write(
            folder,
            Write(
                keys.PULLS_BY_BRANCHES,
                keys.pull_by_branches(_sea(folder), "no", "main"),
                b"\x0a\x03xyz",
            ),
        )
    ],
    "operation_index": [_change_operation_row, _remove_operation_row],
    "operation_missing": [_forge_operation_row],
    "area_orphaned": [
        lambda folder: _write(folder, Write(_STRAY, b"a", kernel.encode_staged(b"a", None)))
    ],
    "area_shared": [
        lambda folder: _replace_branch(folder, "dev", staging_token=_branch(folder).staging_token)
    ],
    "area_condemned": [
        lambda folder: _write(
            folder, Write(keys.CLEANUP, _branch(folder).staging_token.encode(), b"%d" % _DISTANT)
        )
    ],
    "upload_missing": [
        lambda folder: _write(folder, Write(_sea(folder), keys.upload(b"main/x\0gone"), b""))
    ],
    "upload_unlisted": [
        lambda folder: _write(
            folder,
            Write(
                _sea(folder),
                keys.upload(f"{_upload(folder).key}\0{_upload(folder).id}".encode()),
                None,
            ),
        )
    ],
    "upload_lost": [
        lambda folder: next(
            (folder / "block" / ".anabranch-temporary" / "uploads").glob(_upload(folder).id)
        ).rename(folder / "taken-away"),
    ],
    "parts_orphaned": [
        lambda folder: _write(folder, Write("multiparts-parts:gone", b"00001", b"md5 crc32 x"))
    ],
    "sweep_lasting": [
        lambda folder: _write(
            folder,
            Write("anabranch-sweeps", b"sweeps", json.dumps({"s": _DISTANT}).encode()),
        )
    ],
    "tombstones_orphaned": [
        lambda folder: _write(folder, Write("anabranch-sweeps/gone", b"local://sea/data/x", b"-"))
    ],
    "pin_lasting": [
        lambda folder: _write(
            folder,
            Write(
                "anabranch-pins",
                f"{_sea(folder)}/x".encode(),
                json.dumps({"commits": [], "until": _DISTANT}).encode(),
            ),
        )
    ],
    "history_index": [
        lambda folder: _write(
            folder, Write(_sea(folder), keys.changed_paths(_commits(folder)[1].id), b"\xff")
        ),
        lambda folder: _write(folder, Write(_sea(folder), keys.changed_paths("0" * 64), b"x")),
        _leave_out_path,
    ],
    "table_missing": [
        lambda folder: _head_table(folder).unlink(),
        lambda folder: _head_range(folder).unlink(),
    ],
    "table_damaged": [
        lambda folder: _flip(_head_range(folder), 30),
        lambda folder: _flip(_head_table(folder), 20),
        _exchange_ranges,
        _overlap,
        lambda folder: _head_range(folder).write_bytes(_head_range(folder).read_bytes()[:-1]),
    ],
    "range_description": [
        lambda folder: _describe(folder, count=1),
        lambda folder: _describe(folder, last=b"z"),
    ],
    "object_missing": [
        lambda folder: _object(folder).unlink(),
        lambda folder: _object(folder, len(b"staged on a deleted branch")).unlink(),
        lambda folder: next((folder / "block" / "left" / "data").rglob("*/*")).unlink(),
        lambda folder: _table_file(folder, "data/old").unlink(),
        lambda folder: _table_file(folder, "metadata/l0.avro").unlink(),
        lambda folder: _table_file(folder, "data/staged").unlink(),
    ],
    "object_size": [lambda folder: _object(folder).write_bytes(b"x" * 39)],
    "object_damaged": [
        lambda folder: _flip(_object(folder), 3),
        lambda folder: _flip(_object(folder, 200_000), 150_000),
    ],
    "journal_damaged": [_damage_journal],
    "audit_chain": [_alter_audit_log, _remove_audit_line],
}
