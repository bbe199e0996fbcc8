"""Responses with a table: its metadata as they are stored, which are not parsed for that."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.catalog.tables.iceberg.areas import Area
from anabranch.catalog.tables.iceberg.metadata_files import MetadataFile
from anabranch.errors import Corrupt
from anabranch.http.etags import lists_etag
from anabranch.http.response import Response
from anabranch.iceberg.call import Call
from anabranch.iceberg.delegation import (
    file_settings,
    signing_settings,
    table_keys,
    wants_keys,
    wants_signing,
)
from anabranch.iceberg.error_responses import JSON
from anabranch.model.tables.table_record import TableRecord
from anabranch.tables.iceberg.commits.encoded_metadata import decode_metadata

__all__ = ["json_response", "named_snapshots", "not_modified", "table_etag", "table_response"]

_NO_METADATA = b""


def json_response(fields: Mapping[str, Any], status: int = 200) -> Response:
    """Returns a response with a JSON object."""
    return Response(status, msgspec.json.encode(fields), content_type=JSON)


def table_response(
    call: Call,
    area: Area,
    path: str,
    file: MetadataFile,
    *,
    has_keys: bool = True,
    content: bytes = _NO_METADATA,
) -> Response:
    """Returns the response with a table whose record is at a path: `content` are the metadata to
    send, by default those in the file. Without `has_keys`, a client gets neither keys of an area
    nor signatures: for a view, and for a table that was registered, of which files are outside of
    its area.
    """
    config, credentials = file_settings(call), b""
    if has_keys and wants_signing(call):
        config |= signing_settings(call, path)
    if has_keys and wants_keys(call):
        keys = table_keys(call, area, path)
        config |= keys
        prefix = f"{area.location}/"
        credentials = msgspec.json.encode([{"prefix": prefix, "config": {**config}}])
    pieces = [b'{"metadata":', content or file.content]
    if file.location:
        pieces += [b',"metadata-location":', msgspec.json.encode(file.location)]
    pieces += [b',"config":', msgspec.json.encode(config)]
    if credentials:
        pieces += [b',"storage-credentials":', credentials]
    headers = [("ETag", f'"{table_etag(call, file.location)}"')] if file.location else []
    return Response(200, b"".join([*pieces, b"}"]), content_type=JSON, headers=headers)


def table_etag(call: Call, location: str) -> str:
    """Returns the ETag of a table with these metadata, as this request asks for them."""
    named = f"{location} {call.query.get('snapshots', 'all')} {_delegation(call)}"
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _delegation(call: Call) -> str:
    return "signed" if wants_signing(call) else str(wants_keys(call))


def not_modified(call: Call, record: TableRecord) -> Response | None:
    """Returns the response to a client that has the table as it is, None for others."""
    etag = table_etag(call, record.metadata)
    known = call.header("if-none-match")
    if not known or not lists_etag(known, etag):
        return None
    return Response(304, headers=[("ETag", f'"{etag}"')])


def named_snapshots(content: bytes) -> bytes:
    """Returns metadata with those snapshots alone that a branch or a tag of the table names."""
    metadata = decode_metadata(content)
    try:
        refs = metadata.get("refs") or {}
        named = {ref.get("snapshot-id") for ref in refs.values()}
        named.add(metadata.get("current-snapshot-id"))
        snapshots = metadata.get("snapshots") or []
        kept = [each for each in snapshots if each.get("snapshot-id") in named]
    except (AttributeError, TypeError) as error:
        raise Corrupt(f"the metadata are damaged: {error}") from error
    return msgspec.json.encode({**metadata, "snapshots": kept})
