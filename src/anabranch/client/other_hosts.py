"""Requests to whole addresses at hosts other than the server, such as presigned ones of its store.

The server's credentials are not sent there: an address says itself what it permits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from anabranch.client.transport import Response, Transport, TransportError

__all__ = ["OtherHosts"]


class OtherHosts:
    """Connections to any number of hosts, through the proxy that `environment` names for each. May
    be used from several threads.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._transports: dict[str, Transport] = {}

    def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] | None = None,
        *,
        timeout: float = 600.0,
        connect_timeout: float = 10.0,
    ) -> Response:
        """Returns the response to a request, whatever its status. Raises TransportError, also for
        what is no address.
        """
        try:
            parts = urlsplit(url)
            transport = self._transport(f"{parts.scheme}://{parts.netloc}")
        except ValueError as error:
            raise TransportError(f"not an address: {error}", unsent=True) from error
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        sent = {"User-Agent": "anabranch", **headers}
        return transport.send(
            *(method, target, sent, body), timeout=timeout, connect_timeout=connect_timeout
        )

    def close(self) -> None:
        """Closes all connections."""
        for transport in [*self._transports.values()]:
            transport.close()

    def abort(self) -> None:
        """Breaks the connections of the requests in flight."""
        for transport in [*self._transports.values()]:
            transport.abort()

    def _transport(self, origin: str) -> Transport:
        """Returns the connections to a host. Raises ValueError for what is none."""
        found = self._transports.get(origin)
        if found is None:
            if not origin.startswith(("http://", "https://")):
                raise ValueError(origin)
            found = self._transports.setdefault(origin, Transport(origin, self._environment))
        return found
