"""What a tool is: a name, a description, arguments with a schema, hints, and the function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from mcp import types

from anabranch.converter import Converter
from anabranch.errors import Invalid
from anabranch.errors.did_you_mean import closest
from anabranch.mcp.api import Api
from anabranch.mcp.arguments import Arguments
from anabranch.mcp.limits import MAX_ARGUMENT_BYTES
from anabranch.mcp.results import Result

__all__ = ["CREATES", "READS", "REMOVES", "REPLACES", "UNDOES", "Hints", "Tool"]


class Hints(NamedTuple):
    """The protocol's hints about what a tool may do. No tool reaches beyond the lake."""

    reads: bool
    destroys: bool = False
    idempotent: bool = False


READS = Hints(reads=True, idempotent=True)
CREATES = Hints(reads=False)
REPLACES = Hints(reads=False, destroys=True, idempotent=True)
REMOVES = Hints(reads=False, destroys=True, idempotent=True)
UNDOES = Hints(reads=False, destroys=True)


class Tool:
    """A tool. `run` returns its result for arguments of the type `arguments`."""

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        arguments: type[Arguments],
        run: Callable[[Api, Any], Result],
        hints: Hints = READS,
    ) -> None:
        self.name = name
        self.hints = hints
        self.run = run
        self._title = title
        self._description = description
        self._converter = Converter(arguments)
        self._names = [field.encode_name for field in msgspec.structs.fields(arguments)]
        self.schema = _schema(arguments)

    def described(self) -> types.Tool:
        """Returns the tool as the protocol describes it."""
        return types.Tool(
            name=self.name,
            title=self._title,
            description=self._description,
            input_schema=self.schema,
            annotations=types.ToolAnnotations(
                title=self._title,
                read_only_hint=self.hints.reads,
                destructive_hint=self.hints.destroys,
                idempotent_hint=self.hints.idempotent,
                open_world_hint=False,
            ),
        )

    def decode(self, given: Mapping[str, Any] | None) -> Arguments:
        """Returns the arguments of a call. Raises Invalid for unknown, missing and wrong ones, and
        for too many bytes of them.
        """
        arguments = dict(given or {})
        size = len(msgspec.json.encode(arguments))
        if size > MAX_ARGUMENT_BYTES:
            raise Invalid(
                f"the arguments have {size} bytes; a call may have {MAX_ARGUMENT_BYTES}",
                kind="arguments_too_large",
                hint="Send less in a call, or upload large objects by `anabranch fs upload`.",
            )
        names = ", ".join(self._names)
        for name in arguments:
            if name not in self._names:
                raise Invalid(
                    f"{self.name} has no argument {name[:100]!r}",
                    kind="invalid_arguments",
                    hint=closest(name[:100], self._names) or f"Its arguments are {names}.",
                )
        try:
            return self._converter.convert(arguments)
        except msgspec.ValidationError as error:
            raise Invalid(
                f"{self.name}: {error}",
                kind="invalid_arguments",
                hint=f"Its arguments are {names}; the tool's schema describes them.",
            ) from None


def _schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Returns the JSON schema of arguments, an object without references."""
    (described,), definitions = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = definitions[described["$ref"].rpartition("/")[2]]
    del schema["title"]
    schema.pop("description", None)
    return schema
