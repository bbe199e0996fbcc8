"""Runs of single hooks in tests: an event, and what the hook wrote."""

from __future__ import annotations

import time
from typing import Any, cast

import msgspec

from anabranch.actions.hooks.contract import (
    HookCode,
    HookContext,
    HookEvent,
    HookLake,
    HookSettings,
)
from anabranch.actions.hooks.output import HookOutput

__all__ = ["EVENT", "HERE", "ONLY_TABLES", "hook_context"]

EVENT = HookEvent(
    event_type="pre-merge",
    event_time="2026-01-02T03:04:05Z",
    action_name="checks of main",
    hook_id="first",
    repository_id="flights",
    branch_id="main",
    source_ref="dev",
    commit_message="add May",
    committer="ada",
    commit_metadata={"ticket": "FL-7"},
    event_id="event-1",
    run_id="run-1",
    merged_ref="merged-1",
)

HERE = HookSettings(webhook_allow=("127.0.0.0/8",))
"""Settings that let hooks reach servers of tests."""

ONLY_TABLES = """\
name: only tables
on:
  pre-commit:
  pre-create-tag:
hooks:
- id: only_tables
  type: check
  properties:
    files: [{within: [tables/, _lakefs_actions/]}]
- id: after_success
  type: check
  properties:
    files: [{formats: [parquet, csv, yaml]}]
- id: after_failure
  type: check
  if: failure()
  properties: {files: [{max_size: 1 GiB}]}
"""
"""An action with hooks that succeed, fail and are skipped, for objects outside of `tables/`."""


def hook_context(lake: HookLake | None = None, **changes: Any) -> HookContext:
    """Returns the context of a run: without a lake for hooks that do not read it."""
    context = HookContext(
        event=EVENT,
        reference="merged-1",
        base="main",
        lake=cast(HookLake, lake),
        code=cast(HookCode, lake),
        output=HookOutput(),
        deadline=time.monotonic() + 60,
        settings=HERE,
        storage_namespace="local://flights",
        username="ada",
    )
    return msgspec.structs.replace(context, **changes)
