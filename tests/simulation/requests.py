"""Requests of a simulated world with keys, with hooks after them, of workspaces, and undo.

They are about the branch `pad`, whose commits can be undone. A keyed commit is repeated, on other
servers too, until its outcome is known: it is made once, and queues its hooks once. A commit that
was acknowledged is on the branch, or the log says that it is undone. The keys of a workspace reach
nothing once it is discarded, also if there is another branch of its name.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from simulation.garbage import expect
from simulation.world import Killed

from anabranch.actions.queue.queue import QUEUED_DECODER
from anabranch.errors import AnabranchError, Invalid
from anabranch.http.response import Response
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.rest.protocol.idempotency import RepeatedRequest, fingerprint, run_once

if TYPE_CHECKING:
    from simulation.client import Client

__all__ = ["check_requests", "keyed_commit", "prepare", "undo", "workspace"]

REPOSITORY, PAD = "sea", "pad"
ALL = 1000
_ACTION = b"""
name: after
on:
  post-commit:
    branches: [pad]
hooks:
  - id: tell
    type: webhook
    properties:
      url: http://127.0.0.1:9/
"""


def prepare(lake: Any) -> None:
    """Creates the branch, which has hooks."""
    lake.objects.upload(REPOSITORY, "main", "_lakefs_actions/after.yaml", [_ACTION])
    lake.commits.commit(REPOSITORY, "main", message="", committer="first")
    lake.branches.create(REPOSITORY, PAD, "main")


def keyed_commit(client: Client) -> None:
    """Commits with a key, or repeats that; or uses the key for something else, which is refused."""
    key = f"{client.name}-{client.world.random.randrange(4)}"
    known = client.keyed.get(key)
    if known is not None and client.world.random.random() < 0.5:
        try:
            _commit(client, key, "another")
        except Invalid as error:
            expect(error, {"idempotency_key_reused"})
        except AnabranchError as error:
            expect(error, ())
        else:
            raise AssertionError(f"the key {key} was used for another request")
        return
    for _ in range(4):
        try:
            commit_id = _commit(client, key, key)
        except Killed:
            client.restart()
        except AnabranchError as error:
            expect(error, ())
        else:
            assert known in (None, commit_id), f"{key} was made again: {known}, {commit_id}"
            client.keyed[key] = commit_id
            return


def _commit(client: Client, key: str, message: str) -> str:
    lake = client.lake
    request = RepeatedRequest(
        *(lake.core.idempotency_keys, client.name, key, fingerprint("commit", key, message)),
        lambda commit_id: Response(201, str(commit_id).encode()),
    )
    made = run_once(
        request,
        lambda: lake.commits.commit(
            *(REPOSITORY, PAD),
            message=message,
            committer=client.name,
            allow_empty=True,
            extra_writes=[request.recording(lambda commit: commit.id)],
        ),
    )
    return made.body.decode() if isinstance(made, Response) else made.id


def undo(client: Client) -> None:
    """Undoes one of the last operations, if that is a move of the branch."""
    lake = client.lake
    try:
        operations = lake.operations.list(REPOSITORY, amount=4).items
        moves = [each for each in operations if _moves_pad(each) and not each.undone_at]
        if moves:
            lake.operations.undo(REPOSITORY, moves[0].id)
    except AnabranchError as error:
        expect(error, {"changed_since", "operation_undone", "too_many_tries"})


def _moves_pad(operation: LoggedOperation) -> bool:
    return [
        (change.name, change.before is not None, change.after is not None)
        for change in operation.changes
    ] == [(PAD, True, True)]


def workspace(client: Client) -> None:
    """Creates a workspace, discards it, and creates a branch of its name."""
    lake, name = client.lake, f"w-{client.name}"
    access_key = f"K{client.name}{len(client.discarded_keys)}"
    request = WorkspaceRequest(source="main", branch=name, seconds=86_400)
    try:
        lake.workspaces.create(REPOSITORY, request, access_key_id=access_key, key_check="check")
        lake.workspaces.discard(REPOSITORY, name)
        client.discarded_keys.append(access_key)
        lake.branches.create(REPOSITORY, name, "main")
        lake.branches.delete(REPOSITORY, name)
        lake.branches.create(REPOSITORY, name, "main")
    except AnabranchError as error:
        expect(error, {"branch_already_exists", "workspace_not_found"})


def check_requests(lake: Any, clients: list[Client]) -> None:
    """Raises AssertionError if a keyed commit, its hooks or an undone one is not as it must be."""
    undone: dict[str, bool] = {}
    for operation in lake.operations.list(REPOSITORY, amount=ALL).items:
        for change in operation.changes:
            if change.name == PAD and change.before and change.after:
                commit_id = change.after.commit_id
                undone[commit_id] = undone.get(commit_id, False) or bool(operation.undone_at)
    messages = Counter(lake.commits.get(REPOSITORY, each).message for each in undone)
    events = Counter(
        QUEUED_DECODER.decode(raw).event.commit_id
        for _, raw in lake.core.keyvalue.scan("anabranch-post-hooks")
    )
    reachable = {each.id for each in lake.commits.log(REPOSITORY, PAD, amount=ALL).items}
    for client in clients:
        for key, commit_id in client.keyed.items():
            assert messages[key] == 1, f"{key} was made {messages[key]} times"
            assert commit_id in reachable or undone[commit_id], f"{commit_id} of {key} is lost"
            assert events[commit_id] == 1, f"{events[commit_id]} events of {key}"
        for access_key in client.discarded_keys:
            found = lake.core.workspaces.find_by_key(access_key)
            assert found is None, f"{access_key} reaches {found}"
