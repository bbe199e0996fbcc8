"""A lake for failures, and its state as users see it: names, contents, texts, and no ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from failures.failing_stores import CountingBlocks, CountingStore, Fault
from failures.iceberg_tables import prepare_tables, tables_of

from anabranch.errors import NotFound
from anabranch.library import Lake
from anabranch.model.caller import Caller, acting_as
from anabranch.model.references.branch_ends import BranchEnd
from anabranch.model.references.workspace import Workspace
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.repositories.retention import RetentionRules
from anabranch.testing.lake import Clock

__all__ = ["Installation", "state"]

ALL = 1000
LAKEFILE = "FROM lakefs://sea/v1\nLABEL made=here\n"


class Installation:
    """Two stores with a fault, and a lake over them."""

    def __init__(self, cache: Path, fault: Fault) -> None:
        self.fault = fault
        self.clock = Clock()
        self.keyvalue = CountingStore(fault)
        self.blocks = CountingBlocks(fault, clock=self.clock)
        self._cache = cache
        self._open: list[Lake] = []
        self.lake = self.open()

    def open(self) -> Lake:
        """Returns another lake over the same stores, as of another server."""
        lake = Lake(
            self.keyvalue,
            self.blocks,
            cache_folder=self._cache,
            signing_secret=b"a secret of tests",
            clock=self.clock,
        )
        self._open.append(lake)
        return lake

    def close(self) -> None:
        """Closes all lakes over the stores: each maps tables into memory."""
        for lake in self._open:
            lake.close()

    def copy(self, fault: Fault) -> Installation:
        """Returns a copy of the stores, with a lake of its own."""
        other = Installation(self._cache, fault)
        self.keyvalue.copy_to(other.keyvalue)
        self.blocks.copy_to(other.blocks)
        return other


def prepare(installation: Installation) -> None:
    """Makes a little of everything."""
    lake = installation.lake
    lake.repositories.create("sea", "mem://sea", committer="ada")
    for path in ("a", "b", "dir/c", "dir/d"):
        lake.objects.upload("sea", "main", path, [path.encode() * 3])
    lake.commits.commit("sea", "main", message="First", committer="ada")
    lake.tags.create("sea", "v1", "main")
    for name in ("v1b", "gone"):
        lake.tags.create("sea", name, "main")
    for name in ("dev", "dev2", "extra"):
        lake.branches.create("sea", name, "main")
    lake.objects.upload("sea", "dev2", "f", [b"of dev2"])
    lake.commits.commit("sea", "dev2", message="Add f", committer="ada")
    lake.objects.upload("sea", "extra", "g", [b"of extra"])
    lake.commits.commit("sea", "extra", message="Add g", committer="ada")
    lake.objects.upload("sea", "extra", "g2", [b"not committed"])
    lake.branches.create("sea", "old", "main")
    lake.objects.upload("sea", "dev", "b", [b"changed"])
    lake.objects.delete("sea", "dev", "dir/c")
    lake.commits.commit("sea", "dev", message="Change b", committer="ada")
    lake.objects.upload("sea", "main", "e", [b"of main"])
    lake.commits.commit("sea", "main", message="Add e", committer="ada")
    lake.objects.upload("sea", "dev", "staged", [b"not committed"])
    lake.objects.delete("sea", "dev", "a")
    lake.objects.upload("sea", "old", "lost", [b"not committed"])
    lake.branches.delete("sea", "old")
    lake.tags.delete("sea", "gone")
    lake.branches.create("sea", "ends", "main", expires_at=int(installation.clock.now) + 60)
    prepare_merge(lake)
    lake.pulls.create("sea", title="Merge dev", source="dev", destination="main", author="ada")
    lake.repositories.set_metadata("sea", {"owner": "ada"})
    lake.protection.replace("sea", ["release*"])
    lake.branch_ends.replace("sea", [BranchEnd("tmp*", "1d", hidden=True)])
    lake.garbage_rules.set("sea", RetentionRules(default_days=7))
    lake.notifications.add("sea", "https://example.com/hook")
    upload = lake.uploads.create("sea", "dev", "parts")
    lake.uploads.put_part("sea", "dev", "parts", upload.id, 1, [b"p" * 100])
    workspace = WorkspaceRequest(source="main", purpose="Try", writable=["out/**"], branch="ws")
    lake.workspaces.create("sea", workspace)
    lake.objects.upload("sea", "ws", "out/0", [b"0"])
    with acting_as(Caller(workspace="ws")):
        lake.workspaces.checkpoint("sea", "ws", "zero", committer="ada")
    lake.images.build("image", LAKEFILE, creator="ada")
    prepare_tables(lake)
    lake.repositories.create("pond", "mem://pond", committer="ada")
    lake.repositories.create("lost", "mem://lost", committer="ada")
    lake.objects.upload("lost", "main", "a", [b"not committed"])
    lake.branches.create("lost", "ends", "main", expires_at=int(installation.clock.now) + 10**6)
    lake.repositories.delete("lost")
    lake.usage.flush()


def prepare_merge(lake: Lake) -> None:
    """Merges a pull request, and resets a prefix of its source."""
    for name in ("side", "destination"):
        lake.branches.create("sea", name, "main")
    lake.objects.upload("sea", "side", "s", [b"of side"])
    lake.commits.commit("sea", "side", message="Add s", committer="ada")
    merged = lake.pulls.create(
        "sea", title="Merge side", source="side", destination="destination", author="ada"
    )
    lake.pulls.merge("sea", merged.id, committer="ada")
    for path in ("thrown/away", "thrown/too"):
        lake.objects.upload("sea", "side", path, [b"not committed"])
    lake.branches.reset("sea", "side", "common_prefix", "thrown/")


def state(lake: Lake) -> dict[str, Any]:
    """Returns what users see of all repositories, every object read."""
    repositories = lake.repositories.list(amount=ALL).items
    return {
        "repositories": {each.id: _repository(lake, each.id) for each in repositories},
        "deleted": [each.repository.id for each in lake.repositories.deleted()],
        "tables": tables_of(lake),
        "images": sorted(image.tag for image in lake.images.list(amount=ALL).items),
    }


def _repository(lake: Lake, name: str) -> dict[str, Any]:
    branches = lake.branches.list(name, amount=ALL, show_hidden=True).items
    tags = lake.tags.list(name, amount=ALL).items
    pulls = lake.pulls.list(name, amount=ALL).items
    uploads = lake.uploads.list(name, amount=ALL).items
    targets = lake.notifications.list(name)
    return {
        "metadata": lake.repositories.metadata(name),
        "branches": {each.id: _branch(lake, name, each) for each in branches},
        "tags": {each.id: _content(lake, name, each.id) for each in tags},
        "pulls": sorted(_pull(lake, name, each) for each in pulls),
        "protected": sorted(lake.protection.rules(name).patterns),
        "ends": [each.pattern for each in lake.branch_ends.rules(name).rules],
        "rules": _rules(lake, name),
        "notifications": sorted(each.url for each in targets),
        "uploads": sorted(_upload(lake, name, each) for each in uploads),
        "undo_days": lake.operations.undo_days(name),
        "workspaces": sorted(
            _workspace(each.workspace) for each in lake.workspaces.list(name, amount=ALL).items
        ),
    }


def _branch(lake: Lake, repository: str, branch: Any) -> dict[str, Any]:
    name = branch.id
    changes = lake.branches.changes(repository, name, amount=ALL).items
    log = lake.commits.log(repository, name, amount=ALL).items
    return {
        "hidden": branch.hidden,
        "expires_at": branch.expires_at,
        "objects": _content(lake, repository, name),
        "committed": _content(lake, repository, f"{name}@"),
        "changes": sorted((each.path, each.kind) for each in changes),
        "messages": [each.message for each in log],
    }


def _content(
    lake: Lake, repository: str, reference: str
) -> dict[str, tuple[bytes, dict[str, str]]]:
    """Returns the objects at a reference by their paths: their bytes and their metadata."""
    objects = lake.objects.listing(repository, reference, amount=ALL).items
    content = {}
    for each in objects:
        body = b"".join(lake.objects.open(repository, reference, each.path).chunks())
        # records of tables have random names, and are compared by what they name
        is_record = each.path.startswith("_tables/")
        content[each.path] = (b"" if is_record else body, dict(each.entry.metadata))
    return content


def _pull(lake: Lake, repository: str, pull: Any) -> tuple[str, ...]:
    reviews = lake.reviews.list(repository, pull.id, amount=ALL).items
    comments = lake.reviews.comments(repository, pull.id, amount=ALL).items
    asked = lake.reviewers.asked(repository, pull)
    texts = [f"{each.state} {each.text}" for each in reviews]
    texts += [each.text for each in comments]
    texts += [str(each.reviewer) for each in asked]
    return (pull.title, pull.description, str(pull.status), pull.source, *sorted(texts))


def _workspace(workspace: Workspace) -> tuple[str, ...]:
    # a proposal that fails may leave the checkpoint that it would have proposed
    labels = [point.label for point in workspace.checkpoints if "proposal" not in point.label]
    return (workspace.purpose, *labels)


def _rules(lake: Lake, repository: str) -> str:
    try:
        return str(lake.garbage_rules.get(repository))
    except NotFound:
        return ""


def _upload(lake: Lake, repository: str, upload: Any) -> tuple[str, int]:
    _, parts = lake.uploads.parts(repository, upload.branch, upload.path, upload.id)
    return upload.path, len(parts)
