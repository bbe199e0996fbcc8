"""Attacks on a sweep: every operation that creates a reference to an object or a commit that
garbage collection may be about to remove. `campaign` runs them.

The operations are requests to a running server, so that the attacks can be used with every engine.
Uploads are not attacks, because they reference only new objects. A copy copies the bytes, and fails
if they were removed. There are no shallow copies, and references cannot be restored from dumps.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from support.attacks.target import Place, Refused, Target, Victim

__all__ = ["ATTACKS", "Attack"]

_WAIT_SECONDS = 60
_TICK_SECONDS = 0.02
_REPOSITORY = "/repositories/sea"

Attack = Callable[[Target, Victim], Place]
"""Creates a reference to a victim and returns its location. Raises Refused."""


def stage(target: Target, victim: Victim) -> Place:
    """Stages an object by its address."""
    return _stage(target, victim, _branch(target, victim, "stage"))


def stage_elsewhere(target: Target, victim: Victim) -> Place:
    """Stages an object of one repository in another."""
    return _stage(target, victim, "main", "land")


def stage_and_commit(target: Target, victim: Victim) -> Place:
    """Stages an object by its address and commits it."""
    branch = _branch(target, victim, "commit")
    place = _stage(target, victim, branch)
    commit = target.call("POST", f"{_REPOSITORY}/branches/{branch}/commits", {"message": "m"})
    return place._replace(reference=commit["id"])


def link(target: Target, victim: Victim) -> Place:
    """Links an address that was generated long ago."""
    path = f"link-{victim.number}"
    body = {
        "staging": {"physical_address": victim.linked},
        "checksum": victim.checksum,
        "size_bytes": len(victim.body),
    }
    target.call("PUT", f"{_REPOSITORY}/branches/links/staging/backing", body, path=path)
    return Place("sea", "links", path)


def copy(target: Target, victim: Victim) -> Place:
    """Copies an object of an expired commit."""
    branch = _branch(target, victim, "copy")
    body = {"src_path": victim.old, "src_ref": victim.commit}
    target.call("POST", f"{_REPOSITORY}/branches/{branch}/objects/copy", body, dest_path="copy")
    return Place("sea", branch, "copy")


def import_object(target: Target, victim: Victim) -> Place:
    """Imports an object from the data of another repository."""
    path = f"imported-{victim.number}"
    body = {
        "paths": [{"type": "object", "path": victim.address, "destination": path}],
        "commit": {"message": "m"},
    }
    url_path = "/repositories/port/branches/main/import"
    import_id = target.call("POST", url_path, body)["id"]
    for _ in range(int(_WAIT_SECONDS / _TICK_SECONDS)):
        status = target.call("GET", url_path, id=import_id)
        if "error" in status:
            # the status of an import has a message and no kind
            message = status["error"]["message"]
            raise Refused(409, _import_refusal(message), "", message)
        if status["completed"]:
            return Place("port", "main", path)
        time.sleep(_TICK_SECONDS)
    raise AssertionError("the import does not end")


def create_branch(target: Target, victim: Victim) -> Place:
    """Creates a branch at an expired commit."""
    name = f"back-{victim.number}"
    target.raw("POST", f"{_REPOSITORY}/branches", {"name": name, "source": victim.commit})
    return Place("sea", name, victim.old)


def create_tag(target: Target, victim: Victim) -> Place:
    """Creates a tag at an expired commit."""
    name = f"v{victim.number}"
    target.call("POST", f"{_REPOSITORY}/tags", {"id": name, "ref": victim.commit})
    return Place("sea", name, victim.old)


def hard_reset(target: Target, victim: Victim) -> Place:
    """Moves a branch to an expired commit."""
    branch = _branch(target, victim, "reset")
    target.raw("PUT", f"{_REPOSITORY}/branches/{branch}/hard_reset", ref=victim.commit)
    return Place("sea", branch, victim.old)


def revert(target: Target, victim: Victim) -> Place:
    """Reverts the commit that removed an object."""
    branch = _branch(target, victim, "revert")
    body = {"ref": victim.removal, "parent_number": 0}
    target.raw("POST", f"{_REPOSITORY}/branches/{branch}/revert", body)
    return Place("sea", branch, victim.old)


def cherry_pick(target: Target, victim: Victim) -> Place:
    """Applies the changes of an expired commit."""
    branch = _branch(target, victim, "pick")
    target.raw("POST", f"{_REPOSITORY}/branches/{branch}/cherry-pick", {"ref": victim.commit})
    return Place("sea", branch, victim.old)


def merge(target: Target, victim: Victim) -> Place:
    """Merges an expired commit into a branch that it descends from."""
    target.raw("POST", f"{_REPOSITORY}/refs/{victim.commit}/merge/first-{victim.number}", {})
    return Place("sea", f"first-{victim.number}", victim.old)


def squash_merge(target: Target, victim: Victim) -> Place:
    """Merges an expired commit without making it a parent."""
    url_path = f"{_REPOSITORY}/refs/{victim.commit}/merge/first-{victim.number}"
    target.raw("POST", url_path, {"squash_merge": True})
    return Place("sea", f"first-{victim.number}", victim.old)


def commit_tree(target: Target, victim: Victim) -> Place:
    """Commits the tree of an expired commit."""
    branch = _branch(target, victim, "tree")
    url_path = f"{_REPOSITORY}/branches/{branch}/commits"
    target.raw("POST", url_path, {"message": "m"}, source_metarange=victim.tree)
    return Place("sea", branch, victim.old)


def build_image(target: Target, victim: Victim) -> Place:
    """Builds an image from an expired commit."""
    return _build(target, victim, "base", f"FROM lakefs://sea/{victim.commit}\n", victim.old)


def add_to_image(target: Target, victim: Victim) -> Place:
    """Builds an image that adds an object of an expired commit."""
    text = f"FROM scratch\nADD lakefs://sea/{victim.commit}/{victim.old} x\n"
    return _build(target, victim, "layer", text, "x")


def add_address_to_image(target: Target, victim: Victim) -> Place:
    """Builds an image that adds an object of the repository's own data by its address."""
    text = f"FROM scratch\nADD {victim.address} x\n"
    return _build(target, victim, "address", text, "x")


