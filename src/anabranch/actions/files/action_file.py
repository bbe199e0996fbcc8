"""The action file parser: any bytes parse, or raise an error with the file, line and field.

    name: good files                  # by default the file's name
    on:
      pre-merge: {branches: [main]}   # without branches: all
    hooks:
      - id: no_temporary_files
        type: check
        if: success()                 # the default
        properties: {allowed_formats: [parquet]}

docs/actions.md describes the fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anabranch.actions.files.action import Action, HookSpec
from anabranch.actions.files.conditions import AFTER_SUCCESS, Condition, parse_condition
from anabranch.actions.files.events import EventType
from anabranch.actions.files.yaml_document import Node, parse_yaml
from anabranch.errors import Invalid, NotSupported
from anabranch.patterns.branch_pattern import branch_pattern
from anabranch.versioning.staging.code_authors import ACTIONS_FOLDER as FOLDER

__all__ = ["FOLDER", "CheckHook", "parse_action_file", "require_distinct_names"]

_NAME = re.compile(r"\w[\w\-. ]+", re.ASCII)
_HOOK_ID = re.compile(r"[_a-zA-Z][\-_a-zA-Z0-9]{1,255}", re.ASCII)
_PROPERTY = re.compile(r"property (?P<name>[\w.\[\]-]+): (?P<reason>.*)", re.DOTALL)
_MAX_HOOKS = 100

CheckHook = Callable[[str, Mapping[str, Any]], object]
"""Raises Invalid for an unknown type of hook, and for properties that the type does not have."""


def parse_action_file(content: bytes, file: str, check_hook: CheckHook) -> Action:
    """Returns the action in a file, whose path is `file`. Raises Invalid (kind
    invalid_action_file), with the file, the line and the field that is wrong.
    """
    document = parse_yaml(content, file)
    fields = document.fields("name", "description", "on", "hooks", "version")
    for name in ("on", "hooks"):
        if name not in fields or fields[name].is_null:
            raise fields.get(name, document).error(f"the field `{name}` is required")
    return Action(
        name=_name(fields.get("name"), document, file),
        file=file,
        description=_description(fields),
        on=_events(fields["on"]),
        hooks=_hooks(fields["hooks"], check_hook),
    )


def require_distinct_names(actions: Iterable[Action]) -> None:
    """Raises Invalid if two actions have one name."""
    files: dict[str, str] = {}
    for action in actions:
        if action.name in files:
            raise Invalid(
                f"{action.file}:1: name: duplicate action name {action.name!r}: "
                f"{files[action.name]} has it, too",
                kind="invalid_action_file",
                hint="Give each action a name of its own.",
            )
        files[action.name] = action.file


def _name(node: Node | None, document: Node, file: str) -> str:
    name = file.rpartition("/")[2] if node is None else node.text()
    if _NAME.fullmatch(name) is None:
        raise (node or document).error(
            f"{name[:100]!r} is not a name of an action",
            "It has two or more letters, digits, `_`, `-`, `.` and spaces, and begins with one of "
            "the first three.",
        )
    return name


def _description(fields: Mapping[str, Node]) -> str:
    node = fields.get("description")
    return "" if node is None or node.is_null else node.text()


def _events(node: Node) -> dict[EventType, Sequence[str]]:
    events: dict[EventType, Sequence[str]] = {}
    for name, value in node.members().items():
        try:
            event = EventType(name)
        except ValueError:
            names = ", ".join(EventType)
            raise value.error("unknown event", f"The events are {names}.") from None
        events[event] = _branches(value, event)
    if not events:
        raise node.error("must name an event")
    return events


def _branches(node: Node, event: EventType) -> Sequence[str]:
    if node.is_null:
        return ()
    branches = node.fields("branches").get("branches")
    if branches is None or branches.is_null:
        return ()
    if event.of_tag:
        raise branches.error("an event of tags has no branches")
    patterns = []
    for item in branches.items():
        try:
            branch_pattern(item.text())
        except Invalid as error:
            if error.kind == "invalid_action_file":
                raise
            raise item.error(error.message, error.hint) from error
        patterns.append(item.text())
    return tuple(patterns)


def _hooks(node: Node, check_hook: CheckHook) -> Sequence[HookSpec]:
    hooks: list[HookSpec] = []
    ids: set[str] = set()
    for number, item in enumerate(node.items()):
        if number == _MAX_HOOKS:
            raise item.error(f"an action has at most {_MAX_HOOKS} hooks")
        hook = _hook(item, check_hook)
        if hook.id in ids:
            raise item.members()["id"].error(f"duplicate id {hook.id!r}")
        ids.add(hook.id)
        hooks.append(hook)
    if not hooks:
        raise node.error("must have a hook")
    return tuple(hooks)


def _hook(node: Node, check_hook: CheckHook) -> HookSpec:
    fields = node.fields("id", "type", "description", "if", "properties")
    for name in ("id", "type"):
        if name not in fields or fields[name].is_null:
            raise fields.get(name, node).error(f"the field `{name}` is required")
    hook_id = fields["id"].text()
    if _HOOK_ID.fullmatch(hook_id) is None:
        raise fields["id"].error(
            f"{hook_id[:100]!r} is not an id of a hook",
            "It has 2 to 256 letters, digits, `_` and `-`, and begins with a letter or `_`.",
        )
    hook_type = fields["type"].text()
    properties = fields.get("properties")
    plain = {}
    if properties is not None and not properties.is_null:
        plain = {name: member.plain() for name, member in properties.members().items()}
    _check(fields["type"], properties, hook_type, plain, check_hook)
    return HookSpec(
        id=hook_id,
        type=hook_type,
        description=_description(fields),
        condition=_condition(fields.get("if")),
        properties=plain,
        line=node.line,
    )


def _condition(node: Node | None) -> Condition:
    if node is None or node.is_null:
        return AFTER_SUCCESS
    try:
        return parse_condition(node.text())
    except Invalid as error:
        if error.kind == "invalid_action_file":
            raise
        raise node.error(error.message, error.hint) from error


def _check(
    type_node: Node,
    properties: Node | None,
    hook_type: str,
    plain: Mapping[str, Any],
    check_hook: CheckHook,
) -> None:
    """Raises Invalid, with the property that is wrong, if the type does not take the properties."""
    try:
        check_hook(hook_type, plain)
    except NotSupported:
        return  # a library is not installed here; the hook fails where it runs
    except Invalid as error:
        if error.kind == "unknown_hook_type":
            raise type_node.error(error.message, error.hint) from error
        found = _PROPERTY.fullmatch(error.message)
        node = properties or type_node
        if found is None:
            raise node.error(error.message, error.hint) from error
        if properties is None:
            raise type_node.error(error.message, error.hint) from error
        member = properties.members().get(re.split(r"[.\[]", found["name"])[0])
        if member is None:
            raise properties.error(error.message, error.hint) from error
        raise member.error(found["reason"], error.hint) from error
