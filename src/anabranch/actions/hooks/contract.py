"""Contract of hooks.

A hook is made by a `HookFactory` from the properties in an action file and is run once for an
event. It sees the repository through a `HookLake`, with the permissions that both the user who
caused the event and the authors of its code have, and reports to the user through the output and,
if the event must not happen, `HookFailed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, Protocol

import msgspec

from anabranch.actions.hooks.output import HookOutput
from anabranch.model.commits.change import Change
from anabranch.model.commits.commit import Commit
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import Page

__all__ = [
    "Hook",
    "HookCode",
    "HookContext",
    "HookEvent",
    "HookFactory",
    "HookLake",
    "HookSettings",
]


class HookEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What happens in a repository; its JSON, without empty fields, is the body of webhooks.

    `event_time` is RFC 3339. `source_ref` is lakeFS's: before a commit the branch, before a merge
    the source's commit. The last three fields are Anabranch's own: `event_id` is the same if the
    hooks of an event run again, since a server was killed while they ran; `merged_ref` is, before a
    branch moves, the id of the commit that it would move to, which can be read until the hooks have
    run.
    """

    event_type: str
    event_time: str
    action_name: str
    hook_id: str
    repository_id: str
    branch_id: str = ""
    source_ref: str = ""
    tag_id: str = ""
    commit_id: str = ""
    commit_message: str = ""
    committer: str = ""
    commit_metadata: dict[str, str] = {}
    merge_source: str = ""
    event_id: str = ""
    run_id: str = ""
    merged_ref: str = ""


class HookLake(Protocol):
    """The event's repository as the user who caused the event, and the authors of the hook's code,
    may see it.

    The methods raise NotFound, Denied and the other errors of the operations that they stand for. A
    reference is a branch with its uncommitted changes, a tag, a commit, an expression of these, or
    the event's `merged_ref`.
    """

    def read(self, reference: str, path: str) -> BinaryIO:
        """Returns a seekable stream of an object's bytes; the caller closes it."""

    def stat(self, reference: str, path: str) -> Stat:
        """Returns an object's path, entry and full address."""

    def list(
        self, reference: str, *, prefix: str = "", after: str = "", delimiter: str = "", amount: int
    ) -> Page[Stat | CommonPrefix]:
        """Returns at most `amount` objects and common prefixes after `after`, in order of bytes."""

    def diff(
        self, left: str, right: str, *, prefix: str = "", after: str = "", amount: int
    ) -> Page[Change]:
        """Returns at most `amount` differences of two trees (not from their merge base), in order
        of paths: what `right` has added, changed or removed. A branch counts with its uncommitted
        changes.
        """

    def commit(self, reference: str) -> Commit:
        """Returns the commit that a reference means."""

    def request(
        self, method: str, path: str, query: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        """Performs an operation of the REST API in this process and returns its status and body.

        `path` follows `/api/v1`: `/repositories/flights/branches`. A body is JSON.
        """


class HookCode(Protocol):
    """The code of a hook: its action file, and the scripts that it loads."""

    def load(self, path: str) -> bytes:
        """Returns a script, read where the action file is; from now on its authors limit, too, what
        the hook may do. Raises HookFailed for one that is not there or is too long.
        """

    def require_variables(self) -> None:
        """Raises HookFailed if the code may not have values of the server's environment."""


class HookSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that concern single hooks."""

    environment_enabled: bool = True
    """Whether properties may use `{{ ENV.LAKEFSACTION_X }}`, in action files on the branches of
    `environment_branches`.
    """
    environment_branches: tuple[str, ...] = ()
    """Patterns of branches, as `REPOSITORY/BRANCH`."""
    trusts_authors: bool = False
    """Whether hooks act as in lakeFS: with all permissions of the user who caused the event, in all
    repositories, and with values of the environment wherever the action file is."""
    webhook_allow: tuple[str, ...] = ()
    """Networks (CIDR) that hooks may reach although they are loopback, link-local or private."""
    lua_net_http_enabled: bool = False
    """Whether Lua has `net/http`."""


class HookContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a hook is given when it runs."""

    event: HookEvent
    reference: str
    """What the hook examines: before a merge the merged result, before a commit the branch."""
    base: str | None
    """What `reference` is compared with to find what the event changes: before a merge the
    destination, before a commit the branch's head, after them the first parent. None if the event
    changes no objects."""
    lake: HookLake
    code: HookCode | None
    """None in the process of a hook, whose code was loaded before."""
    output: HookOutput
    deadline: float
    """By the monotonic clock, in seconds; hooks that have a `timeout` may end earlier."""
    environment: Mapping[str, str] = {}
    """The server's environment; `secrets` decides what of it hooks may see."""
    settings: HookSettings = HookSettings()
    storage_namespace: str = ""
    username: str = ""
    """The user who caused the event."""
    pre_run_id: str = ""
    """After an event: the run of the hooks before it."""
    commit: Commit | None = None
    """The commit of the event; before a commit or merge it has no id and no tree yet."""


class Hook(Protocol):
    """Examines an event."""

    def run(self, context: HookContext) -> None:
        """Raises HookFailed, with the reason, if the event must not happen or the hook could not be
        run: a refused connection, a timeout, a file that is missing.
        """


HookFactory = Callable[[Mapping[str, Any]], Hook]
"""Makes a hook from the properties of an action file. Raises Invalid (kind invalid_hook) with the
property's name (`property url: …`) for properties that are missing, unknown or wrong."""
