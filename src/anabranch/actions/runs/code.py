"""The code of an event's hooks: which files it is read from, and who brings them.

An action file and the scripts that its hooks load are code. Most are on a branch before the event:
their authors are found in its history, by `CodeAuthors`. Those that the event itself brings are
attributed to the users from whom they come: who has staged them, or committed them to the source
of a merge, since the change that brings them is not made yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from anabranch.actions.files.action import Action
from anabranch.errors import Denied, Invalid, NotFound
from anabranch.model.caller import Principal, current_caller
from anabranch.model.commits.commit import Commit
from anabranch.model.names import check_path, encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.references.references import Resolved

__all__ = ["Brought", "CodePlace", "code_brought", "require_same_code", "tree_reader"]

ReadValue = Callable[[str], "Value | None"]
"""Returns the value at a path, None if there is none."""


class Brought(msgspec.Struct, frozen=True):
    """A file that an event brings: its address, and who it comes from."""

    address: str
    authors: tuple[Principal, ...]


class CodePlace(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the code of an event is read: at `reference`. What is the same in the commit `base` was
    there before the event; `brought` are the others by path.

    `branch` is the branch that the code is on, as its commit `settled` has it; empty if it is on
    none.
    """

    reference: str = ""
    base: str = ""
    branch: str = ""
    settled: str = ""
    brought: Mapping[str, Brought] = {}


def code_brought(
    core: Core,
    repository: Repository,
    actions: Iterable[Action],
    read: ReadValue,
    *,
    base: str,
    source: str = "",
    staged: Resolved | None = None,
) -> dict[str, Brought]:
    """Returns the code of actions that differs from the commit `base`, at the paths at which `read`
    reads it: from the commit `source` of a merge, or from the staging areas of `staged`; without
    both, such as the files of an import, the caller brings it.
    """
    before = tree_reader(core, repository, core.commits.get(repository, base))
    brought: dict[str, Brought] = {}
    for path in _paths(actions):
        value = read(path)
        if value is None or value == before(path):
            continue
        authors: tuple[Principal, ...] | None = ()
        if staged is not None:
            # found in no area: another commit has just applied it, and this one will not be made
            authors = core.staging.authors(staged.tokens, encode_path(path), value) or None
        elif source:
            authors = tuple(
                author
                for commit_id in _sides(core, repository, path, value, source, base)
                for author in core.code_authors.find(
                    repository, core.commits.get(repository, commit_id), path
                )
            )
        if authors is not None:  # else those of the file stay unknown
            require_no_workspace(path)
            authors = authors or current_caller().principals
            brought[path] = Brought(entry_from(value).address, authors)
    return brought


def require_no_workspace(path: str) -> None:
    """Raises Denied if a change by the keys of a workspace brings the code at a path: the hooks
    that run it reach more than those keys.
    """
    if current_caller().workspace:
        raise Denied(
            f"{path} is code of hooks, which a workspace cannot change",
            kind="workspace_changes_hooks",
            hint="Let a person change it, on another branch.",
        )


def require_same_code(
    core: Core, repository: Repository, actions: Iterable[Action], before: Commit, after: Commit
) -> None:
    """Raises Denied if a change by the keys of a workspace, from one commit to another, brings code
    of actions, also of those that do not run now: they run the code after other changes.
    """
    old, new = (tree_reader(core, repository, commit) for commit in (before, after))
    for path in sorted(_paths(actions)):
        value = new(path)
        if value is not None and value != old(path):
            require_no_workspace(path)


def tree_reader(core: Core, repository: Repository, commit: Commit) -> ReadValue:
    """Returns a function that reads values of a commit, which need not be stored yet."""

    def read(path: str) -> Value | None:
        tree = core.trees.open(repository, commit.metarange_id)
        return core.trees.read(tree.get, encode_path(path))

    return read


def _sides(
    core: Core, repository: Repository, path: str, value: Value, source: str, base: str
) -> list[str]:
    """Returns the commits from which a merged file comes: the source, if it has the same one; else
    a strategy has made it of those of both.
    """
    theirs = core.objects.committed(repository, source, encode_path(path))
    return [source] if theirs == value else [source, base]


def _paths(actions: Iterable[Action]) -> set[str]:
    """Returns the paths of action files and of the scripts that they name."""
    paths = set()
    for action in actions:
        named = (hook.properties.get("script_path") for hook in action.hooks)
        paths |= {action.file, *(path for path in named if isinstance(path, str) and _valid(path))}
    return paths


def _valid(path: str) -> bool:
    try:
        check_path(path)
    except (Invalid, NotFound):
        return False
    return True
