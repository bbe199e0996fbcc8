"""Calls of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from anabranch import errors
from anabranch.errors import AnabranchError, Denied
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.model.objects.stat import CommonPrefix, Stat
from anabranch.model.page import Page
from anabranch.remote.call import Call, Exchange, Listing, Pagination, Reply, WirePage, change, read
from anabranch.remote.calls.contents import ReadMany
from anabranch.remote.calls.open_object import Open
from anabranch.remote.calls.results import nothing, stat_result
from anabranch.remote.calls.upload import Upload
from anabranch.remote.remote_object import RemoteObject
from anabranch.remote.wire import WireObject

__all__ = [
    "copy",
    "delete",
    "delete_many",
    "listing",
    "open_object",
    "read_many",
    "set_user_metadata",
    "stat",
    "upload",
]


class _ObjectError(msgspec.Struct, frozen=True):
    path: str
    message: str
    error: str = "AnabranchError"
    kind: str = ""
    hint: str = ""


class _ObjectErrors(msgspec.Struct, frozen=True):
    errors: list[_ObjectError]


_PAGE = msgspec.json.Decoder(WirePage[WireObject])
_ERRORS = msgspec.json.Decoder(_ObjectErrors)


def stat(repository: str, reference: str, path: str) -> Call[Stat]:
    """Returns the properties of the object at a path. Raises NotFound."""
    return Exchange(read([*_at(repository, reference), "stat"], path=path), stat_result)


def open_object(repository: str, reference: str, path: str) -> Call[RemoteObject]:
    """Returns the object at a path, open for reading. Raises NotFound."""
    return Open(tuple(_at(repository, reference)), path)


def read_many(
    repository: str, reference: str, paths: Sequence[str]
) -> Call[list[bytes | AnabranchError]]:
    """Returns the contents of objects, in order, or the error in place of one: up to 1,000 at a
    time, each time as they are at one moment. Raises NotFound for the reference, Denied if one of
    the paths may not be read.
    """
    return ReadMany(tuple(_at(repository, reference)), list(paths))


def listing(
    repository: str,
    reference: str,
    *,
    prefix: str = "",
    after: str = "",
    delimiter: str = "",
    amount: int,
) -> Call[Page[Stat | CommonPrefix]]:
    """Returns a page of the objects at a reference."""
    request = read(
        [*_at(repository, reference), "ls"], prefix=prefix, after=after, delimiter=delimiter
    )
    return Listing(request, _page, amount)


def upload(
    repository: str,
    branch: str,
    path: str,
    chunks: Iterable[bytes],
    *,
    content_type: str = DEFAULT_CONTENT_TYPE,
    metadata: Mapping[str, str] | None = None,
    if_absent: bool = False,
    storage_class: str = "",
    force: bool = False,
) -> Call[Stat]:
    """Stores an object on a branch, uncommitted, whole or not at all. Raises PreconditionFailed if
    `if_absent` is set and there is an object, and what `chunks` raises.

    An upload is repeated if the connection breaks and `chunks` can be read again, as a list can,
    unless `if_absent` is set.
    """
    params = {"path": path, "storageClass": storage_class, "force": force}
    return Upload(
        tuple(_on(repository, branch)),
        {name: value for name, value in params.items() if value},
        chunks,
        content_type=content_type,
        metadata=dict(metadata or {}),
        if_absent=if_absent,
    )


def copy(
    repository: str,
    branch: str,
    destination_path: str,
    *,
    source_path: str,
    source_ref: str = "",
    source_repository: str = "",
    if_absent: bool = False,
    force: bool = False,
    shallow: bool = False,
) -> Call[Stat]:
    """Copies an object from `source_ref`, by default the branch itself, to a path of the branch. A
    `shallow` copy refers to the bytes of the source, wherever they are.
    """
    body = {"src_path": source_path, "src_ref": source_ref, "force": force, "shallow": shallow}
    if source_repository:
        body["src_repository"] = source_repository
        body["src_ref"] = source_ref or branch
    request = change(
        "POST",
        [*_on(repository, branch), "copy"],
        body,
        headers={"If-None-Match": "*"} if if_absent else None,
        dest_path=destination_path,
    )
    return Exchange(request, stat_result)


def delete(repository: str, branch: str, path: str, *, force: bool = False) -> Call[None]:
    """Deletes an object from a branch, if it exists."""
    request = change("DELETE", _on(repository, branch), repeatable=True, path=path, force=force)
    return Exchange(request, nothing)


def delete_many(
    repository: str, branch: str, paths: Sequence[str], *, force: bool = False
) -> Call[list[tuple[str, AnabranchError]]]:
    """Deletes up to 1,000 objects in one step; returns the paths that were not deleted, with the
    reason. Raises ReadOnlyRepository and ProtectedBranch.
    """
    segments = [*_on(repository, branch), "delete"]
    body = {"paths": list(paths)}
    request = change("POST", segments, body, repeatable=True, force=force, include_kinds=True)
    return Exchange(request, _not_deleted)


def set_user_metadata(
    repository: str,
    branch: str,
    path: str,
    metadata: Mapping[str, str],
    *,
    force: bool = False,
) -> Call[None]:
    """Replaces an object's user metadata. Raises NotFound."""
    body = {"set": dict(metadata), "force": force or None}
    segments = [*_on(repository, branch), "stat", "user_metadata"]
    return Exchange(change("PUT", segments, body, repeatable=True, path=path), nothing)


def _at(repository: str, reference: str) -> list[str]:
    return ["repositories", repository, "refs", reference, "objects"]


def _on(repository: str, branch: str) -> list[str]:
    return ["repositories", repository, "branches", branch, "objects"]


def _page(body: bytes) -> tuple[list[Stat | CommonPrefix], Pagination]:
    page = _PAGE.decode(body)
    return [each.item() for each in page.results], page.pagination


def _not_deleted(reply: Reply) -> list[tuple[str, AnabranchError]]:
    found = [(each.path, _to_error(each)) for each in _ERRORS.decode(reply.body).errors]
    for _, error in found:
        if isinstance(error, Denied):  # as in lakeFS, it is repeated for each path
            raise error
    return found


def _to_error(each: _ObjectError) -> AnabranchError:
    named = getattr(errors, each.error, AnabranchError)
    error: AnabranchError = named.__new__(named)
    AnabranchError.__init__(error, each.message, kind=each.kind or None, hint=each.hint or None)
    return error
