"""Which addresses the server may connect to, however they are spelled."""

import ipaddress
import socket
import threading
import time

import pytest

from anabranch.errors import Busy, Invalid
from anabranch.outbound.address_guard import AddressGuard


def resolving(*addresses):
    """A guard for which every name has these addresses."""

    def resolve(_host, port, **_):
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in addresses
        ]

    return resolve


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104  it is not bound to
        *("127.0.0.1", "127.255.255.254", "0.1.2.3", "10.0.0.1", "172.16.0.1"),
        *("172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.170.2", "100.64.0.1"),
        *("100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1"),
        *("240.0.0.1", "255.255.255.255", "192.0.2.1", "192.88.99.1"),
        *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fd20:ce::254"),
        *("fec0::1", "ff02::1", "100::1", "2001:db8::1", "2001::1", "5f00::1", "::127.0.0.1"),
        # IPv6 addresses that lead to IPv4 addresses
        *("::ffff:127.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe"),
        *("64:ff9b:1::7f00:1", "2002:7f00:1::", "2002:a00:1::1"),
    ],
)
def test_addresses_that_only_the_server_can_reach_are_denied(address):
    guard = AddressGuard(resolve=resolving(address))
    assert not guard.permits(address)
    with pytest.raises(Invalid, match=r"the address of hook\.example is not permitted") as denied:
        guard.destinations("hook.example", 80, 60)
    assert denied.value.kind == "address_denied"
    assert address not in str(denied.value) + denied.value.hint


@pytest.mark.parametrize(
    "address",
    [
        *("1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.1"),
        *("172.15.255.255", "172.32.0.0", "169.253.0.1", "100.63.255.255", "100.128.0.0"),
        *("223.255.255.255", "168.63.129.15", "2606:4700:4700::1111", "2a00:1450::1"),
        *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8"),
    ],
)
def test_public_addresses_are_permitted(address):
    guard = AddressGuard(resolve=resolving(address))
    (destination,) = guard.destinations("hook.example", 443, 60)
    assert destination.address[:2] == (address, 443)


def test_no_address_is_permitted_that_the_standard_library_knows_as_private():
    guard = AddressGuard()
    step = (1 << 32) // 4099
    for number in range(0, 1 << 32, step):
        address = ipaddress.IPv4Address(number)
        if not address.is_global or address.is_multicast:
            assert not guard.permits(str(address)), address


@pytest.mark.parametrize(
    ("allow", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("10.1.0.0/16", "10.1.255.255"),
        (" 10.1.2.3/16 ", "10.1.0.1"),
        ("127.0.0.0/8", "::ffff:127.0.0.1"),
        ("fd00::/8", "fd12::1"),
        ("::1", "::1"),
        ("0.0.0.0/0", "169.254.169.254"),
    ],
)
def test_networks_that_the_operator_allows_are_permitted(allow, address):
    assert AddressGuard([allow]).permits(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111", "127.0.0.1", "10.2.0.1"])
def test_without_the_public_internet_only_allowed_networks_are_permitted(address):
    guard = AddressGuard(["10.1.0.0/16"], public=False)
    assert guard.permits("10.1.2.3")
    assert not guard.permits(address)


@pytest.mark.parametrize("address", ["10.2.0.0", "10.0.255.255", "127.0.0.1", "::1", "fd00::1"])
def test_other_private_addresses_stay_denied(address):
    assert not AddressGuard(["10.1.0.0/16"]).permits(address)


@pytest.mark.parametrize("text", ["", "10.1", "10.0.0.0/33", "localhost", "10.0.0.1-5"])
def test_what_is_no_network_is_refused(text):
    with pytest.raises(Invalid, match="does not appear to be") as refused:
        AddressGuard(["10.0.0.0/8", text])
    assert refused.value.kind == "invalid_network"


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0", "::1", "127.0.0.1"],
)
def test_every_spelling_of_this_machine_is_denied_by_the_real_resolver(host):
    with pytest.raises((Invalid, Busy)) as refused:
        AddressGuard().destinations(host, 80, 60)
    assert refused.value.kind in ("address_denied", "outbound_failed")


def test_of_several_addresses_only_the_permitted_ones_are_left():
    guard = AddressGuard(resolve=resolving("127.0.0.1", "8.8.8.8", "::1", "10.0.0.1"))
    addresses = [address[0] for _, address in guard.destinations("hook.example", 80, 60)]
    assert addresses == ["8.8.8.8"]


def test_a_resolver_that_hangs_is_not_waited_for():
    release = threading.Event()
    guard = AddressGuard(resolve=lambda *_, **__: release.wait() and [])
    began = time.monotonic()
    with pytest.raises(Busy, match="not resolved in time") as failed:
        guard.destinations("hook.example", 80, 0.05)
    assert failed.value.kind == "outbound_timeout"
    assert time.monotonic() - began < 30
    release.set()


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 64 + ".example"])
def test_names_without_an_address_have_the_reason(host):
    with pytest.raises(Busy, match=host) as failed:
        AddressGuard().destinations(host, 80, 60)
    assert failed.value.kind == "outbound_failed"
