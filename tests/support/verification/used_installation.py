"""For tests of verification: an installation in a folder in which every feature was used."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anabranch
from anabranch.catalog.objects.multipart_completion import WantedPart
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.library import Lake
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.tables.table_record import TableRecord
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.verification.report import VerificationReport
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.config.loader import load_settings
from anabranch.server.config.settings import Settings
from anabranch.server.installation.verification import open_verification
from support.verification.table_manifests import manifest, manifest_list

__all__ = ["commit", "open_lake", "settings_of", "use_every_feature", "verification_of"]


def settings_of(folder: Path) -> Settings:
    """Returns the settings of an installation whose audit log is beside its folder."""
    audit = str(folder.parent / "audit.log")
    return load_settings({"data": str(folder), "audit.file": audit}, {}, None).settings


def verification_of(folder: Path, **options: Any) -> VerificationReport:
    """Verifies an installation."""
    with open_verification(settings_of(folder)) as installation:
        return Verification(installation.stores, **options).run(installation.files)


def open_lake(folder: Path) -> Lake:
    """Opens the lake of an installation."""
    return anabranch.open(folder, committer="ada")


def commit(lake: Lake, branch: str, **files: bytes) -> str:
    """Commits files to a branch, and returns the id of the commit."""
    for path, content in files.items():
        lake.objects.upload("sea", branch, path, [content])
    return lake.commits.commit("sea", branch, message=f"commit of {branch}").id


def use_every_feature(lake: Lake, tmp_path: Path, prefix: str = "local://") -> None:
    """Uses the features of a lake, and collects garbage, with files below a folder. Storage
    namespaces begin with a prefix.
    """
    lake.repositories.create("sea", f"{prefix}sea")
    for number in range(3):
        files = {f"{number}/{each}": b"%d" % each * 40 for each in range(20)}
        commit(lake, "main", **files)
    lake.branches.create("sea", "dev", "main")
    commit(lake, "dev", new=b"of dev", large=b"l" * 200_000)
    commit(lake, "main", other=b"of main")
    lake.refs.merge("sea", "dev", "main")
    lake.tags.create("sea", "v1", "main")
    lake.tags.create("sea", "gone", "main")
    lake.tags.delete("sea", "gone")
    lake.objects.upload("sea", "main", "staged", [b"staged"])
    lake.objects.delete("sea", "main", "0/1")
    lake.transfers.move("sea", "main", "1/", "moved/1/")
    _keep_in_operations(lake)
    _upload_in_parts(lake)
    _commit_tables(lake)
    lake.branches.create("sea", "short", "main", expires_at=int(time.time()) + 9999)
    lake.workspaces.create(
        "sea", WorkspaceRequest(source="main", branch="ws-1"), access_key_id="AKIAW", key_check="c"
    )
    pull = lake.pulls.create("sea", source="dev", destination="main", title="t", author="ada")
    lake.pulls.create("sea", source="short", destination="main", title="t", author="ada")
    lake.pulls.update("sea", pull.id, status="closed")
    lake.branches.revert("sea", "dev", "dev")
    lake.branches.cherry_pick("sea", "dev", "dev~1")
    lake.protection.replace("sea", ["v*"])
    lake.repositories.set_metadata("sea", {"owner": "ada"})
    lake.refs_dumps.dump("sea")
    _share_with_others(lake, prefix)
    _collect(lake, tmp_path, prefix)


def _keep_in_operations(lake: Lake) -> None:
    """Leaves staged changes and commits that only operations keep."""
    lake.branches.create("sea", "lost", "main")
    commit(lake, "lost", only_here=b"of a deleted branch")
    lake.objects.upload("sea", "lost", "staged", [b"staged on a deleted branch"])
    lake.branches.delete("sea", "lost")
    lake.branches.create("sea", "again", "main")
    lake.objects.upload("sea", "again", "staged", [b"staged on a branch that comes back"])
    lake.branches.delete("sea", "again")
    lake.operations.undo("sea")


def _upload_in_parts(lake: Lake) -> None:
    """Completes an upload, and leaves another open."""
    done = lake.uploads.create("sea", "main", "parts")
    part = lake.uploads.put_part("sea", "main", "parts", done.id, 1, [b"p" * 1000])
    lake.completion.complete("sea", "main", "parts", done.id, [WantedPart(1, part.checksum, {})])
    begun = lake.uploads.create("sea", "main", "begun")
    lake.uploads.put_part("sea", "main", "begun", begun.id, 1, [b"p" * 1000])


def _commit_tables(lake: Lake) -> None:
    """Commits a table three times, of which the last time has not the file of the first, and stages
    it once more. Each commit has a file of its own.
    """
    lake.branches.create("sea", "tables", "main")
    areas = TableAreas(lake.core, lake.blocks)
    area = areas.create(lake.core.repositories.get("sea"), "_tables/t/table.json")
    at = area.location
    named: list[str] = []
    for number, name in enumerate(("old", "kept", "new", "staged")):
        areas.put(area, f"data/{name}", [f"file {name}".encode()])
        areas.put(area, f"metadata/m{number}.avro", [manifest([f"{at}/data/{name}"])])
        named.append(f"{at}/metadata/m{number}.avro")
        areas.put(area, f"metadata/l{number}.avro", [manifest_list(named[number > 1 :])])
        snapshots = [{"manifest-list": f"{at}/metadata/l{number}.avro"}]
        metadata = {"format-version": 2, "snapshots": snapshots}
        areas.put(area, f"metadata/{number}.json", [json.dumps(metadata).encode()])
        record = TableRecord(uuid="u", area=area.id, metadata=f"{at}/metadata/{number}.json")
        lake.objects.upload("sea", "tables", "_tables/t/table.json", [record.to_bytes()])
        if name != "staged":
            lake.commits.commit("sea", "tables", message=f"table {number}")


def _share_with_others(lake: Lake, prefix: str) -> None:
    """Refers to objects of other repositories, also of one that was deleted."""
    lake.repositories.create("left", f"{prefix}left")
    lake.objects.upload("left", "main", "a", [b"of a repository that is deleted"])
    lake.commits.commit("left", "main", message="m")
    lake.repositories.create("lake", f"{prefix}lake")
    for source in ("sea", "left"):
        lake.transfers.copy(
            *("lake", "main", "", f"{source}/"),
            source_reference="main",
            source_repository=source,
            shallow=True,
        )
    lake.commits.commit("lake", "main", message="shared")
    lake.images.build("one", "FROM lakefs://sea/main\n")
    lake.repositories.delete("left")


def _collect(lake: Lake, tmp_path: Path, prefix: str) -> None:
    """Lets commits expire, and removes what only they have."""
    lake.repositories.create("old", f"{prefix}old")
    lake.objects.upload("old", "main", "a", [b"old"])
    lake.commits.commit("old", "main", message="m")
    lake.objects.upload("old", "main", "a", [b"new"])
    lake.commits.commit("old", "main", message="m")
    lake.garbage_rules.set("old", RetentionRules(default_days=1))
    later = time.time() + 5 * 86_400
    collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=lambda: later)
    with collector.mark("old", grace_seconds=0, window_seconds=0) as run:
        run.sweep()
