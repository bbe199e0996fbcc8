"""The partitions and keys of the key-value store, in lakeFS's layout."""

from __future__ import annotations

__all__ = [
    "ACTIONS",
    "BRANCH_ENDS",
    "CLEANUP",
    "EXPIRING_BRANCHES",
    "FINISHED_UPLOADS",
    "GRAVELER",
    "METADATA",
    "NOTIFICATIONS",
    "PROPOSALS",
    "PROTECTION",
    "PULLS_BY_BRANCHES",
    "RESTORED_BY",
    "RESTORED_REFS",
    "UPLOADS",
    "WORKSPACE_KEYS",
    "all_branches",
    "all_changed_paths",
    "all_commits",
    "all_tags",
    "all_tasks",
    "all_uploads",
    "all_workspaces",
    "branch",
    "changed_paths",
    "changed_paths_commit",
    "commit",
    "commit_authors",
    "proposal",
    "pull",
    "pull_by_branches",
    "pull_comment",
    "pull_reads",
    "pull_review",
    "repository",
    "repository_actions",
    "tag",
    "task",
    "upload",
    "upload_key",
    "upload_parts",
    "workspace",
    "workspace_reads",
]

GRAVELER = "graveler"
ACTIONS = "actions"
EXPIRING_BRANCHES = "anabranch-expiring-branches"
PROPOSALS = "anabranch-proposals"
CLEANUP = "cleanup-tokens"
METADATA = b"repo-metadata"
RESTORED_REFS = b"anabranch-restored-refs"
RESTORED_BY = b"anabranch-restored-by"
NOTIFICATIONS = b"anabranch-notifications"
BRANCH_ENDS = b"anabranch-branch-ends"
PROTECTION = b"settings/protected_branches"
PULLS_BY_BRANCHES = "pulls"
UPLOADS = "multiparts"
WORKSPACE_KEYS = "anabranch-workspace-keys"
FINISHED_UPLOADS = "multiparts-finished"


def repository(name: str) -> bytes:
    """Returns the key of a repository in the partition GRAVELER."""
    return b"repos/" + name.encode()


def repository_actions(name: str) -> bytes:
    """Returns the prefix of the keys, in the partition ACTIONS, of a repository's runs of hooks."""
    return f"repos/{name}/".encode("utf-8", "surrogateescape")


def branch(name: str) -> bytes:
    """Returns the key of a branch in its repository's partition."""
    return b"branches/" + name.encode("utf-8", "surrogateescape")


def tag(name: str) -> bytes:
    """Returns the key of a tag in its repository's partition."""
    return b"tags/" + name.encode("utf-8", "surrogateescape")


def commit(commit_id: str) -> bytes:
    """Returns the key of a commit in its repository's partition."""
    return b"commits/" + commit_id.encode("utf-8", "surrogateescape")


def commit_authors(commit_id: str) -> bytes:
    """Returns the key of the record of a commit's authors in its repository's partition."""
    return b"commit-authors/" + commit_id.encode("utf-8", "surrogateescape")


def proposal(partition: str, commit_id: str = "", name: str = "") -> bytes:
    """Returns the key, in the partition PROPOSALS, of a proposal of the repository with that
    partition; without a name or a commit, the prefix of all such keys.
    """
    stem = f"{partition}/{commit_id}/" if commit_id else f"{partition}/"
    return (stem + name).encode("utf-8", "surrogateescape")


def changed_paths(commit_id: str) -> bytes:
    """Returns the key of the record of a commit's changed paths in its repository's partition."""
    return b"changed-paths/" + commit_id.encode()


def changed_paths_commit(key: bytes) -> str:
    """Returns the id of the commit whose changed paths have this key."""
    return key.removeprefix(b"changed-paths/").decode("utf-8", "replace")


def all_changed_paths() -> tuple[bytes, bytes]:
    """Returns the bounds of the keys of all commits' changed paths."""
    return b"changed-paths/", b"changed-paths0"


def pull(pull_id: str) -> bytes:
    """Returns the key of a pull request in its repository's partition."""
    return b"pulls/" + pull_id.encode("utf-8", "surrogateescape")


def pull_by_branches(partition: str, source: str = "", destination: str = "") -> bytes:
    """Returns the key, in the partition PULLS_BY_BRANCHES, that points to the last pull request of
    two branches; without branches, the prefix of all such keys of a repository.
    """
    stem = f"repos/{partition}/".encode()
    return stem + f"{source}/{destination}".encode() if source else stem


def pull_comment(pull_id: str, comment_id: str) -> bytes:
    """Returns the key of a comment on a pull request in its repository's partition."""
    return f"pull-comments/{pull_id}/".encode() + comment_id.encode("utf-8", "surrogateescape")


def pull_review(pull_id: str, review_id: str) -> bytes:
    """Returns the key of a review of a pull request in its repository's partition."""
    return f"pull-reviews/{pull_id}/".encode() + review_id.encode("utf-8", "surrogateescape")


def all_branches() -> tuple[bytes, bytes]:
    """Returns the bounds of the branches' keys."""
    return b"branches/", b"branches0"


def all_tags() -> tuple[bytes, bytes]:
    """Returns the bounds of the tags' keys."""
    return b"tags/", b"tags0"


def all_commits() -> tuple[bytes, bytes]:
    """Returns the bounds of the commits' keys."""
    return b"commits/", b"commits0"


def task(task_id: str) -> bytes:
    """Returns the key of a task in its repository's partition."""
    return b"tasks/" + task_id.encode()


def all_tasks(prefix: str) -> tuple[bytes, bytes]:
    """Returns the bounds of the keys of tasks whose ids have this prefix."""
    return task(prefix), task(prefix) + b"\xff"


def upload(position: bytes) -> bytes:
    """Returns the key under which an upload is listed in its repository's partition."""
    return b"uploads/" + position


def upload_key(key: bytes) -> bytes:
    """Returns the listing position of an upload, given the key under which it is listed."""
    return key.removeprefix(b"uploads/")


def upload_parts(upload_id: str) -> str:
    """Returns the partition of the records of an upload's parts."""
    return f"multiparts-parts:{upload_id}"


def workspace(branch: str) -> bytes:
    """Returns the key of the workspace of a branch in its repository's partition."""
    return b"workspaces/" + branch.encode("utf-8", "surrogateescape")


def workspace_reads(branch: str) -> bytes:
    """Returns the key of what a workspace has read in its repository's partition."""
    return b"workspace-reads/" + branch.encode("utf-8", "surrogateescape")


def pull_reads(pull_id: str) -> bytes:
    """Returns the key of what was read for a pull request in its repository's partition."""
    return b"pull-reads/" + pull_id.encode("utf-8", "surrogateescape")


def all_workspaces() -> tuple[bytes, bytes]:
    """Returns the bounds of the workspaces' keys."""
    return b"workspaces/", b"workspaces0"


def all_uploads() -> tuple[bytes, bytes]:
    """Returns the bounds of the uploads' keys."""
    return b"uploads/", b"uploads0"
