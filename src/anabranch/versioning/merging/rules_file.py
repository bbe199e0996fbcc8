"""The file `_lakefs_merge.yaml`, which has the merge rules of a branch.

    rules:
      - {path: "tables/*.csv", strategy: rows, key: [id]}
      - {path: "models/**", strategy: source-wins}

All fields of a rule but `path` and `strategy` are options of the strategy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import yaml

from anabranch.errors import Invalid, NotSupported
from anabranch.versioning.merging.rules import Rule

__all__ = ["MAX_BYTES", "RULES_FILE", "invalid_file", "parse_rules", "too_long"]

RULES_FILE = "_lakefs_merge.yaml"
MAX_BYTES = 1 << 20
_MAX_DEPTH = 20
_OUTER_DEPTH = 3
"""Of the file, its list of rules and a rule, which have the values."""
_HINT = f"Correct {RULES_FILE} on the destination branch."


@lru_cache(maxsize=64)
def parse_rules(content: bytes) -> Sequence[Rule]:
    """Returns the rules of a file, in order. Raises Invalid (kind invalid_merge_rules) with the
    line and the field that is wrong.
    """
    try:
        text = content.decode("utf-8-sig")
        _require_plain(text)
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _invalid(line, "", "the file is not UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "the file is not YAML"
        raise _invalid(mark.line + 1 if mark else 1, "", problem) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _invalid(1, "", "the file is not YAML") from error
    if root is None:
        return ()
    rules: Sequence[Rule] = ()
    for name, key, value in _members(root, ""):
        if name != "rules":
            raise _invalid(_line(key), name, "unknown field; the file has one field, `rules`")
        if not isinstance(value, yaml.SequenceNode):
            raise _invalid(_line(value), name, "must be a list of rules")
        rules = [_rule(node, f"rules[{number}]") for number, node in enumerate(value.value)]
    return rules


def _require_plain(text: str) -> None:
    """Raises Invalid for aliases, a few of which make a file of any length, and for values nested
    so deep that libyaml would overflow the stack.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        mark = event.start_mark
        line = mark.line + 1 if mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise _invalid(line, "", "aliases are not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH + _OUTER_DEPTH:
            raise _invalid(line, "", f"a value is nested more than {_MAX_DEPTH} levels deep")


def too_long(size: int) -> Invalid:
    """Returns the error for a file of that size in bytes."""
    return _invalid(1, "", f"the file has {size} bytes; at most {MAX_BYTES} are allowed")


def invalid_file() -> Invalid:
    """Returns the error for an invalid file that the caller may not read."""
    return Invalid(f"{RULES_FILE} is invalid", kind="invalid_merge_rules", hint=_HINT)


def _rule(node: yaml.Node, where: str) -> Rule:
    fields: dict[str, tuple[int, Any]] = {}
    for name, key, value in _members(node, where):
        if name in fields:
            raise _invalid(_line(key), f"{where}.{name}", "occurs twice")
        fields[name] = _line(value), _plain(value, f"{where}.{name}")
    texts: dict[str, str] = {}
    for name in ("path", "strategy"):
        if name not in fields:
            raise _invalid(_line(node), f"{where}.{name}", "is missing")
        line, text = fields.pop(name)
        if not isinstance(text, str) or not text:
            raise _invalid(line, f"{where}.{name}", "must be text that is not empty")
        texts[name] = text
    options = {name: value for name, (_, value) in fields.items()}
    try:
        return Rule.of(texts["path"], texts["strategy"], options)
    except (Invalid, NotSupported) as error:
        name = "strategy" if error.kind == "invalid_strategy" else ""
        field = f"{where}.{name}" if name else where
        raise _invalid(_line(node), field, error.message, error.hint) from error


def _members(node: yaml.Node, where: str) -> list[tuple[str, yaml.Node, yaml.Node]]:
    """Returns the members of a mapping: name, key and value."""
    if not isinstance(node, yaml.MappingNode):
        raise _invalid(_line(node), where, "must be a mapping of fields")
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _invalid(_line(key), where, "the names of fields must be text")
    return [(key.value, key, value) for key, value in node.value]


def _plain(node: yaml.Node, where: str, depth: int = 0) -> Any:
    """Returns the value of a node."""
    if depth > _MAX_DEPTH:
        raise _invalid(_line(node), where, f"is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        members = _members(node, where)
        return {name: _plain(value, f"{where}.{name}", depth + 1) for name, _, value in members}
    try:
        return yaml.SafeLoader("").construct_object(node)
    # for a value that is not of its tag, as in `!!timestamp a`, the library raises any of these
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, OverflowError) as error:
        raise _invalid(_line(node), where, "is not a value of YAML") from error


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _invalid(line: int, field: str, reason: str, hint: str = "") -> Invalid:
    subject = f"{RULES_FILE}, line {line}: " + (f"field {field}: " if field else "")
    return Invalid(
        subject + reason, kind="invalid_merge_rules", hint=f"{_HINT} {hint}" if hint else _HINT
    )
