"""YAML documents whose errors name the file, the line and the field.

A document is read into `Node`s: values with the line that they begin on and the path of the field
that holds them, such as `hooks[0].properties.url`. Scalars have the types of YAML 1.2's core
schema, as in lakeFS: `yes` and `on` are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from anabranch.errors import Invalid

__all__ = ["MAX_BYTES", "InvalidActionFile", "Node", "parse_yaml"]

MAX_BYTES = 256 << 10
"""The maximum size of an action file, in bytes."""

_MAX_DEPTH = 50
_KIND = "invalid_action_file"
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_MAX_DIGITS = 18
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.?[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False}
_BOOLEANS["FALSE"] = False
_NULLS = ("", "~", "null", "Null", "NULL")


class InvalidActionFile(Invalid):
    """An error in an action file: its line, the field that is wrong, "" for the file as a whole,
    and the reason alone.
    """

    kind = _KIND

    def __init__(self, file: str, line: int, field: str, reason: str, hint: str = "") -> None:
        where = f"{field}: " if field else ""
        super().__init__(f"{file}:{line}: {where}{reason}", kind=_KIND, hint=hint)
        self.line = line
        self.field = field
        self.reason = reason


class Node:
    """A value of a document, the path of its field, empty for the whole document, and the line of
    `start`: of the key, for the value of one.
    """

    def __init__(
        self, file: str, field: str, node: yaml.Node | None, start: yaml.Node | None = None
    ) -> None:
        self.file = file
        self.field = field
        self._node = node
        first = start or node
        mark = None if first is None else first.start_mark
        self.line = 1 if mark is None else mark.line + 1

    def error(self, reason: str, hint: str = "") -> InvalidActionFile:
        """Returns the error of this value."""
        return InvalidActionFile(self.file, self.line, self.field, reason, hint)

    @property
    def is_null(self) -> bool:
        """Whether there is no value."""
        return self._node is None or (
            isinstance(self._node, yaml.ScalarNode) and self._plain_scalar() is None
        )

    def members(self) -> dict[str, Node]:
        """Returns the values of a mapping by their keys. Raises Invalid."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error("must be a mapping")
        members: dict[str, Node] = {}
        for key, value in self._node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
            member = Node(self.file, f"{self.field}.{name}" if self.field else name, value, key)
            if not isinstance(key, yaml.ScalarNode):
                raise Node(self.file, self.field, key).error("a key must be text")
            if name in members:
                raise member.error("occurs twice")
            members[name] = member
        return members

    def fields(self, *names: str) -> dict[str, Node]:
        """Returns the values of a mapping whose keys are among `names`. Raises Invalid."""
        members = self.members()
        for name, member in members.items():
            if name not in names:
                raise member.error("unknown field", f"The fields are {', '.join(names)}.")
        return members

    def items(self) -> Iterator[Node]:
        """Yields the values of a list. Raises Invalid."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("must be a list")
        for number, node in enumerate(self._node.value):
            yield Node(self.file, f"{self.field}[{number}]", node)

    def text(self) -> str:
        """Returns a text. Raises Invalid."""
        if not isinstance(self._node, yaml.ScalarNode) or self.is_null:
            raise self.error("must be text")
        return str(self._node.value)

    def plain(self) -> Any:
        """Returns the value as mappings, lists, texts, numbers, truths and None. Raises Invalid."""
        if isinstance(self._node, yaml.MappingNode):
            return {name: member.plain() for name, member in self.members().items()}
        if isinstance(self._node, yaml.SequenceNode):
            return [item.plain() for item in self.items()]
        return None if self._node is None else self._plain_scalar()

    def _plain_scalar(self) -> str | int | float | bool | None:
        node = self._node
        if not isinstance(node, yaml.ScalarNode):
            return None
        text = str(node.value)
        if node.style:  # quoted, or a block
            return text
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS:
            return int(text)
        return float(text) if _FLOAT.fullmatch(text) else text


def parse_yaml(content: bytes, file: str) -> Node:
    """Returns the document in a file. Raises Invalid (kind invalid_action_file)."""
    if len(content) > MAX_BYTES:
        reason = f"the file has {len(content)} bytes; at most {MAX_BYTES} are allowed"
        raise InvalidActionFile(file, 1, "", reason)
    try:
        text = content.decode("utf-8-sig")
        _require_plain(text, file)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidActionFile(file, line, "", "the file is not UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "the file is not YAML"
        raise InvalidActionFile(file, mark.line + 1 if mark else 1, "", problem) from error
    except yaml.YAMLError as error:
        raise InvalidActionFile(file, 1, "", "the file is not YAML") from error
    return Node(file, "", root)


def _require_plain(text: str, file: str) -> None:
    """Raises Invalid for aliases, with which a short file can have any length, and for values that
    are nested too deeply.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        mark = event.start_mark
        line = 1 if mark is None else mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise InvalidActionFile(file, line, "", "aliases are not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise InvalidActionFile(
                file, line, "", f"values are nested more than {_MAX_DEPTH} deep"
            )
