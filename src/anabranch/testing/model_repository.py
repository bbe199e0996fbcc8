"""A model of a repository in plain dictionaries, with which tests compare versioning."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ModelBranch", "ModelCommit", "ModelRepository"]

Objects = dict[str, bytes]


@dataclass(frozen=True)
class ModelCommit:
    """A commit and all its objects."""

    id: str
    objects: Objects
    parents: tuple[str, ...]


@dataclass
class ModelBranch:
    """A branch: its head, and its current objects, committed or not."""

    head: ModelCommit
    objects: Objects = field(init=False)

    def __post_init__(self) -> None:
        self.objects = dict(self.head.objects)

    @property
    def dirty(self) -> bool:
        """Whether anything is uncommitted."""
        return self.objects != self.head.objects

    def put(self, path: str, body: bytes) -> None:
        """Writes an object."""
        self.objects[path] = body

    def delete(self, path: str) -> None:
        """Removes an object, if it exists."""
        self.objects.pop(path, None)

    def reset(self, kind: str, path: str) -> None:
        """Restores the head's objects: all, those under a prefix, or one."""
        if kind == "reset":
            self.objects = dict(self.head.objects)
            return
        for name in {*self.objects, *self.head.objects}:
            if name == path or (kind == "common_prefix" and name.startswith(path)):
                self.objects.pop(name, None)
                if name in self.head.objects:
                    self.objects[name] = self.head.objects[name]

    def listing(self, delimiter: str) -> list[str]:
        """Returns paths and common prefixes, sorted by their bytes."""
        names = {
            path.split(delimiter)[0] + delimiter if delimiter and delimiter in path else path
            for path in self.objects
        }
        return sorted(names, key=str.encode)

    def changes(self) -> dict[str, str]:
        """Returns the kind of change of each path that differs from the head."""
        before, after = self.head.objects, self.objects
        return {
            path: "added" if path not in before else "changed" if path in after else "removed"
            for path in {*before, *after}
            if before.get(path) != after.get(path)
        }


class ModelRepository:
    """Branches, tags and commits."""

    def __init__(self, root: ModelCommit) -> None:
        self.commits = {root.id: root}
        self.branches = {"main": ModelBranch(root)}
        self.tags: dict[str, ModelCommit] = {}

    def knows(self, name: str) -> bool:
        """Whether a branch or a commit has this name."""
        return name in self.branches or name in self.commits

    def resolve(self, name: str) -> ModelCommit:
        """Returns the commit with this id, or the head of the branch with this name."""
        return self.branches[name].head if name in self.branches else self.commits[name]

    def commit(self, branch: str, commit_id: str) -> None:
        """Commits a branch."""
        model = self.branches[branch]
        self.add(branch, ModelCommit(commit_id, dict(model.objects), (model.head.id,)))

    def add(self, branch: str, commit: ModelCommit) -> None:
        """Moves a branch to a new commit."""
        self.commits[commit.id] = commit
        self.branches[branch] = ModelBranch(commit)

    def ancestors(self, commit: ModelCommit) -> set[str]:
        """Returns the ids of a commit and of all its ancestors."""
        visited: set[str] = set()
        pending = [commit.id]
        while pending:
            commit_id = pending.pop()
            if commit_id not in visited:
                visited.add(commit_id)
                pending.extend(self.commits[commit_id].parents)
        return visited

    def common_ancestors(self, left: ModelCommit, right: ModelCommit) -> set[str]:
        """Returns the ids of all common ancestors."""
        return self.ancestors(left) & self.ancestors(right)

    def merged(
        self, ours: ModelCommit, theirs: ModelCommit, base: ModelCommit, strategy: str
    ) -> tuple[Objects, set[str]]:
        """Returns the objects after a merge, and the paths in conflict, resolved or not."""
        result: Objects = {}
        conflicts: set[str] = set()
        for path in {*ours.objects, *theirs.objects}:
            mine, other, old = (side.objects.get(path) for side in (ours, theirs, base))
            chosen = mine if other == old else other
            if mine not in (other, old) and other != old:
                conflicts.add(path)
                chosen = other if strategy == "source-wins" else mine
            if chosen is not None:
                result[path] = chosen
        return result, conflicts
