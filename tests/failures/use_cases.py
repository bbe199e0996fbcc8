"""The use cases of a lake that change something, each with an example on the prepared lake."""

from __future__ import annotations

from collections.abc import Callable

from failures import iceberg_tables

from anabranch.catalog.objects.multipart_completion import WantedPart
from anabranch.library import Lake
from anabranch.model.caller import Caller, acting_as
from anabranch.model.pull_request import Reviewer
from anabranch.model.references.branch_ends import BranchEnd
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.repositories.retention import RetentionRules

__all__ = ["EXAMPLES", "READS", "TASKS"]

Example = Callable[[Lake], object]
S = "sea"


def pull(lake):
    return lake.pulls.list(S, amount=1).items[0].id


def upload(lake):
    return lake.uploads.list(S, amount=1).items[0]


def complete(lake):
    open_upload = upload(lake)
    _, parts = lake.uploads.parts(S, "dev", "parts", open_upload.id)
    wanted = [WantedPart(each.part.number, each.part.checksum, {}) for each in parts]
    return lake.completion.complete(S, "dev", "parts", open_upload.id, wanted)


def last_operation(lake):
    return lake.operations.list(S, amount=1).items[0].id


def expire(lake):
    lake.expiry._clock.advance(3600)
    return lake.expiry.delete_due()


def undo_of(lake, is_it):
    """Undoes the first operation of a kind: an attempt that failed may be recorded after it."""
    operations = lake.operations.list(S, amount=100).items[::-1]
    return lake.operations.undo(S, next(each.id for each in operations if is_it(each)))


def undo_in_workspace(lake):
    with acting_as(Caller(workspace="ws")):
        return lake.workspaces.undo(S, "ws")


def undo_rules(lake):
    kind = "garbage_rules"
    return undo_of(lake, lambda each: any(kind == setting.kind for setting in each.settings))


def forget_old(lake):
    lake.expiry._clock.advance(31 * 86_400)
    return lake.repositories.forget_old()


def link(lake):
    address = lake.staging.new_address(S, "dev", "linked")
    lake.blocks.put(address, [b"linked"])
    return lake.staging.link(S, "dev", "linked", address=address, checksum="ab", size=6)


def committed(lake, **options):
    return lake.commits.commit(S, "dev", message="Commit", committer="ada", **options)


def workspace(lake):
    request = WorkspaceRequest(source="main", purpose="try", writable=["out/**"], branch="ws-1")
    return lake.workspaces.create(S, request)


