"""Makes a lakeFS 1.84.0 installation and records its database, its objects and its responses.

    python record.py LAKEFS_PROGRAM

`LAKEFS_PROGRAM` is lakeFS 1.84.0, built with `go build ./cmd/lakefs`. It is run over a PostgreSQL
server of its own and a folder; the files beside this script are replaced. See README.md.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

import boto3  # noqa: E402
import requests  # noqa: E402
from support.histories.described_installation import describe  # noqa: E402
from support.services.lakefs_program import (  # noqa: E402
    HOST,
    LakeFS,
    lakefs_environment,
    running_lakefs,
    set_up,
    wait_until,
)
from support.services.postgres import postgres_programs, running_cluster  # noqa: E402
from support.services.recorded_lakefs import ACCESS_KEY_ID, SECRET_ACCESS_KEY  # noqa: E402

ACTION = """name: refuse
on:
  pre-commit:
    branches: [blocked]
hooks:
  - id: refuse
    type: lua
    properties:
      script: error("no commits here")
"""


def make_sea(lakefs: LakeFS) -> None:
    """Most kinds of records: histories, tombstones, merges, rules, pull requests, tasks."""
    root = "/repositories/sea"
    lakefs.create("sea", "local://sea")
    for number in range(40):
        lakefs.put("sea", "main", f"maps/{number:02}.txt", f"map {number}\n" * (number + 1))
    first = lakefs.commit("sea", "main", "Draw maps")
    lakefs.branch("sea", "dev")
    lakefs.branch("sea", "feature-1")
    lakefs.branch("sea", "hidden", hidden=True)
    for number in range(5):
        lakefs.put("sea", "feature-1", f"logs/2024/{number}.txt", f"day {number}\n")
    lakefs.put("sea", "feature-1", "maps/01.txt", "a better map\n")
    picked = lakefs.commit("sea", "feature-1", "Keep a log")
    lakefs.put("sea", "main", "maps/02.txt", "redrawn\n")
    lakefs.remove("sea", "main", "maps/03.txt")
    lakefs.commit("sea", "main", "Redraw", date=1_700_000_000)
    lakefs.call("POST", f"{root}/refs/feature-1/merge/main", {"message": "Merge the log"})
    lakefs.put("sea", "dev", "maps/01.txt", "another map\n")
    lakefs.commit("sea", "dev", "Differ")
    lakefs.call("POST", f"{root}/refs/dev/merge/main", {"strategy": "source-wins"})
    lakefs.put("sea", "main", "mistake.txt", "oops\n")
    mistake = lakefs.commit("sea", "main", "A mistake")
    lakefs.call("POST", f"{root}/branches/main/revert", {"ref": mistake, "parent_number": 0})
    lakefs.branch("sea", "release-1", first)
    lakefs.call("POST", f"{root}/branches/release-1/cherry-pick", {"ref": picked})
    for tag, ref in (("v1", first), ("v2", "main"), ("v2.3-rc_1", "main~1")):
        lakefs.call("POST", f"{root}/tags", {"id": tag, "ref": ref})
    # uncommitted: added, changed, removed, and removed again after it was added
    lakefs.put("sea", "dev", "draft/new.txt", "new\n")
    lakefs.put("sea", "dev", "maps/05.txt", "changed\n")
    lakefs.remove("sea", "dev", "maps/06.txt")
    lakefs.put("sea", "dev", "draft/gone.txt", "gone\n")
    lakefs.remove("sea", "dev", "draft/gone.txt")
    lakefs.put("sea", "hidden", "hidden.txt", "hidden\n")
    lakefs.call("POST", f"{root}/metadata", {"metadata": {"owner": "navigators", "depth": "11 km"}})
    rules = {
        "default_retention_days": 21,
        "branches": [{"branch_id": "main", "retention_days": 28}],
    }
    lakefs.call("PUT", f"{root}/settings/gc_rules", rules)
    opened = {
        "title": "Take the release",
        "source_branch": "release-1",
        "destination_branch": "main",
    }
    lakefs.call("POST", f"{root}/pulls", {**opened, "description": "Reviewed on board"})
    closed = lakefs.call(
        "POST", f"{root}/pulls", {**opened, "title": "Never mind", "source_branch": "dev"}
    )
    lakefs.call("PATCH", f"{root}/pulls/{closed['id']}", {"status": "closed"})
    # a hook that refuses leaves the changes of the branch in a sealed staging area
    lakefs.branch("sea", "blocked")
    lakefs.put("sea", "blocked", "_lakefs_actions/refuse.yaml", ACTION)
    lakefs.put("sea", "blocked", "sealed.txt", "sealed\n")
    with suppress(requests.HTTPError):
        lakefs.commit("sea", "blocked", "Refused")
    lakefs.put("sea", "blocked", "after.txt", "after\n")
    task = lakefs.call("POST", f"{root}/dump")["id"]
    wait_until(lambda: lakefs.call("GET", f"{root}/dump", task_id=task)["done"])
    patterns = [{"pattern": "main"}, {"pattern": "release-*"}]
    lakefs.call("PUT", f"{root}/settings/branch_protection", patterns)


def make_others(lakefs: LakeFS) -> None:
    """A read-only repository, one in an oddly spelled namespace, an empty one, a deleted one."""
    lakefs.create("archive", "local://archive", read_only=True)
    lakefs.put("archive", "main", "old.txt", "old\n", force="true")
    lakefs.commit("archive", "main", "Archive", force=True)
    lakefs.create("odd", "local:///odd//spelling/", default_branch="trunk")
    for name in ("a b/ü.txt", "a%2Fb", "line\nbreak", "folder/", "q?x=1#y", "é/文.txt"):
        lakefs.put("odd", "trunk", name, f"{name}\n")
    lakefs.commit("odd", "trunk", "Odd names")
    lakefs.put("odd", "trunk", "tail ", "uncommitted\n")
    lakefs.create("empty", "local://empty")
    lakefs.create("gone", "local://gone")
    lakefs.put("gone", "main", "a.txt", "a\n")
    lakefs.call("PUT", "/repositories/gone/settings/branch_protection", [{"pattern": "main"}])
    lakefs.call("DELETE", "/repositories/gone")


def begin_upload() -> None:
    """An upload in parts that is never completed."""
    s3 = boto3.client(
        "s3",
        endpoint_url=f"http://{HOST}",
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=SECRET_ACCESS_KEY,
        region_name="us-east-1",
    )
    upload = s3.create_multipart_upload(Bucket="sea", Key="dev/parts.bin")["UploadId"]
    s3.upload_part(Bucket="sea", Key="dev/parts.bin", UploadId=upload, PartNumber=1, Body=b"part")


def compressed(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def pack(folder: Path) -> bytes:
    """Returns a tar of a folder, without owners and times."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                info = tarfile.TarInfo(str(path.relative_to(folder)))
                info.size = path.stat().st_size
                tar.addfile(info, io.BytesIO(path.read_bytes()))
    return compressed(packed.getvalue())


