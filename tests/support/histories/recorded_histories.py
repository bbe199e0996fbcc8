"""Histories of requests with the responses of lakeFS, played on another server.

`tests/data/lakefs-1.84/README.md` describes the records.
"""

from __future__ import annotations

import base64
import gzip
import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from anabranch.testing.server import Server
from support.histories.recorded_names import Names

__all__ = ["Played", "play", "read_histories"]

Record = Mapping[str, Any]

_HEADERS = (
    *("content-type", "etag", "content-range", "last-modified"),
    *("accept-ranges", "content-disposition"),
)
_TIMEOUT_SECONDS = 60


class Played(NamedTuple):
    """An operation of a history with the recorded response and the server's, with names."""

    number: int
    kind: str
    recorded: Record
    response: Record
    is_fault: bool
    """Whether lakeFS's response is one of its faults."""

    @property
    def agrees(self) -> bool:
        """Whether the responses are equal; of messages only the first lines are compared."""
        return _first_lines(self.recorded) == _first_lines(self.response)


def read_histories(path: Path) -> list[Record]:
    """Returns the histories of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def play(history: Record, server: Server, repository: str) -> Iterator[Played]:
    """Plays a history in a new repository of that name and yields its operations."""
    names = Names(
        repository,
        server.storage.partition(":")[0],
        trees_agree=history["kind"] == "exact",
    )
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(
        address.hostname or "", address.port, timeout=_TIMEOUT_SECONDS
    )
    pair = base64.b64encode(":".join(server.auth).encode()).decode()
    try:
        for operation in history["operations"]:
            number, request = operation["n"], operation["request"]
            login = {"Authorization": f"Basic {pair}"}
            if "unknown" in request.get("body", ()):
                # lakeFS ignores the field; the request without it has the recorded response
                refused = _send(connection, names, number, request, login)
                assert refused["status"] == 400
                assert 'property "unknown" is unsupported' in refused["body"]["message"]
                known = {key: each for key, each in request["body"].items() if key != "unknown"}
                request = {**request, "body": known}
            response = _send(connection, names, number, request, login)
            yield Played(
                number,
                operation["kind"],
                operation["answer"],
                response,
                is_fault="fault" in operation,
            )
    finally:
        connection.close()


def _send(
    connection: http.client.HTTPConnection,
    names: Names,
    number: int,
    request: Record,
    headers: Mapping[str, str],
) -> Record:
    target = quote("/api/v1" + names.resolve(request["path"]), safe="%/:~$@-_.")
    if request.get("query"):
        pairs = ((key, names.resolve(value)) for key, value in request["query"])
        target += "?" + "&".join(f"{quote(key, safe='')}={quote(to, safe='')}" for key, to in pairs)
    body = None
    sent = dict(headers)
    if "body" in request:
        body = json.dumps(names.resolve_all(request["body"])).encode()
        sent["Content-Type"] = "application/json"
    elif "raw" in request:
        body = names.resolve(request["raw"]).encode()
    given = request.get("headers", {})
    sent |= {name: names.resolve(value) for name, value in given.items()}
    connection.request(request["method"], target, body, sent)
    response = connection.getresponse()
    return _normal(response, names, number, head=request["method"] == "HEAD")


def _normal(response: http.client.HTTPResponse, names: Names, number: int, *, head: bool) -> Record:
    data = response.read()
    got = {name.lower(): value for name, value in response.getheaders()}
    headers = {name: names.replace(got[name], number, name) for name in _HEADERS if name in got}
    if head and "content-length" in got:
        headers["content-length"] = got["content-length"]
    normal: dict[str, Any] = {"status": response.status}
    if headers:
        normal["headers"] = headers
    try:
        body = json.loads(data) if data and "json" in got.get("content-type", "") else None
    except ValueError:  # an object of that content type
        body = None
    if body is not None:
        normal["body"] = names.replace_all(body, number)
    elif data:
        normal["text"] = names.replace(data.decode("utf-8", "replace"), number, "")
    return normal


def _first_lines(response: Record) -> Record:
    body = response.get("body")
    if not isinstance(body, Mapping) or not isinstance(body.get("message"), str):
        return response
    return {**response, "body": {**body, "message": body["message"].partition("\n")[0]}}
