"""Actions: the runs of hooks, running them by hand, and checks of action files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.policies.permissions import Action
from anabranch.actions.files.action_file import parse_action_file
from anabranch.actions.files.yaml_document import MAX_BYTES, InvalidActionFile, parse_yaml
from anabranch.actions.hooks.registry import make_hook
from anabranch.actions.runs.run import HookRun as ModelHookRun
from anabranch.actions.runs.run import Run
from anabranch.http.response import Response
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, InRepository
from anabranch.rest.protocol.resources import on_repository, on_triggered_branch, triggered_branch
from anabranch.rest.protocol.responses import BYTES
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination

__all__ = ["EXTENSIONS", "OPERATIONS"]

_NEVER = "0001-01-01T00:00:00Z"
"""Go's zero time, as in lakeFS, for a hook that was skipped."""

_STRICT_CLIENT = "lakefs-python-sdk/"
"""The generated client, which raises for a status that is not in lakeFS's description."""


class ActionRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run: the hooks of one event."""

    run_id: str
    branch: str
    start_time: str
    end_time: str | UnsetType = UNSET
    event_type: str
    status: Literal["failed", "completed"]
    commit_id: str


class ActionRunList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of runs."""

    pagination: Pagination
    results: list[ActionRun]


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """A hook of a run."""

    hook_run_id: str
    action: str
    hook_id: str
    start_time: str
    end_time: str | UnsetType = UNSET
    status: Literal["failed", "completed", "skipped"]


