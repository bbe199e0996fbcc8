"""The visible commands of lakectl 1.84, and what does the same here.

Most have the same name. Others are understood by the name that lakectl has for them, if that does
not mean anything else here.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["LAKECTL_COMMANDS", "own_name"]

_GROUPS = {
    "repo": "list, create, delete",
    "branch": "list, show, create, delete, reset, revert",
    "tag": "list, show, create, delete",
    "branch-protect": "list, add, delete",
    "show": "commit",
    "fs": "ls, stat, cat, presign, upload, download, rm",
    "local": "init, clone, list, status, pull, commit, checkout",
    "actions": "runs list, runs describe, validate",
    "gc": "get-config, set-config, delete-config",
    "auth users": "list, create, delete",
    "auth users groups": "list",
    "auth users policies": "list, attach, detach",
    "auth users credentials": "list, create, delete",
    "auth users aws-iam": "attach, detach, list, lookup",
    "auth groups": "list, create, delete",
    "auth groups members": "list, add, remove",
    "auth groups policies": "list, attach, detach",
    "auth groups acl": "get, set",
    "auth policies": "list, show, create, delete",
    "plugin": "list",
}
_ALONE = (
    *("commit", "diff", "log", "merge", "cherry-pick", "annotate", "import"),
    *("identity", "config", "doctor"),
)

_RENAMED = {
    ("actions", "runs", "list"): ("actions", "list"),
    ("actions", "runs", "describe"): ("actions", "show"),
    ("refs-dump",): ("refs", "dump"),
    ("refs-restore",): ("refs", "restore"),
}
"""Names that are understood as others."""

_OTHERS = {"config": "login"}
"""Commands whose name means something else here."""


def own_name(words: Sequence[str]) -> list[str]:
    """Returns a command line with the name that its command has here."""
    for theirs, ours in _RENAMED.items():
        if tuple(words[: len(theirs)]) == theirs:
            return [*ours, *words[len(theirs) :]]
    return [*words]


LAKECTL_COMMANDS = {
    name: _OTHERS.get(name) or " ".join(own_name(name.split()))
    for name in sorted(
        [*_ALONE, *(f"{group} {each}" for group in _GROUPS for each in _GROUPS[group].split(", "))]
    )
}
"""The command that does what a command of lakectl does, by that command's name."""