EXAMPLES: dict[str, Example] = {
    "branch_ends.replace": lambda lake: lake.branch_ends.replace(S, [BranchEnd("a*", "7d")]),
    "branches.create": lambda lake: lake.branches.create(S, "new", "dev"),
    "branches.delete": lambda lake: lake.branches.delete(S, "dev2"),
    "branches.delete with changes": lambda lake: lake.branches.delete(S, "extra"),
    "branches.hard_reset": lambda lake: lake.branches.hard_reset(S, "dev2", "v1"),
    "branches.reset": lambda lake: lake.branches.reset(S, "dev", "reset"),
    "branches.reset of a prefix": lambda lake: lake.branches.reset(S, "dev", "common_prefix", "st"),
    "branches.reset of an object": lambda lake: lake.branches.reset(S, "dev", "object", "staged"),
    "branches.revert": lambda lake: lake.branches.revert(S, "main", "main", committer="ada"),
    "branches.cherry_pick": lambda lake: lake.branches.cherry_pick(S, "main", "dev", committer="a"),
    "branches.set_expiry": lambda lake: lake.branches.set_expiry(S, "dev", 1_800_000_000),
    "commits.commit": committed,
    "commits.commit with metadata": lambda lake: committed(lake, metadata={"k": "v"}),
    "completion.complete": complete,
    "expiry.delete_due": expire,
    "garbage_rules.set": lambda lake: lake.garbage_rules.set(S, RetentionRules(3, {"dev": 1})),
    "garbage_rules.delete": lambda lake: lake.garbage_rules.delete(S),
    "garbage_rules.change_back as undo does": undo_rules,
    "images.build": lambda lake: lake.images.build(
        "second", "FROM lakefs://sea/v1\nADD lakefs://sea/dev/b copied/b\n", creator="ada"
    ),
    "images.delete": lambda lake: lake.images.delete("image"),
    "notifications.add": lambda lake: lake.notifications.add(S, "https://example.com/b"),
    "notifications.delete": lambda lake: lake.notifications.delete(
        S, lake.notifications.list(S)[0].id
    ),
    "objects.upload": lambda lake: lake.objects.upload(S, "dev", "new", [b"x" * 1000]),
    "objects.upload over another": lambda lake: lake.objects.upload(S, "main", "a", [b"2"]),
    "objects.upload if absent": lambda lake: lake.objects.upload(
        S, "main", "new", [b"1"], if_absent=True
    ),
    "objects.delete": lambda lake: lake.objects.delete(S, "main", "a"),
    "objects.delete_many": lambda lake: lake.objects.delete_many(S, "main", ["a", "b", "dir/c"]),
    "objects.copy": lambda lake: lake.objects.copy(S, "dev", "copy", source_path="b"),
    "objects.set_user_metadata": lambda lake: lake.objects.set_user_metadata(
        S, "main", "a", {"k": "v"}
    ),
    "objects.change_user_metadata": lambda lake: lake.objects.change_user_metadata(
        S, "main", "a", lambda known: {**known, "k": "v"}
    ),
    "operations.undo": lambda lake: lake.operations.undo(S, last_operation(lake)),
    "operations.undo of a merged pull request": lambda lake: undo_of(
        lake, lambda each: each.changes and each.settings
    ),
    "operations.undo of a reset of a prefix": lambda lake: undo_of(
        lake, lambda each: any(getattr(c, "is_of_some_paths", False) for c in each.changes)
    ),
    "operations.undo_in_workspace": lambda lake: lake.operations.undo_in_workspace(S, "ws"),
    "operations.restore": lambda lake: lake.operations.restore(
        S, lake.operations.list(S, amount=4).items[-1].id
    ),
    "operations.restore_branch": lambda lake: lake.operations.restore_branch(S, "old"),
    "operations.restore_tag": lambda lake: lake.operations.restore_tag(S, "gone"),
    "operations.set_undo_days": lambda lake: lake.operations.set_undo_days(S, 3),
    "operations.give_up": lambda lake: lake.operations.give_up(S, last_operation(lake)),
    "operations.compact": lambda lake: lake.operations.compact(),
    "protection.replace": lambda lake: lake.protection.replace(S, ["a*", "b*"]),
    "pulls.create": lambda lake: lake.pulls.create(
        S, title="Other", source="extra", destination="main", author="ada"
    ),
    "pulls.merge": lambda lake: lake.pulls.merge(S, pull(lake), committer="ada"),
    "pulls.update": lambda lake: lake.pulls.update(S, pull(lake), title="T", status="closed"),
    "rebase.rebase": lambda lake: lake.rebase.rebase(S, "dev2", "main", committer="ada"),
    "refs.merge": lambda lake: lake.refs.merge(S, "dev", "main", committer="ada"),
    "refs.merge squashed": lambda lake: lake.refs.merge(
        S, "dev", "main", committer="ada", squash=True
    ),
    "repositories.create": lambda lake: lake.repositories.create(
        "lake", "mem://lake", committer="ada"
    ),
    "repositories.create with data": lambda lake: lake.repositories.create(
        "bare", "mem://bare", bare=True
    ),
    "repositories.delete": lambda lake: lake.repositories.delete("pond"),
    "repositories.delete without keeping it": lambda lake: lake.repositories.delete(
        "pond", forget=True
    ),
    "repositories.restore": lambda lake: lake.repositories.restore("lost"),
    "repositories.forget": lambda lake: lake.repositories.forget("lost"),
    "repositories.forget_old": forget_old,
    "repositories.set_metadata": lambda lake: lake.repositories.set_metadata(S, {"k": "v"}),
    "repositories.delete_metadata": lambda lake: lake.repositories.delete_metadata(S, ["owner"]),
    "reviewers.change": lambda lake: lake.reviewers.change(S, pull(lake), add=[Reviewer("lin")]),
    "reviews.create": lambda lake: lake.reviews.create(S, pull(lake), "approved", author="lin"),
    "reviews.comment": lambda lake: lake.reviews.comment(S, pull(lake), "Well", author="lin"),
    "staging.link": link,
    "tags.create": lambda lake: lake.tags.create(S, "v2", "dev"),
    "tags.delete": lambda lake: lake.tags.delete(S, "v1b"),
    "transfers.copy": lambda lake: lake.transfers.copy(S, "main", "dir/", "copied/"),
    "transfers.copy of an object": lambda lake: lake.transfers.copy(S, "main", "a", "copied"),
    "transfers.move": lambda lake: lake.transfers.move(S, "main", "dir/", "moved/"),
    "transfers.move of an object": lambda lake: lake.transfers.move(S, "main", "a", "moved"),
    "uploads.create": lambda lake: lake.uploads.create(S, "dev", "second"),
    "uploads.abort": lambda lake: lake.uploads.abort(S, "dev", "parts", upload(lake).id),
    "uploads.put_part": lambda lake: lake.uploads.put_part(
        S, "dev", "parts", upload(lake).id, 2, [b"q" * 10]
    ),
    "uploads.copy_part": lambda lake: lake.uploads.copy_part(
        *(S, "dev", "parts", upload(lake).id, 3),
        source_repository=S,
        source_ref="main",
        source_path="a",
        select=lambda entry: (0, entry.size),
    ),
    **iceberg_tables.EXAMPLES,
    "workspaces.create": workspace,
    "workspaces.checkpoint": lambda lake: lake.workspaces.checkpoint(S, "ws", "one", committer="a"),
    "workspaces.restore": lambda lake: lake.workspaces.restore(S, "ws", "zero"),
    "workspaces.undo": undo_in_workspace,
    "workspaces.propose": lambda lake: lake.workspaces.propose(
        *(S, "ws"), title="W", author="ada", committer="ada"
    ),
    "workspaces.discard": lambda lake: lake.workspaces.discard(S, "ws"),
}
"""By the name of the use case, and what is special about the example."""

