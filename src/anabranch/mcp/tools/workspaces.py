"""Tools that write, in workspaces alone.

After its creation, a workspace is changed by requests with its own keys: the server refuses what is
outside of it, whatever a tool asks for.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Literal

from msgspec import Meta

from anabranch.errors import Invalid
from anabranch.mcp.api import Api
from anabranch.mcp.arguments import InRepository, Path
from anabranch.mcp.results import Result, shorten
from anabranch.mcp.tool import CREATES, REMOVES, REPLACES, UNDOES, Tool

__all__ = ["TOOLS"]

_Pattern = Annotated[str, Meta(min_length=1, max_length=1024)]
_Label = Annotated[str, Meta(min_length=1, max_length=256)]


class CreateWorkspace(InRepository, frozen=True, kw_only=True):
    """Arguments of create_workspace."""

    source: Annotated[
        str, Meta(min_length=1, max_length=256, description="The reference to begin at.")
    ] = "main"
    writable: Annotated[
        tuple[_Pattern, ...],
        Meta(
            min_length=1,
            max_length=50,
            description="Patterns of the paths that may be written: `out/**` is all below `out/`, "
            "`*` stops at a slash.",
        ),
    ]
    purpose: Annotated[
        str, Meta(min_length=1, max_length=2000, description="What it is for, in a sentence.")
    ]
    expires: Annotated[
        str, Meta(pattern="^[0-9]{1,4}[mhd]$", description="How long it lives: `30m`, `2h`, `7d`.")
    ] = "2h"


class InWorkspace(InRepository, frozen=True, kw_only=True):
    """Arguments of a tool that works in a workspace."""

    workspace: Annotated[
        str,
        Meta(min_length=1, max_length=256, description="The id that create_workspace returned."),
    ]


class WriteObject(InWorkspace, frozen=True, kw_only=True):
    """Arguments of write_object."""

    path: Path
    content: Annotated[str, Meta(max_length=900_000, description="All of the new content.")]
    encoding: Annotated[
        Literal["utf-8", "base64"], Meta(description="How `content` stands for bytes.")
    ] = "utf-8"
    content_type: Annotated[str, Meta(max_length=256, description="The media type.")] = (
        "application/octet-stream"
    )


class DeleteObject(InWorkspace, frozen=True, kw_only=True):
    """Arguments of delete_object."""

    path: Path


class Restore(InWorkspace, frozen=True, kw_only=True):
    """Arguments of restore_workspace."""

    checkpoint: Annotated[
        str,
        Meta(
            max_length=256,
            description="The label or the commit of a checkpoint; `source` is the beginning.",
        ),
    ] = ""
    operation: Annotated[
        str,
        Meta(
            max_length=256,
            description="Instead: `last`, or the id of an operation of this workspace in "
            "list_operations, which is undone by itself.",
        ),
    ] = ""


class Checkpoint(InWorkspace, frozen=True, kw_only=True):
    """Arguments of checkpoint_workspace."""

    label: Annotated[_Label, Meta(description="A name that the workspace has not used yet.")]
    message: Annotated[str, Meta(max_length=4000, description="The message of the commit.")] = ""


class Propose(InWorkspace, frozen=True, kw_only=True):
    """Arguments of propose_workspace."""

    title: Annotated[_Label, Meta(description="What the change does, in a line.")]
    description: Annotated[
        str, Meta(max_length=10_000, description="What reviewers need to know, and what was read.")
    ] = ""
    destination: Annotated[
        str,
        Meta(
            max_length=256,
            description="The branch to merge into; if empty, the one that it began at.",
        ),
    ] = ""


def create_workspace(api: Api, given: CreateWorkspace) -> Result:
    """Returns a new workspace, without its keys."""
    body = {
        "source": given.source,
        "writable": list(given.writable),
        "purpose": given.purpose,
        "expires": given.expires,
    }
    made = api.send("POST", "repositories", given.repository, "workspaces", body=body)
    api.performer.keep_keys(given.repository, made["id"], made["token"])
    shown = ("id", "source", "source_commit", "writable", "purpose", "expires_at")
    return Result({name: made[name] for name in shown})


def write_object(api: Api, given: WriteObject) -> Result:
    """Returns the object that was written."""
    made = _inside(api, given).upload(
        *_objects(given),
        path=given.path,
        content=_content(given),
        content_type=given.content_type,
    )
    shown = ("path", "size_bytes", "checksum")
    return Result({name: made[name] for name in shown})


def delete_object(api: Api, given: DeleteObject) -> Result:
    """Returns the path of the object that was deleted."""
    _inside(api, given).send("DELETE", *_objects(given), path=given.path)
    return Result({"path": given.path, "deleted": True})


def checkpoint_workspace(api: Api, given: Checkpoint) -> Result:
    """Returns the commit of what was written."""
    body = {"label": given.label, "message": given.message}
    return Result(_inside(api, given).send("POST", *_workspace(given), "checkpoints", body=body))


def restore_workspace(api: Api, given: Restore) -> Result:
    """Returns the checkpoint that the workspace is at, or the operation that was undone."""
    if bool(given.checkpoint) == bool(given.operation):
        raise Invalid(
            "restore_workspace takes a checkpoint or an operation",
            kind="invalid_arguments",
            hint="Give one of both: `operation` is `last`, or an id from list_operations.",
        )
    if given.operation:
        undo = {"operation": "" if given.operation == "last" else given.operation}
        made = _inside(api, given).send("POST", *_workspace(given), "undo", body=undo)
        return Result({"undone": shorten(made)})
    body = {"checkpoint": given.checkpoint}
    return Result(_inside(api, given).send("POST", *_workspace(given), "restore", body=body))


def propose_workspace(api: Api, given: Propose) -> Result:
    """Returns the id of the pull request."""
    body = {
        "title": given.title,
        "description": given.description,
        "destination": given.destination,
    }
    made = _inside(api, given).send("POST", *_workspace(given), "proposal", body=body)
    return Result({"pull_request": made["id"]})


def discard_workspace(api: Api, given: InWorkspace) -> Result:
    """Returns the name of the workspace that was deleted."""
    _inside(api, given).send("DELETE", *_workspace(given))
    return Result({"workspace": given.workspace, "discarded": True})


def _inside(api: Api, given: InWorkspace) -> Api:
    return api.in_workspace(given.repository, given.workspace)


def _workspace(given: InWorkspace) -> tuple[str, ...]:
    return ("repositories", given.repository, "workspaces", given.workspace)


def _objects(given: Any) -> tuple[str, ...]:
    return ("repositories", given.repository, "branches", given.workspace, "objects")


def _content(given: WriteObject) -> bytes:
    if given.encoding == "utf-8":
        return given.content.encode()
    try:
        return b64decode(given.content, validate=True)
    except ValueError:
        raise Invalid(
            "the content is not base64",
            kind="invalid_arguments",
            hint="Encode the bytes by RFC 4648, or use the encoding utf-8.",
        ) from None


TOOLS = (
    Tool(
        "create_workspace",
        "Create a workspace",
        "Creates a workspace: a branch of your own that ends by itself, in which the writable "
        "paths can be changed. Other branches cannot be changed. Pass its `id` to the other tools. "
        "Read in it by its id as the reference: what you read so is recorded for reviewers.",
        CreateWorkspace,
        create_workspace,
        CREATES,
    ),
    Tool(
        "write_object",
        "Write an object",
        "Writes one whole object in a workspace, in place of one that is there.",
        WriteObject,
        write_object,
        REPLACES,
    ),
    Tool(
        "delete_object",
        "Delete an object",
        "Deletes one object in a workspace.",
        DeleteObject,
        delete_object,
        REMOVES,
    ),
    Tool(
        "checkpoint_workspace",
        "Commit in a workspace",
        "Commits what a workspace has written, under a label.",
        Checkpoint,
        checkpoint_workspace,
        CREATES,
    ),
    Tool(
        "restore_workspace",
        "Undo in a workspace",
        "Moves a workspace back to one of its checkpoints, or to where it began: what it has "
        "written since is dropped. Or undoes one operation of the workspace, such as a commit or a "
        "restore, with which dropped changes return.",
        Restore,
        restore_workspace,
        UNDOES,
    ),
    Tool(
        "propose_workspace",
        "Propose a workspace",
        "Commits what a workspace has written and opens a pull request, which people or checks "
        "decide on. Nothing is merged by this.",
        Propose,
        propose_workspace,
        CREATES,
    ),
    Tool(
        "discard_workspace",
        "Discard a workspace",
        "Deletes a workspace with all that it has written.",
        InWorkspace,
        discard_workspace,
        REMOVES,
    ),
)
