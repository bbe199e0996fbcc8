"""The REST client of a lake: its errors are those that a lake in a folder raises."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from anabranch.client.error_responses import ErrorResponse, to_error
from anabranch.client.rest_client import Request, RestClient
from anabranch.client.transport import TransportError
from anabranch.errors import AnabranchError, Busy, MergeConflict
from anabranch.model.secret import Secret
from anabranch.remote.wire import conflict_from

__all__ = ["LakeClient"]


class LakeClient(RestClient):
    """Sends the requests of calls."""

    def status_error(self, request: Request, response: ErrorResponse) -> AnabranchError:  # noqa: ARG002
        """Returns the error that a response stands for, with the server's message alone."""
        error = to_error("", response)
        if isinstance(error, MergeConflict) and isinstance(response.document, dict):
            listed: list[Any] = response.document.get("conflicts") or []
            with suppress(msgspec.ValidationError):  # of a server that is newer: the paths stay
                error.conflicts = tuple(
                    conflict_from(each) for each in listed if isinstance(each, dict)
                )
        return error

    def transport_error(self, request: Request, error: TransportError) -> AnabranchError:
        """Returns Busy for a server that cannot be reached (kind unreachable), and for a read whose
        connection broke; OutcomeUnknown for a change that may have been made.
        """
        if not error.unsent:
            return super().transport_error(request, error)
        hint = "Is the server running (`anabranch serve`), and is the address right?"
        if "certificate" in str(error).lower():
            hint = "If you trust the server, name its certificate in SSL_CERT_FILE."
        return Busy(f"cannot reach {self.url}: {error}", kind="unreachable", hint=hint)

    def with_token(self, token: Secret) -> LakeClient:
        """Returns a client of the same server with another token."""
        bearer = Secret(f"Bearer {token.reveal()}")
        return LakeClient(self.url, bearer, timeouts=self._timeouts, retries=self._retries)
