"""Events: what happens in a repository, for all hooks alike."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from anabranch.actions.files.events import EventType
from anabranch.actions.hooks.contract import HookEvent
from anabranch.actions.runs.code import CodePlace
from anabranch.model.caller import Principal

__all__ = ["Event"]


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event; `time` is in seconds since 1970. The fields that webhooks have, too, are described
    in `HookEvent`, `reference` and `base` in `HookContext`.

    `username`, `created_at` and `record_id` are the user who caused it, and `others` those to whom
    it is attributed besides, as in `Caller`. `code` is where its hooks are read. `chain`
    are the branches, as `repository/branch`, of the events whose hooks have caused this one, the
    first of them first. `pre_run_id` is the run of the hooks before the event. `id` is that of an
    event in the queue.
    """

    id: str = ""
    type: EventType
    time: float
    repository: str
    branch: str = ""
    tag: str = ""
    source_ref: str = ""
    commit_id: str = ""
    commit_message: str = ""
    committer: str = ""
    commit_metadata: dict[str, str] = {}
    merge_source: str = ""
    merged_ref: str = ""
    reference: str
    base: str | None = None
    username: str = ""
    created_at: int = 0
    record_id: str = ""
    others: tuple[Principal, ...] = ()
    chain: tuple[str, ...] = ()
    pre_run_id: str = ""
    code: CodePlace = CodePlace()

    def for_hook(self, run_id: str, action: str, hook_id: str) -> HookEvent:
        """Returns the event as a hook of an action sees it."""
        time = datetime.fromtimestamp(int(self.time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return HookEvent(
            event_type=self.type,
            event_time=time,
            action_name=action,
            hook_id=hook_id,
            repository_id=self.repository,
            branch_id=self.branch,
            source_ref=self.source_ref,
            tag_id=self.tag,
            commit_id=self.commit_id,
            commit_message=self.commit_message,
            committer=self.committer,
            commit_metadata=self.commit_metadata,
            merge_source=self.merge_source,
            event_id=self.id or run_id,
            run_id=run_id,
            merged_ref=self.merged_ref,
        )