ATTACKS: tuple[Attack, ...] = (
    stage,
    stage_elsewhere,
    stage_and_commit,
    link,
    copy,
    import_object,
    create_branch,
    create_tag,
    hard_reset,
    revert,
    cherry_pick,
    merge,
    squash_merge,
    commit_tree,
    build_image,
    add_to_image,
    add_address_to_image,
)


def _stage(target: Target, victim: Victim, branch: str, repository: str = "sea") -> Place:
    path = f"left-{victim.number}"
    body = {
        "physical_address": victim.address,
        "checksum": victim.checksum,
        "size_bytes": len(victim.body),
    }
    target.call("PUT", f"/repositories/{repository}/branches/{branch}/objects", body, path=path)
    return Place(repository, branch, path)


def _branch(target: Target, victim: Victim, name: str) -> str:
    """Creates a branch at the head of `main`, which has not expired, and returns its name."""
    name = f"{name}-{victim.number}"
    target.raw("POST", f"{_REPOSITORY}/branches", {"name": name, "source": "main"})
    return name


def _import_refusal(message: str) -> str:
    """Returns the kind of an import's error by its message, because its status has no kind."""
    if "garbage collection is removing objects" in message:
        return "sweep_under_way"
    return "source_not_found" if "there is no such file" in message else ""


def _build(target: Target, victim: Victim, name: str, lakefile: str, path: str) -> Place:
    tag = f"{name}-{victim.number}"
    target.call("POST", f"/images/{tag}", {"lakefile": lakefile}, wait=str(_WAIT_SECONDS))
    return Place("image", tag, path)