READS = {
    "branch_ends": {"require_allowed", "rules"},
    "branches": {"changes", "get", "list"},
    "commits": {"get", "log"},
    "expiry": {"stop", "wait"},
    "garbage_rules": {"get"},
    "images": {
        *("find", "get", "list", "permission_for_reading", "pinned_commits", "readable_paths"),
        *("require_unused", "resolve"),
    },
    "notifications": {"list"},
    "objects": {"listing", "open", "pages", "read_many", "resolve", "stat"},
    "operations": {"get", "list", "readable", "undo_days"},
    "protection": {"require_committable", "require_unprotected", "require_writable", "rules"},
    "pulls": {"get", "list", "preview_merge"},
    "refs": {
        "diff",
        "diff_rows",
        "merge_base",
        "merge_conflicts",
        "preview_merge",
        "row_conflicts",
    },
    "repositories": {
        *("deleted", "deletion", "equivalent_namespaces", "equivalent_sources", "get", "list"),
        "metadata",
    },
    "reviewers": {"asked", "asked_in", "waiting"},
    "reviews": {"approvals", "comments", "list", "require_approvals", "require_no_approvals"},
    "staging": {"admit_link", "link_sources", "new_address", "object_at", "stage_sources"},
    "tags": {"get", "list"},
    "uploads": {"get", "list", "parts"},
    "workspaces": {"diff", "get", "has_commit", "list"},
}
"""Use cases that change nothing."""

TASKS = {
    "commits.create_record": "restores of dumps: tests/server/test_refs_dump_crash.py",
    "staging.stage": "`staging.link` with an address that the client has chosen",
    "uploads.clean": "housekeeping: tests/catalog/objects/test_uploads.py",
}
"""Other changes, and what proves them."""
