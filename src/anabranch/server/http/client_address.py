"""Client addresses: grouping for the limits on one client, and the trusted proxies."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from anabranch.errors import Invalid

__all__ = ["TrustedProxies", "address_group", "plain_address"]

_MAPPED = "::ffff:"
_IPV6_PREFIX_BITS = 64


def plain_address(host: str) -> str:
    """Returns an IPv4-mapped IPv6 address, as dual-stack sockets report it, as an IPv4 address."""
    return host.removeprefix(_MAPPED) if "." in host else host


def address_group(host: str) -> str:
    """Returns the address or network that is limited as one client: an IPv4 address, or the IPv6
    network of a single subscriber (/64).
    """
    host = plain_address(host)
    if ":" not in host:
        return host
    try:
        plain = host.partition("%")[0]
        return str(ipaddress.IPv6Network((plain, _IPV6_PREFIX_BITS), strict=False))
    except ValueError:
        return host


class TrustedProxies:
    """Addresses and networks of proxies, which name the clients that they serve. Raises Invalid for
    a name that is neither.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        try:
            self._networks = [ipaddress.ip_network(name.strip(), strict=False) for name in names]
        except ValueError as error:
            raise Invalid(
                f"http.trusted_proxies: {error}",
                kind="invalid_settings",
                hint="Give addresses such as 10.0.0.5, or networks such as 10.0.0.0/24.",
            ) from None

    def trust(self, host: str) -> bool:
        """Returns whether an address belongs to a trusted proxy."""
        if not self._networks:
            return False
        try:
            address = ipaddress.ip_address(plain_address(host))
        except ValueError:
            return False
        return any(address in network for network in self._networks)

    def client_of(self, proxy: str, forwarded_for: str) -> str:
        """Returns the address of the client of a trusted proxy, from the values of
        X-Forwarded-For: the last one that is not of a trusted proxy, since a client may send the
        header with any addresses before it. Returns the empty string, no address, if that value is
        none, and the proxy's own address without values.
        """
        client = plain_address(proxy)
        for value in reversed(forwarded_for.split(",")) if forwarded_for else ():
            client = _address(value.strip())
            if not self.trust(client):
                break
        return client


def _address(text: str) -> str:
    """Returns an address without the port that some proxies add; the empty string for none."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)
