"""Which network addresses the server may connect to on behalf of a user.

Names are resolved first and the addresses are checked, since any name can lead anywhere. Callers
connect to the address that was checked, not to the name, which may have another address by then.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple

from anabranch.errors import Busy, Invalid

__all__ = ["AddressGuard", "Destination", "Resolve"]

_DENIED = tuple(
    map(
        ip_network,
        (
            # IANA's registries of special-purpose addresses, IPv4
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # the platform service of Azure's virtual machines
            # and within IPv6's global unicast addresses
            *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")

_Found = Sequence[tuple[int, int, int, str, tuple[Any, ...]]]

Resolve = Callable[..., _Found]
"""`socket.getaddrinfo`."""


class Destination(NamedTuple):
    """An address that was checked, for `socket.socket(family).connect(address)`."""

    family: int
    address: tuple[Any, ...]


class AddressGuard:
    """Permits addresses of the networks in `allow`, such as `10.1.0.0/16` or `127.0.0.1`, and, if
    `public`, those of the public internet. Raises Invalid (kind invalid_network) for what is no
    network.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        *,
        public: bool = True,
        resolve: Resolve = socket.getaddrinfo,
    ) -> None:
        try:
            self._allowed = [ip_network(text.strip(), strict=False) for text in allow]
        except ValueError as error:
            raise Invalid(
                f"{error}",
                kind="invalid_network",
                hint="Give networks such as 10.1.0.0/16, or addresses such as 10.1.0.5.",
            ) from None
        self._public = public
        self._resolve = resolve

    def permits(self, address: str) -> bool:
        """Returns whether the server may connect to an IP address. An IPv6 address that stands for
        an IPv4 address is checked as that one.
        """
        parsed = _plain(address)
        if any(parsed in network for network in self._allowed):
            return True
        if not self._public:
            return False
        if isinstance(parsed, IPv6Address) and parsed not in _GLOBAL_UNICAST:
            return False
        return not any(parsed in network for network in _DENIED)

    def destinations(self, host: str, port: int, timeout: float) -> list[Destination]:
        """Returns the permitted addresses of a host, in the resolver's order. Raises Invalid (kind
        address_denied) if there is none, Busy if the name has no address (kind outbound_failed) or
        is not resolved within `timeout` seconds (outbound_timeout).
        """
        found = self._addresses(host, port, timeout)
        permitted = [
            Destination(family, address)
            for family, _, _, _, address in found
            if self.permits(str(address[0]))
        ]
        if not permitted:
            # the addresses themselves are not told: they may be those of a private network
            raise Invalid(
                f"the address of {host} is not permitted",
                kind="address_denied",
                hint="Only addresses of the public internet are, and those that the server's "
                "operator allows."
                if self._public
                else "Only addresses that the server's operator allows are.",
            )
        return permitted

    def _addresses(self, host: str, port: int, timeout: float) -> _Found:
        results: queue.SimpleQueue[object] = queue.SimpleQueue()

        def resolve() -> None:
            try:
                results.put(self._resolve(host, port, type=socket.SOCK_STREAM))
            except (OSError, UnicodeError, ValueError) as error:
                results.put(error)

        # a resolver has its own time limits, which are longer than those of requests
        threading.Thread(target=resolve, name="resolve", daemon=True).start()
        try:
            result = results.get(timeout=max(timeout, 0))
        except queue.Empty:
            raise Busy(
                f"{host}: the name was not resolved in time",
                kind="outbound_timeout",
                hint="Check the name.",
            ) from None
        if isinstance(result, list):
            return result
        reason = getattr(result, "strerror", None) or result
        raise Busy(f"{host}: {reason}", kind="outbound_failed", hint="Check the name.")


def _plain(text: str) -> IPv4Address | IPv6Address:
    """Returns an address; the IPv4 address for an IPv6 address that a network translates to it."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address
