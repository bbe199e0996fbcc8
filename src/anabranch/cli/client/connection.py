"""The command line's connection to its server: errors become failures with commands in hints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from anabranch.cli.client.server_errors import refusal, unexpected_response
from anabranch.cli.errors import Failure, Usage, file_failure
from anabranch.client.error_responses import ErrorResponse
from anabranch.client.rest_client import Body, Request, RestClient
from anabranch.client.settings import Settings
from anabranch.client.transport import TransportError

__all__ = ["Connection"]


class Connection(RestClient):
    """A connection to the server that the settings name. All methods raise Failure."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            super().__init__(
                settings.server, settings.authorization, environment=environment, sleep=sleep
            )
        except ValueError as error:
            hint = "Correct the address of the server, or of the proxy in the environment."
            raise Usage(f"{settings.server}: {error}", hint=hint) from error

    def upload(
        self,
        *segments: str,
        content: Body,
        size: int | None,
        content_type: str,
        repeatable: bool,
        metadata: Mapping[str, str] | None = None,
        **params: Any,
    ) -> Any:
        """Returns the response to a POST of a body that `content` yields again at each call. With
        `size`, in bytes, the server knows when the body is complete. `metadata` are headers.
        """
        headers = {"Content-Type": content_type, **(metadata or {})}
        if size is not None:
            headers["Content-Length"] = str(size)
        request = Request(
            *("POST", segments, params, headers, lambda: _check_size(content(), size)),
            repeatable=repeatable,
        )
        return self.request_json(request)

    def status_error(self, request: Request, response: ErrorResponse) -> Failure:
        """Returns the failure that a response stands for."""
        where = self.location(request)
        if response.is_redirect:
            return Failure(
                response.message,
                hint="Use the address that it redirects to.",
                where=where,
                status=response.status,
            )
        keys = request.keys + ((request.params["path"],) if "path" in request.params else ())
        return refusal(response, where, asked=request.segments, keys=keys)

    def transport_error(self, request: Request, error: TransportError) -> Failure:
        """Returns the failure of a server that cannot be reached, or of a broken connection."""
        if error.unsent:
            message = f"cannot reach {self.url}: {error}"
            hint = "Is the server running (`anabranch serve`), and is the address right?"
            if "certificate" in str(error).lower():
                hint = "If you trust the server, name its certificate in SSL_CERT_FILE."
        else:
            message = f"the connection to {self.url} broke: {error}"
            hint = "Try again; the server's log may have details."
        return Failure(message, kind="unreachable", hint=hint, where=self.location(request))

    def content_error(self, request: Request, status: int) -> Failure:
        """Returns the failure of a response that no lakeFS-compatible server gives."""
        return unexpected_response(status, self.location(request))


def _check_size(content: Iterable[bytes], size: int | None) -> Iterator[bytes]:
    """Yields the pieces of a body. Raises Failure if they cannot be read, or if their size is not
    the announced one: the server would take the rest for another request.
    """
    remaining = size
    try:
        for chunk in content:
            if remaining is not None:
                remaining -= len(chunk)
                if remaining < 0:
                    break
            yield chunk
    except OSError as error:
        raise file_failure(error) from error
    if remaining:
        raise Failure(
            "the file changed while it was being read",
            kind="file_error",
            hint="Upload it again when it is complete.",
        )
