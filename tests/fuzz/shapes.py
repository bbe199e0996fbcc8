"""Shapes of formats: how the structure in a seed is read into a tree, and written again.

Writers accept what readers of the format would refuse: names twice, NaN, lone surrogates.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from typing import NamedTuple
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

import fastavro
import yaml
from fuzz.structures import Members, Nested, Tree

__all__ = ["AVRO", "JSON", "JSON_LINES", "XML", "YAML", "Shape"]


class Shape(NamedTuple):
    """`read` returns the tree in bytes, None for bytes that have none."""

    read: Callable[[bytes], Tree | None]
    write: Callable[[Tree], bytes]


def _read_json(data: bytes) -> Tree | None:
    try:
        return json.loads(data, object_pairs_hook=Members)
    except (ValueError, RecursionError):
        return None


def _write_json(tree: Tree) -> bytes:
    return _json_text(tree).encode("utf-8", "surrogatepass")


def _json_text(tree: Tree) -> str:
    match tree:
        case Nested(depth, inner, True):
            return '{"a":' * depth + _json_text(inner) + "}" * depth
        case Nested(depth, inner, False):
            return "[" * depth + _json_text(inner) + "]" * depth
        case Members():
            return "{" + ",".join(f"{json.dumps(k)}:{_json_text(v)}" for k, v in tree) + "}"
        case list():
            return "[" + ",".join(map(_json_text, tree)) + "]"
        case int() if not isinstance(tree, bool) and abs(tree) > 2**64:
            return f"{'-' * (tree < 0)}1{'0' * 5000}"  # longer than Python reads by default
        case _:
            return json.dumps(tree)


def _read_lines(data: bytes) -> Tree | None:
    lines = [_read_json(line) for line in data.splitlines()]
    return lines if lines and None not in lines else None


def _write_lines(tree: Tree) -> bytes:
    return b"\n".join(map(_write_json, tree if isinstance(tree, list) else [tree]))


def _read_yaml(data: bytes) -> Tree | None:
    try:
        return _with_members(yaml.load(data, Loader=yaml.CSafeLoader))
    except Exception:  # noqa: BLE001  the library raises any for values that are not of their tags
        return None


def _with_members(value: Tree) -> Tree:
    if isinstance(value, dict):
        return Members((str(name), _with_members(each)) for name, each in value.items())
    return [_with_members(each) for each in value] if isinstance(value, list) else value


def _write_yaml(tree: Tree) -> bytes:
    return _write_json(tree) + b"\n"  # YAML has JSON in it


def _read_xml(data: bytes) -> Tree | None:
    try:
        root = ET.fromstring(data)  # noqa: S314  a seed
    except (ET.ParseError, ValueError, LookupError):
        return None
    return Members([(root.tag, _children(root))])


def _children(element: ET.Element) -> Tree:
    if not len(element):
        return element.text or ""
    return Members((child.tag, _children(child)) for child in element)


def _write_xml(tree: Tree) -> bytes:
    return _xml_text(tree, "").encode("utf-8", "surrogatepass")


def _xml_text(tree: Tree, space: str) -> str:
    match tree:
        case Nested(depth, inner, _):
            return "<a>" * depth + _xml_text(inner, space) + "</a>" * depth
        case Members():
            return "".join(_element(name, value, space) for name, value in tree)
        case list():
            return "".join(_element("item", value, space) for value in tree)
        case int() if abs(tree) > 2**64:
            return "9" * 5000
        case _:
            return escape(str(tree))


def _element(tag: str, value: Tree, space: str) -> str:
    own, _, name = tag.rpartition("}")
    declared = "" if own in ("", space) else f' xmlns="{own[1:]}"'
    return f"<{name}{declared}>{_xml_text(value, own or space)}</{name}>"


_MAGIC = b"Obj\x01"


def _read_avro(data: bytes) -> Tree | None:
    """Returns the schema of an Avro file, its other metadata, and its blocks as one text."""
    stream = io.BytesIO(data)
    try:
        header = fastavro.schemaless_reader(stream, _HEADER, None)
        pairs = [(key, value.decode()) for key, value in header["meta"].items()]
    except Exception:  # noqa: BLE001  fastavro raises any
        return None
    schema = _read_json(dict(pairs).get("avro.schema", "").encode())
    rest = (header["sync"] + data[stream.tell() :]).decode("latin-1")
    others = [pair for pair in pairs if pair[0] != "avro.schema"]
    return None if schema is None else [schema, Members(others), rest]


def _write_avro(tree: Tree) -> bytes:
    schema, meta, rest = (*tree, "", "", "")[:3] if isinstance(tree, list) else (tree, "", "")
    pairs = [("avro.schema", _write_json(schema))]
    for name, value in meta if isinstance(meta, Members) else ():
        pairs.append(
            (
                name,
                value.encode("utf-8", "surrogatepass")
                if isinstance(value, str)
                else _write_json(value),
            )
        )
    stream = io.BytesIO()
    stream.write(_MAGIC + _varint(len(pairs)))
    for name, content in pairs:
        raw = name.encode("utf-8", "surrogatepass")
        stream.write(_varint(len(raw)) + raw + _varint(len(content)) + content)
    stream.write(_varint(0))
    if isinstance(rest, str):
        stream.write(rest.encode("latin-1", "replace"))
    return stream.getvalue()


def _varint(number: int) -> bytes:
    value, found = number << 1, b""
    while value > 0x7F:
        found += struct.pack("B", value & 0x7F | 0x80)
        value >>= 7
    return found + struct.pack("B", value)


_HEADER = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": 16}},
        ],
    }
)

JSON = Shape(_read_json, _write_json)
JSON_LINES = Shape(_read_lines, _write_lines)
YAML = Shape(_read_yaml, _write_yaml)
XML = Shape(_read_xml, _write_xml)
AVRO = Shape(_read_avro, _write_avro)
