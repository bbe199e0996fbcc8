"""Has lakeFS 1.84.0 commit and merge trees, and records their tables, commits and objects.

    python record.py LAKEFS_PROGRAM

`LAKEFS_PROGRAM` is lakeFS 1.84.0, built with `go build ./cmd/lakefs`. It is run over folders of its
own; the files beside this script are replaced. See README.md.
"""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from support.services.lakefs_program import (  # noqa: E402
    LakeFS,
    lakefs_environment,
    running_lakefs,
    set_up,
)

RAGGEDNESS = 50_000
CUTS = (120, 121, 400, 3000)
"""The objects of the first commit whose paths end a range."""

Changes = dict[str, Any]


def ends_range(path: str) -> bool:
    """Returns whether lakeFS ends a range after this path, by the FNV-1a hash of its bytes."""
    value = 0xCBF29CE484222325
    for byte in path.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value % RAGGEDNESS == 0


def ending(path: str) -> str:
    """Returns the first path with this beginning and a number that ends a range."""
    numbered = (f"{path}-{number}.parquet" for number in itertools.count())
    return next(filter(ends_range, numbered))


def staged(path: str, number: int, word: str = "") -> dict[str, Any]:
    """Returns an object as it is staged. One in seven has metadata with two keys, one in seven has
    one key, and one in seven has no content type.
    """
    checksum = f"{word}{number:028x}"
    fields: dict[str, Any] = {
        "path": path,
        "physical_address": f"local:///source/{number % 16:x}/{checksum}",
        "checksum": checksum,
        "size_bytes": number * 7919,
        "mtime": 1_700_000_000 + number,
    }
    if number % 7 != 3:
        fields["content_type"] = "text/csv" if number % 5 == 0 else "application/x-parquet"
    if number % 7 == 4:
        fields["metadata"] = {"source": f"ingest-{number % 10}", "Owner": "data"}
    elif number % 7 == 5:
        fields["metadata"] = {"grüße": "✓"}
    return fields


def first_commit() -> Changes:
    """3,240 objects: ranges of 121, 1, 279 and 2,600 objects and a last one."""
    paths = [f"events/day={number // 200:03}/part-{number:05}" for number in range(3200)]
    paths = [
        ending(path) if number in CUTS else f"{path}.parquet" for number, path in enumerate(paths)
    ]
    names = ["", "a b", "a+b", "a%2Fb", "q?x=1#y", "é/文", "\U0001f30a", "\uffff"]
    paths += [f"odd/{number}/{name}.txt" for number in range(2) for name in names]
    paths += [f"zz/{'deep/' * 40}{'x' * (number * 8)}" for number in range(1, 25)]
    paths.sort(key=str.encode)
    return {"put": [staged(path, number) for number, path in enumerate(paths)], "deleted": []}


def second_commit(first: Changes) -> Changes:
    """Changes in most ranges: the only object of one and the last of another are deleted, an added
    path ends a range, and others precede, follow and separate all.
    """
    paths = [each["path"] for each in first["put"]]
    added = [
        "a/first",
        f"{paths[CUTS[0]]}+",
        ending("events/day=015/part-03100+"),
        f"{paths[2500]}+",
        "zzz/last",
    ]
    replaced = [*paths[5:45:4], *paths[2000:2010], paths[CUTS[0]], paths[-1]]
    put = [staged(path, 10_000 + number, "beef") for number, path in enumerate([*added, *replaced])]
    deleted = [*paths[7:45:4], paths[CUTS[1]], paths[CUTS[2]], *paths[3190:3195]]
    return {"put": sorted(put, key=lambda each: each["path"].encode()), "deleted": deleted}


def third_commit(first: Changes, second: Changes) -> Changes:
    """Changes beside the second commit's, of which a few are equal to those."""
    paths = [each["path"] for each in first["put"]]
    free = [path for path in paths if path not in second["deleted"]]
    replaced = [*free[60:70], *free[2200:2205]]
    put = [staged(path, 20_000 + number, "cafe") for number, path in enumerate(replaced)]
    put += [each for each in second["put"] if each["path"] in ("a/first", paths[2004])]
    deleted = [*paths[80:90], paths[7], paths[CUTS[2]], *paths[500:503]]
    return {"put": sorted(put, key=lambda each: each["path"].encode()), "deleted": deleted}


def change(lakefs: LakeFS, branch: str, changes: Changes, message: str, **more: Any) -> None:
    for each in changes["put"]:
        lakefs.stage("sea", branch, **each)
    for path in changes["deleted"]:
        lakefs.remove("sea", branch, path)
    lakefs.commit("sea", branch, message, **more)


def main() -> None:
    """Records the trees of four commits and of a merge."""
    first = first_commit()
    second = second_commit(first)
    third = third_commit(first, second)
    empty = {"put": [], "deleted": [each["path"] for each in first["put"]]}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        database = {
            "LAKEFS_DATABASE_TYPE": "local",
            "LAKEFS_DATABASE_LOCAL_PATH": str(folder / "database"),
        }
        environment = lakefs_environment(folder, database)
        environment["LAKEFS_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES"] = "/source"
        set_up(sys.argv[1], environment)
        with running_lakefs(sys.argv[1], environment) as lakefs:
            lakefs.create("sea", "local://sea")
            metadata = {"run": "1", "ünï": "✓"}
            change(lakefs, "main", first, "first", metadata=metadata, date=1_710_000_000)
            lakefs.branch("sea", "dev")
            lakefs.branch("sea", "cleared")
            change(lakefs, "main", second, "second", date=1_710_000_100)
            change(lakefs, "dev", third, "third", date=1_710_000_200)
            change(lakefs, "cleared", empty, "empty", date=1_710_000_300)
            merge = {"message": "merge", "metadata": {}}
            lakefs.call("POST", "/repositories/sea/refs/dev/merge/main", merge)
            logs = [
                lakefs.pages(f"/repositories/sea/refs/{branch}/commits")
                for branch in ("main", "cleared")
            ]
        tables = HERE / "tables"
        shutil.rmtree(tables, ignore_errors=True)
        tables.mkdir()
        for path in (folder / "block" / "sea" / "_lakefs").iterdir():
            if len(path.name) == 64:
                shutil.copyfile(path, tables / path.name)
    commits = {commit["id"]: commit for log in logs for commit in log}
    text = json.dumps({"commits": [*commits.values()]}, indent=1, ensure_ascii=False)
    (HERE / "commits.json").write_text(f"{text}\n", encoding="utf-8")
    changes = {"first": first, "second": second, "third": third, "empty": empty}
    packed = gzip.compress(json.dumps(changes, ensure_ascii=False).encode(), 9, mtime=0)
    (HERE / "changes.json.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
