"""Calls: requests as data, with the way from their responses to results.

A call is made by a function of `calls/` and run by a client: at once, or in a thread by the
asynchronous lake.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from anabranch.client.rest_client import Request, RestClient
from anabranch.client.transport import Response
from anabranch.errors import Invalid
from anabranch.model.page import MAX_AMOUNT, Page

__all__ = [
    "Call",
    "Exchange",
    "Listing",
    "Pagination",
    "Reply",
    "WirePage",
    "change",
    "read",
    "require_amount",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Item = TypeVar("Item")

KEY_HEADER = "Idempotency-Key"


class Reply(NamedTuple):
    """A response with a status of success, and its body."""

    response: Response
    body: bytes


class Call(Protocol[T_co]):
    """What a client can run."""

    def run(self, client: RestClient) -> T_co:
        """Sends the requests of the call and returns its result. Raises AnabranchError."""


@dataclass(frozen=True, slots=True)
class Exchange(Generic[T]):
    """One request. A `keyed` one is a change that the server makes once, however often the request
    arrives: each run has an idempotency key of its own.
    """

    request: Request
    result: Callable[[Reply], T]
    keyed: bool = False

    def run(self, client: RestClient) -> T:
        """Sends the request and returns its result. Raises AnabranchError."""
        request = self.request
        if self.keyed:
            headers = {**request.headers, KEY_HEADER: str(uuid.uuid4())}
            request = request._replace(headers=headers, repeatable=True)
        response = client.exchange(request)
        reply = Reply(response, client.read(request, response))
        try:
            return self.result(reply)
        except msgspec.MsgspecError as error:
            raise client.content_error(request, response.status) from error


class Pagination(msgspec.Struct, frozen=True):
    """Where a page of a listing ends."""

    has_more: bool
    next_offset: str = ""


class WirePage(msgspec.Struct, Generic[Item], frozen=True):
    """A page of a listing as servers send it."""

    pagination: Pagination
    results: list[Item]


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """A listing of `amount` items: the server sends at most 1,000 of them at once, so it can take
    several requests.
    """

    request: Request
    page: Callable[[bytes], tuple[list[T], Pagination]]
    amount: int

    def run(self, client: RestClient) -> Page[T]:
        """Returns the page. Raises AnabranchError."""
        require_amount(self.amount)
        items: list[T] = []
        request = self.request
        while True:
            amount = min(self.amount - len(items), MAX_AMOUNT)
            request = request._replace(params={**request.params, "amount": amount})
            part, pagination = Exchange(request, self._decode).run(client)
            items += part
            is_full = len(items) >= self.amount
            if is_full or not pagination.has_more or not pagination.next_offset:
                return Page(items, pagination.has_more, pagination.next_offset)
            request = request._replace(params={**request.params, "after": pagination.next_offset})

    def _decode(self, reply: Reply) -> tuple[list[T], Pagination]:
        return self.page(reply.body)


def require_amount(amount: int) -> int:
    """Returns the length of a page. Raises Invalid unless it is at least 1."""
    if amount < 1:
        raise Invalid(f"amount is {amount}, at least 1 is possible", kind="invalid_amount")
    return amount


def read(segments: Sequence[str], **params: Any) -> Request:
    """Returns a request that changes nothing."""
    return Request("GET", tuple(segments), _params(params), repeatable=True)


def change(
    method: str,
    segments: Sequence[str],
    body: Mapping[str, Any] | None = None,
    *,
    repeatable: bool = False,
    headers: Mapping[str, str] | None = None,
    **params: Any,
) -> Request:
    """Returns a request with a JSON body; a `repeatable` one does no harm if it arrives twice."""
    sent = dict(headers or {})
    content = None
    if body is not None:
        content = msgspec.json.encode({k: v for k, v in body.items() if v is not None})
        sent["Content-Type"] = "application/json"
    return Request(method, tuple(segments), _params(params), sent, content, repeatable=repeatable)


def _params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters that say something else than the default of the server."""
    return {
        name: "true" if value is True else value
        for name, value in params.items()
        if value is not None and value is not False and value not in {"", ()}
    }
