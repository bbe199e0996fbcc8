"""A call of an operation: what came over the wire, and what it was understood as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

from anabranch.access.actor import Actor
from anabranch.rest.services import Services

__all__ = ["Call", "Request"]

ParamsT = TypeVar("ParamsT")
BodyT = TypeVar("BodyT")


class Request:
    """What came over the wire, undecoded.

    `segments` are the path's parameters in order, `query` is the query string, `headers` have
    lower-case names and hold the first value of each, `body` is a whole body and `content` one
    that is still coming in; iterating over it raises Truncated if it breaks off. `id` is the
    request's name in logs.
    """

    __slots__ = ("body", "content", "headers", "id", "query", "secure", "segments")

    def __init__(
        self,
        segments: Mapping[str, str],
        query: bytes,
        headers: Mapping[bytes, bytes],
        *,
        id: bytes = b"",
        body: bytes = b"",
        content: Iterable[bytes] = (),
        secure: bool = False,
    ) -> None:
        self.segments = segments
        self.query = query
        self.headers = headers
        self.id = id
        self.body = body
        self.content = content
        self.secure = secure

    def header(self, name: bytes) -> str:
        """Returns a header's value, the empty string without one."""
        value = self.headers.get(name)
        return "" if value is None else header_text(value)


class Call(Generic[ParamsT, BodyT]):
    """A call that has been validated and permitted. `actor` is None only where the operation
    lets in people it does not know, `body` is None only where it is optional.
    """

    __slots__ = ("actor", "body", "params", "request", "services")

    def __init__(
        self,
        services: Services,
        request: Request,
        params: ParamsT,
        body: BodyT,
        actor: Actor | None,
    ) -> None:
        self.services = services
        self.request = request
        self.params = params
        self.body = body
        self.actor = actor

    @property
    def committer(self) -> str:
        """The name that the caller's commits carry."""
        return "" if self.actor is None else self.actor.committer


def header_text(value: bytes) -> str:
    """Returns a header's bytes as text: UTF-8, which clients send, or Latin-1, which HTTP says."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