def main() -> None:
    """Makes and records the installation."""
    with running_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        database = cluster.make_database()
        environment = lakefs_environment(
            Path(folder),
            {
                "LAKEFS_DATABASE_TYPE": "postgres",
                "LAKEFS_DATABASE_POSTGRES_CONNECTION_STRING": cluster.url(database),
            },
        )
        set_up(sys.argv[1], environment)
        with running_lakefs(sys.argv[1], environment) as lakefs:
            make_sea(lakefs)
            make_others(lakefs)
            begin_upload()
        # until it is restarted, lakeFS shows the commit that was picked with other metadata
        with running_lakefs(sys.argv[1], environment) as lakefs:
            described = describe(lakefs)
        programs = postgres_programs()
        assert programs is not None
        dump = subprocess.run(
            [programs / "pg_dump", "--no-owner", "--no-privileges", cluster.url(database)],
            check=True,
            capture_output=True,
        ).stdout
        assert folder.encode() not in dump
        (HERE / "database.sql.gz").write_bytes(compressed(dump))
        (HERE / "blocks.tar.gz").write_bytes(pack(Path(folder) / "block"))
        (HERE / "expected.json.gz").write_bytes(
            compressed(json.dumps(described, ensure_ascii=False, sort_keys=True).encode())
        )


if __name__ == "__main__":
    main()
