"""Records of runs in the key-value store, in lakeFS's layout.

    actions                 repos/REPOSITORY/runs/RUN               RunResultData
    actions                 repos/REPOSITORY/tasks/RUN/HOOK_RUN     TaskResultData
    actions                 repos/REPOSITORY/branches/BRANCH/RUN    SecondaryIndex
    actions                 repos/REPOSITORY/commits/COMMIT/RUN     SecondaryIndex

Ids of runs sort the newest first. A run has a record once it has ended; `running` has the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.message import DecodeError

from anabranch.actions.runs.run import HookRun, Run
from anabranch.errors import Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.page import Page, take_page, upper_bound
from anabranch.records import lakefs_pb2 as records
from anabranch.records.timestamps import read_time, write_time
from anabranch.versioning.records.keys import ACTIONS, repository_actions

__all__ = ["RunRecords"]


class RunRecords:
    """The records of ended runs of all repositories."""

    def __init__(self, keyvalue: KeyValueStore) -> None:
        self._keyvalue = keyvalue

    def writes(self, repository: str, run: Run, hooks: Iterable[HookRun] = ()) -> list[Write]:
        """Returns the writes that store a run, or replace it, and hooks of it."""
        stem = repository_actions(repository)
        key = stem + f"runs/{run.id}".encode()
        index = records.SecondaryIndex(primary_key=key).SerializeToString()
        writes = [Write(ACTIONS, key, _run_bytes(run))]
        if run.branch:
            writes.append(Write(ACTIONS, stem + _key("branches", run.branch, run.id), index))
        if run.commit_id:
            writes.append(Write(ACTIONS, stem + _key("commits", run.commit_id, run.id), index))
        writes += [
            Write(ACTIONS, stem + _key("tasks", run.id, each.hook_run_id), _hook_bytes(each))
            for each in hooks
        ]
        return writes

    def get(self, repository: str, run_id: str) -> Run:
        """Returns a run. Raises NotFound."""
        raw = self._keyvalue.get(ACTIONS, repository_actions(repository) + _key("runs", run_id))
        if raw is None:
            raise NotFound("not found: not found", kind="run_not_found")
        return _run_from(raw)

    def list(
        self,
        repository: str,
        *,
        branch: str = "",
        commit_id: str = "",
        after: str = "",
        amount: int,
    ) -> Page[Run]:
        """Returns a page of runs, the newest first: of a branch, of a commit, or all. Raises
        Invalid for a branch and a commit.
        """
        if branch and commit_id:
            raise Invalid(
                "can't use both branchID and MergedCommitID: parameters conflict",
                kind="parameters_conflict",
                hint="Name a branch or a commit.",
            )
        if not branch and not commit_id:
            runs = (_run_from(raw) for raw in self._after(repository, "runs/", after))
        else:
            stem = f"branches/{branch}/" if branch else f"commits/{commit_id}/"
            indexed = self._after(repository, stem, after)
            runs = (run for raw in indexed if (run := self._run_of_index(raw)) is not None)
        return take_page(runs, amount, lambda run: run.id)

    def hooks(self, repository: str, run_id: str, *, after: str = "", amount: int) -> Page[HookRun]:
        """Returns a page of the hooks of a run, in their order. Raises NotFound for the run."""
        self.get(repository, run_id)
        hooks = map(_hook_from, self._after(repository, f"tasks/{run_id}/", after))
        return take_page(hooks, amount, lambda hook: hook.hook_run_id)

    def hook(self, repository: str, run_id: str, hook_run_id: str) -> HookRun:
        """Returns a hook of a run. Raises NotFound."""
        key = repository_actions(repository) + _key("tasks", run_id, hook_run_id)
        raw = self._keyvalue.get(ACTIONS, key)
        if raw is None:
            raise NotFound("not found: not found", kind="hook_run_not_found")
        return _hook_from(raw)

    def _after(self, repository: str, below: str, after: str) -> Iterator[bytes]:
        """Yields the records directly below a prefix, after one of them."""
        stem = repository_actions(repository) + _key(below)
        start = stem + _key(after) + b"\x00" if after else stem
        for key, raw in self._keyvalue.scan(ACTIONS, start, upper_bound(stem)):
            if b"/" not in key[len(stem) :]:  # a branch's name may begin with that of another
                yield raw

    def _run_of_index(self, raw: bytes) -> Run | None:
        index = records.SecondaryIndex()
        index.ParseFromString(raw)
        found = self._keyvalue.get(ACTIONS, index.primary_key)
        return None if found is None else _run_from(found)


def _key(*parts: str) -> bytes:
    return "/".join(parts).encode("utf-8", "surrogateescape")


def _run_bytes(run: Run) -> bytes:
    message = records.RunResultData(
        run_id=run.id,
        branch_id=run.branch,
        commit_id=run.commit_id,
        source_ref=run.source_ref,
        event_type=run.event,
        passed=run.passed,
    )
    write_time(message.start_time, run.started)
    write_time(message.end_time, run.ended)
    return message.SerializeToString(deterministic=True)


def _run_from(raw: bytes) -> Run:
    message = records.RunResultData()
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(f"the record of a run of hooks cannot be read: {error}") from error
    return Run(
        id=message.run_id,
        event=message.event_type,
        branch=message.branch_id,
        source_ref=message.source_ref,
        commit_id=message.commit_id,
        started=read_time(message.start_time),
        ended=read_time(message.end_time),
        passed=message.passed,
    )


def _hook_bytes(hook: HookRun) -> bytes:
    message = records.TaskResultData(
        run_id=hook.run_id,
        hook_run_id=hook.hook_run_id,
        hook_id=hook.hook_id,
        action_name=hook.action,
        passed=hook.passed,
    )
    if not hook.skipped:
        write_time(message.start_time, hook.started)
        write_time(message.end_time, hook.ended)
    return message.SerializeToString(deterministic=True)


def _hook_from(raw: bytes) -> HookRun:
    message = records.TaskResultData()
    try:
        message.ParseFromString(raw)
    except DecodeError as error:
        raise Corrupt(f"the record of a hook's run cannot be read: {error}") from error
    return HookRun(
        run_id=message.run_id,
        hook_run_id=message.hook_run_id,
        hook_id=message.hook_id,
        action=message.action_name,
        # lakeFS stores the first second of the year 1 for a hook that was skipped
        started=max(0.0, read_time(message.start_time)),
        ended=max(0.0, read_time(message.end_time)),
        passed=message.passed,
    )
