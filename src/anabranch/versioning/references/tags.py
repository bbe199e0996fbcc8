"""Tags: immutable names of commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.brevity import while_brief
from anabranch.errors import AlreadyExists, Conflict, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.names import check_new_tag, check_tag, is_too_long
from anabranch.model.page import Page, upper_bound
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.records import keys, references
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["Tags"]


class Tags:
    """The tags of all repositories."""

    def __init__(self, keyvalue: KeyValueStore, commits: Commits) -> None:
        self._keyvalue = keyvalue
        self._commits = commits

    def find(self, repository: Repository, name: str) -> Tag | None:
        """Returns a tag, or None."""
        raw = self._keyvalue.get(repository.partition, keys.tag(name))
        return None if raw is None else references.tag_from(raw)

    def get(self, repository: Repository, name: str) -> Tag:
        """Returns a tag. Raises NotFound."""
        tag = self.find(repository, name)
        if tag is None:
            raise NotFound("tag not found", kind="tag_not_found")
        return tag

    def create(
        self,
        repository: Repository,
        name: str,
        commit_id: str,
        *,
        extra_writes: Sequence[ExtraWritesFor[Tag]] = (),
    ) -> Tag:
        """Creates a tag; `extra_writes` adds writes.

        Raises AlreadyExists if the tag exists, Conflict if a branch or a commit has this name.
        """
        self.require_valid(repository, name)
        self._commits.require_no_id(repository, name)
        tag = Tag(id=name, commit_id=commit_id)
        absent = [
            Expect(repository.partition, keys.tag(name), None),
            Expect(repository.partition, keys.branch(name), None),
        ]
        write = Write(repository.partition, keys.tag(name), references.tag_bytes(tag))
        while True:
            extra, expected = collect_extra_writes(extra_writes, tag)
            if self._keyvalue.apply([write, *extra], [*absent, *expected]):
                return tag
            self._require_absent(repository, name)

    def require_valid(self, repository: Repository, name: str) -> None:
        """Raises Invalid for a name that no new tag may have; what `create` raises for a name in
        use, if only its length is wrong: a client that asks for what exists learns that it does.
        """
        check_tag(name)
        if is_too_long(name):
            self.require_free(repository, name)
            check_new_tag(name)

    def require_free(self, repository: Repository, name: str) -> None:
        """Raises what `create` raises for a name that is in use."""
        self._commits.require_no_id(repository, name)
        self._require_absent(repository, name)

    def _require_absent(self, repository: Repository, name: str) -> None:
        if self._keyvalue.get(repository.partition, keys.branch(name)) is not None:
            raise Conflict(f"branch name {name}: conflict found", kind="name_is_a_branch")
        if self.find(repository, name) is not None:
            raise AlreadyExists("tag already exists: not unique", kind="tag_already_exists")

    def list(
        self, repository: Repository, *, prefix: str = "", after: str = "", amount: int
    ) -> Page[Tag]:
        """Returns a page of tags by name."""
        stem = keys.tag(prefix)
        start = max(stem, keys.tag(after) + b"\x00") if after else stem
        rows = self._keyvalue.scan(repository.partition, start, upper_bound(stem), limit=amount + 1)
        tags = [references.tag_from(raw) for _, raw in while_brief(rows, lambda row: len(row[1]))]
        if len(tags) <= amount:
            return Page(tags)
        return Page(tags[:amount], has_more=True, next_offset=tags[amount - 1].id)

    def all(self, repository: Repository) -> Iterator[Tag]:
        """Yields all tags of a repository by name."""
        for _, raw in self._keyvalue.scan(repository.partition, *keys.all_tags()):
            yield references.tag_from(raw)

    def delete(
        self, repository: Repository, name: str, extra_writes: Sequence[ExtraWritesFor[None]] = ()
    ) -> None:
        """Deletes a tag; `extra_writes` adds writes. Raises NotFound."""
        while True:
            raw = self._keyvalue.get(repository.partition, keys.tag(name))
            if raw is None:
                raise NotFound("tag not found", kind="tag_not_found")
            key = keys.tag(name)
            writes, expect = collect_extra_writes(extra_writes, None)
            if self._keyvalue.apply(
                [Write(repository.partition, key, None), *writes],
                [Expect(repository.partition, key, raw), *expect],
            ):
                return
