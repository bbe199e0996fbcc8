"""What a tool is: a name, a description, arguments with a schema, hints, and the function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from mcp import types

from anabranch.errors import Invalid
from anabranch.errors.did_you_mean import closest
from anabranch.mcp.api import Api
from anabranch.mcp.arguments import Arguments
from anabranch.mcp.limits import MAX_ARGUMENT_BYTES
from anabranch.mcp.results import Result

__all__ = ["CREATES", "READS", "REMOVES", "REPLACES", "Hints", "Tool", "decode", "describe"]


class Hints(NamedTuple):
    """The protocol's hints about what a tool may do. No tool reaches beyond the lake."""

    reads: bool
    destroys: bool = False
    idempotent: bool = False


READS = Hints(reads=True, idempotent=True)
CREATES = Hints(reads=False)
REPLACES = Hints(reads=False, destroys=True, idempotent=True)
REMOVES = Hints(reads=False, destroys=True, idempotent=True)


class Tool(NamedTuple):
    """A tool. `run` returns its result; its arguments have been checked."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Api, Any], Result]
    hints: Hints = READS


def describe(tool: Tool) -> types.Tool:
    """Returns the tool as the protocol describes it."""
    hints = tool.hints
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_schema(tool.arguments),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=hints.reads,
            destructive_hint=hints.destroys,
            idempotent_hint=hints.idempotent,
            open_world_hint=False,
        ),
    )


def decode(tool: Tool, given: Mapping[str, Any] | None) -> Arguments:
    """Returns the arguments of a call. Raises Invalid for unknown, missing and wrong ones, and for
    too many bytes of them.
    """
    arguments = dict(given or {})
    size = len(msgspec.json.encode(arguments))
    if size > MAX_ARGUMENT_BYTES:
        raise Invalid(
            f"the arguments have {size} bytes; a call may have {MAX_ARGUMENT_BYTES}",
            kind="arguments_too_large",
            hint="Send less in a call, or upload large objects by `anabranch fs upload`.",
        )
    known = [field.encode_name for field in msgspec.structs.fields(tool.arguments)]
    for name in arguments:
        if name not in known:
            raise Invalid(
                f"{tool.name} has no argument {name!r}",
                kind="invalid_arguments",
                hint=closest(name, known) or f"Its arguments are {', '.join(known)}.",
            )
    try:
        return msgspec.convert(arguments, tool.arguments)
    except msgspec.ValidationError as error:
        raise Invalid(
            f"{tool.name}: {error}",
            kind="invalid_arguments",
            hint=f"Its arguments are {', '.join(known)}; the tool's schema describes them.",
        ) from None


def _schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Returns the JSON schema of arguments, an object without references."""
    (described,), definitions = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = definitions[described["$ref"].rpartition("/")[2]]
    del schema["title"]
    schema.pop("description", None)
    return schema
