"""Addresses of clients behind proxies."""

from __future__ import annotations

import pytest

from anabranch.server.http.client_address import TrustedProxies

PROXIES = TrustedProxies(["10.0.0.0/8", "2001:db8::/32"])


@pytest.mark.parametrize(
    ("forwarded_for", "client"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("198.51.100.7,10.0.0.9 , 10.1.1.1", "198.51.100.7"),
        ("10.9.9.9, 10.1.1.1", "10.9.9.9"),
        ("198.51.100.7:8080", "198.51.100.7"),
        ("[2001:db9::1]:443", "2001:db9::1"),
        ("2001:db9::1", "2001:db9::1"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("fe80::1%eth0", "fe80::1"),
        ("198.51.100.7, unknown", ""),
        ("198.51.100.7,", ""),
        ("", "10.0.0.5"),
    ],
)
def test_the_client_is_the_last_address_that_is_not_a_trusted_proxy(forwarded_for, client):
    assert PROXIES.client_of("10.0.0.5", forwarded_for) == client
