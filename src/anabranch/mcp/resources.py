"""Resources: objects and folders of the lake by their addresses, `lakefs://REPOSITORY/REF/PATH`."""

from __future__ import annotations

import re
from base64 import b64encode

from mcp import types

from anabranch.errors import Invalid
from anabranch.mcp.api import Api
from anabranch.mcp.limits import MAX_CONTENT_BYTES
from anabranch.mcp.marked_data import mark_data
from anabranch.mcp.results import encode
from anabranch.mcp.text_content import whole_characters
from anabranch.mcp.tools.objects import ListObjects, list_objects, total_size
from anabranch.mcp.tools.repositories import ListRepositories, list_repositories
from anabranch.model.uri import SCHEME, LakeUri, parse_uri

__all__ = ["TEMPLATES", "list_resources", "media_type", "read_resource"]

_JSON, _BYTES = "application/json", "application/octet-stream"

_MEDIA_TYPE = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,80}")

TEMPLATES = (
    types.ResourceTemplate(
        name="object",
        title="Object of the lake",
        uri_template="lakefs://{repository}/{reference}/{+path}",
        description="An object at a branch, tag or commit: its first 64 KiB. A path that ends with "
        "a slash is a folder, whose objects are listed.",
    ),
    types.ResourceTemplate(
        name="reference",
        title="Branch, tag or commit",
        uri_template="lakefs://{repository}/{reference}/",
        description="The objects and folders at the top of a branch, tag or commit.",
        mime_type=_JSON,
    ),
)


def list_resources(api: Api) -> list[types.Resource]:
    """Returns the default branches of the repositories that the caller may see, at most 100."""
    found = list_repositories(api, ListRepositories(amount=100)).data["results"]
    return [
        types.Resource(
            name=each["id"],
            uri=f"{SCHEME}{each['id']}/{each['default_branch']}/",
            description=f"The objects of {each['id']} at {each['default_branch']}.",
            mime_type=_JSON,
        )
        for each in found
    ]


def read_resource(api: Api, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
    """Returns an object's bytes or a folder's listing. Text is marked as data."""
    address = parse_uri(uri)
    if not address.ref:
        raise Invalid(
            f"{uri} names no branch, tag or commit",
            kind="invalid_uri",
            hint=f"Write it like {SCHEME}REPOSITORY/main/PATH.",
        )
    if not address.key or address.key.endswith("/"):
        asked = ListObjects(
            repository=address.repository, reference=address.ref, prefix=address.key, amount=100
        )
        text = mark_data([encode(list_objects(api, asked).data)])
        return types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
    return _read_object(api, uri, address)


def _read_object(
    api: Api, uri: str, address: LakeUri
) -> types.TextResourceContents | types.BlobResourceContents:
    api = api.reading_at(address.repository, address.ref)
    place = ("repositories", address.repository, "refs", address.ref, "objects")
    size = api.get(*place, "stat", path=address.key)["size_bytes"]
    if not size:
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=mark_data([""]))
    read = api.read(*place, path=address.key, start=0, length=MAX_CONTENT_BYTES)
    kind = media_type(read.headers.get("content-type", ""))
    meta = {"size_bytes": total_size(read, size), "length": len(read.body)}
    text = whole_characters(read.body)
    if text is not None:
        return types.TextResourceContents(
            uri=uri, mime_type=kind, text=mark_data([text]), _meta=meta
        )
    blob = b64encode(read.body).decode()
    return types.BlobResourceContents(uri=uri, mime_type=kind, blob=blob, _meta=meta)


def media_type(stated: str) -> str:
    """Returns the type and subtype of a stated media type; that of bytes for any other text, since
    users state it, and it has no marks around it.
    """
    kind = stated.partition(";")[0].strip().lower()
    return kind if _MEDIA_TYPE.fullmatch(kind) else _BYTES