class HookRunList(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the hooks of a run."""

    pagination: Pagination
    results: list[HookRun]


class ListRuns(InRepository, frozen=True, kw_only=True):
    """Parameters of listRepositoryRuns."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    branch: str = ""
    commit: str = ""


class AtRun(InRepository, frozen=True, kw_only=True):
    """Parameters of getRun."""

    run_id: str


class ListHooks(AtRun, frozen=True, kw_only=True):
    """Parameters of listRunHooks."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


class AtHook(AtRun, frozen=True, kw_only=True):
    """Parameters of getRunHookOutput."""

    hook_run_id: str


class ActionsTrigger(Body, frozen=True, kw_only=True):
    """What to run on a reference: the hooks of an event, those of one action, or both."""

    ref: Annotated[str, Meta(min_length=1)]
    event_type: str = ""
    action: str = ""
    branch: Annotated[str, Meta(description="the branch of the event, by default `ref`")] = ""
    base: Annotated[str, Meta(description="what hooks compare `ref` with")] = ""


class TriggeredRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run of hooks by hand; no run is stored if no hook ran. `failures` has one message for
    each hook that failed.
    """

    run_id: str
    status: Literal["failed", "completed"]
    hooks: list[HookRun]
    failures: list[str]


def list_runs(call: Call[ListRuns, None]) -> ActionRunList:
    """Returns a page of runs, the newest first."""
    params = call.params
    page = call.services.catalog.actions.runs(
        params.repository,
        branch=params.branch,
        commit_id=params.commit,
        after=params.after,
        amount=page_amount(params.amount),
    )
    return ActionRunList(
        pagination=to_pagination(page), results=[_to_run(run) for run in page.items]
    )


def get_run(call: Call[AtRun, None]) -> ActionRun:
    """Returns a run."""
    return _to_run(call.services.catalog.actions.run(call.params.repository, call.params.run_id))


def list_hooks(call: Call[ListHooks, None]) -> HookRunList:
    """Returns a page of the hooks of a run."""
    params = call.params
    page = call.services.catalog.actions.hooks(
        params.repository, params.run_id, after=params.after, amount=page_amount(params.amount)
    )
    skipped: Literal["failed", "completed", "skipped"] = "skipped"
    if call.request.header("user-agent").startswith(_STRICT_CLIENT):
        run = call.services.catalog.actions.run(params.repository, params.run_id)
        skipped = "completed" if run.passed else "failed"
    return HookRunList(
        pagination=to_pagination(page), results=[_to_hook(hook, skipped) for hook in page.items]
    )


def get_output(call: Call[AtHook, None]) -> Response:
    """Returns the output of a hook, as a file."""
    params = call.params
    output = call.services.catalog.actions.output(
        params.repository, params.run_id, params.hook_run_id
    )
    headers = [("Content-Disposition", f'attachment; filename="{params.hook_run_id}.log"')]
    return Response(200, output, content_type=BYTES, headers=headers)


class ActionFile(Body, frozen=True, kw_only=True):
    """An action file, which need not be stored: its path, and its text."""

    path: str
    content: Annotated[str, Meta(max_length=MAX_BYTES)]


class ActionFileProblem(msgspec.Struct, frozen=True, kw_only=True):
    """The first error in an action file: the line, the field such as `hooks[0].properties.url`, ""
    for the file as a whole, what is wrong, and what to do.
    """

    line: int
    field: str
    message: str
    hint: str


class ValidatedAction(msgspec.Struct, frozen=True, kw_only=True):
    """The name of an action, its file as a value of JSON, null if that is not YAML, and the first
    error in it, null if there is none.
    """

    name: str
    document: Any
    problem: ActionFileProblem | None


def validate(call: Call[InRepository, ActionFile]) -> ValidatedAction:
    """Checks an action file as a change would that its hooks could refuse."""
    path, content = call.body.path, call.body.content.encode()
    document, name, problem = None, "", None
    try:
        document = parse_yaml(content, path).plain()
        name = parse_action_file(content, path, make_hook).name
    except InvalidActionFile as error:
        problem = ActionFileProblem(
            line=error.line, field=error.field, message=error.reason, hint=error.hint
        )
    return ValidatedAction(name=name, document=document, problem=problem)


def trigger(call: Call[InRepository, ActionsTrigger]) -> TriggeredRun:
    """Runs hooks on a reference."""
    body = call.body
    outcome = call.services.catalog.actions.trigger(
        call.params.repository,
        body.ref,
        event=body.event_type,
        action=body.action,
        branch=body.branch,
        base=body.base,
    )
    ran = any(not hook.skipped for hook in outcome.hooks)
    return TriggeredRun(
        run_id=outcome.run.id if ran else "",
        status="completed" if outcome.run.passed else "failed",
        hooks=[_to_hook(hook, "skipped") for hook in outcome.hooks],
        failures=list(outcome.failures),
    )


def _to_run(run: Run) -> ActionRun:
    return ActionRun(
        run_id=run.id,
        branch=run.branch,
        start_time=_time(run.started),
        end_time=_time(run.ended),
        event_type=run.event,
        status="completed" if run.passed else "failed",
        commit_id=run.commit_id,
    )


def _to_hook(hook: ModelHookRun, skipped: Literal["failed", "completed", "skipped"]) -> HookRun:
    status: Literal["failed", "completed"] = "completed" if hook.passed else "failed"
    return HookRun(
        hook_run_id=hook.hook_run_id,
        action=hook.action,
        hook_id=hook.hook_id,
        start_time=_time(hook.started),
        end_time=_time(hook.ended),
        status=skipped if hook.skipped else status,
    )


def _time(seconds: float) -> str:
    if not seconds:
        return _NEVER
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


_ACTIONS = "/repositories/{repository}/actions"
_RUN = f"{_ACTIONS}/runs/{{run_id}}"
_READ = (Need(Action.READ_ACTION, on_repository),)

OPERATIONS = (
    Operation(
        id="listRepositoryRuns",
        tag="actions",
        method="GET",
        path=f"{_ACTIONS}/runs",
        summary="list runs of hooks",
        permission=_READ,
        params=ListRuns,
        response=ActionRunList,
        handler=list_runs,
    ),
    Operation(
        id="getRun",
        tag="actions",
        method="GET",
        path=_RUN,
        summary="get a run of hooks",
        permission=_READ,
        params=AtRun,
        response=ActionRun,
        handler=get_run,
    ),
    Operation(
        id="listRunHooks",
        tag="actions",
        method="GET",
        path=f"{_RUN}/hooks",
        summary="list hooks of a run",
        permission=_READ,
        params=ListHooks,
        response=HookRunList,
        handler=list_hooks,
    ),
    Operation(
        id="getRunHookOutput",
        tag="actions",
        method="GET",
        path=f"{_RUN}/hooks/{{hook_run_id}}/output",
        summary="get the output of a hook",
        permission=_READ,
        params=AtHook,
        response=bytes,
        media_type=BYTES,
        handler=get_output,
    ),
)

EXTENSIONS = (
    Operation(
        id="validateAction",
        tag="actions",
        method="POST",
        path=f"{_ACTIONS}/validate",
        summary="check an action file",
        permission=(Need(Action.READ_ACTION, on_repository),),
        params=InRepository,
        body=ActionFile,
        response=ValidatedAction,
        handler=validate,
    ),
    Operation(
        id="triggerActions",
        tag="actions",
        method="POST",
        path=f"{_ACTIONS}/trigger",
        summary="run hooks on a reference",
        permission=(
            Need(Action.READ_ACTION, on_repository),
            Need(Action.CREATE_COMMIT, on_triggered_branch, triggered_branch),
        ),
        params=InRepository,
        body=ActionsTrigger,
        response=TriggeredRun,
        handler=trigger,
    ),
)
"""Operations that lakeFS does not have."""
