"""`encoding/json`, `encoding/yaml` and `encoding/xml`."""

from __future__ import annotations

import json as codec
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import yaml as yaml_codec

from anabranch.actions.hooks.contract import HookContext

__all__ = ["json", "json_text", "parse_xml", "xml", "yaml"]

_ESCAPED = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_MAX_DEPTH = 100
_MAX_EXACT_EXPONENT = 21


def json(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/json`. As Go's, it sorts keys, escapes what has a meaning in
    HTML and ends with a line feed; the options are `prefix` and `indent`.
    """

    def marshal(value: Any, options: Any = None) -> str:
        given = options or {}
        indent, prefix = given.get("indent") or "", given.get("prefix") or ""
        text = json_text(value, indent=indent if options else None)
        return text.replace("\n", f"\n{prefix}") + "\n"

    def unmarshal(text: str) -> Any:
        return codec.loads(text, parse_constant=_no_constant)

    return {"marshal": marshal, "unmarshal": unmarshal}


def json_text(value: Any, *, indent: str | None = None) -> str:
    """Returns a value as JSON in Go's form."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = codec.dumps(
        _whole(value),
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        indent=indent,
        separators=separators,
    )
    return text.translate(_ESCAPED)


def yaml(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/yaml`."""

    def marshal(value: Any) -> str:
        return str(
            yaml_codec.dump(
                _whole(value), Dumper=yaml_codec.CSafeDumper, allow_unicode=True, indent=4
            )
        )

    def unmarshal(text: str) -> Any:
        depth = 0
        for event in yaml_codec.parse(text, Loader=yaml_codec.CSafeLoader):
            depth += isinstance(event, yaml_codec.CollectionStartEvent)
            depth -= isinstance(event, yaml_codec.CollectionEndEvent)
            if depth > _MAX_DEPTH:  # libyaml would overflow the stack
                raise ValueError(f"values are nested more than {_MAX_DEPTH} levels deep")
        return yaml_codec.load(text, Loader=yaml_codec.CSafeLoader)

    return {"marshal": marshal, "unmarshal": unmarshal}


def xml(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/xml`. An element is a table with `name`, `attributes`, `text`
    (its own, joined) and `children`.
    """

    def unmarshal(text: bytes) -> Mapping[str, Any]:
        return _table(parse_xml(text))

    return {"unmarshal": unmarshal}


def parse_xml(text: bytes) -> Element:
    """Returns the root element. Raises ValueError, also for document types, whose entities can grow
    without limit, and for elements that are nested too deep.
    """
    builder = TreeBuilder()
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise ValueError(f"elements are nested more than {_MAX_DEPTH} levels deep")
        builder.start(_qualify(name), attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_qualify(name))

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _no_document_type
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ValueError(f"invalid XML: {error}") from error
    return builder.close()


def _table(element: Element) -> dict[str, Any]:
    return {
        "name": element.tag.rpartition("}")[2],
        "attributes": dict(element.attrib),
        "text": (element.text or "") + "".join(child.tail or "" for child in element),
        "children": [_table(child) for child in element],
    }


def _qualify(name: str) -> str:
    return "{" + name if "}" in name else name


def _no_document_type(*_: object) -> None:
    raise ValueError("a document type is not allowed")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


def _whole(value: Any) -> Any:
    """Returns a value in which numbers without a fraction are integers, as Go writes them."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**_MAX_EXACT_EXPONENT:
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value
