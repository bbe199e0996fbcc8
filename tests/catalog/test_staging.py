"""Addresses given out, linked and staged."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest

from anabranch.errors import Denied, Invalid, PreconditionFailed


def upload_to(lake, address, body=b"body"):
    lake.blocks.put(lake.blocks.unqualify(address), [body])


def link(lake, address, *, path="a", branch="main", **by):
    return lake.staging.link("sea", branch, path, address=address, checksum="c", size=4, **by)


def test_an_address_is_linked_and_read(lake):
    address = lake.staging.new_address("sea", "main", "a")
    upload_to(lake, address)
    stat = link(lake, address, metadata={"k": "v"}, content_type="t/x")
    assert stat.physical_address == address
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"body"
    assert lake.objects.stat("sea", "main", "a").entry.metadata == {"k": "v"}


def test_the_token_is_lakefs_s_own(lake):
    address = lake.staging.new_address("sea", "main", "a<&>é")
    relative, _, token = address.rpartition(",")
    body = {
        "Repository": "sea",
        "Branch": "main",
        "Path": "PATH",
        "PhysicalAddress": relative[relative.index("data/") :],
    }
    text = json.dumps(body, separators=(",", ":"))
    text = text.replace("PATH", "a\\u003c\\u0026\\u003eé")
    wanted = hmac.new(b"a secret of tests", text.encode(), hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(token + "=") == wanted


def test_tokens_hold_for_one_place_and_a_day(lake, clock):
    lake.branches.create("sea", "x", "main")
    address = lake.staging.new_address("sea", "main", "a")
    for wrong in (
        {"path": "b"},
        {"branch": "x"},
        {"address": address[:-1]},
        {"address": address.rpartition(",")[0]},
        {"address": address.replace("data/", "data/0", 1)},
    ):
        with pytest.raises(Invalid, match="link address invalid"):
            link(lake, wrong.pop("address", address), **wrong)
    clock.advance(24 * 3600 - 1)
    link(lake, address)
    clock.advance(2)
    with pytest.raises(Invalid, match="link address expired"):
        link(lake, address)


def test_if_absent(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    with pytest.raises(PreconditionFailed):
        link(lake, lake.staging.new_address("sea", "main", "a"), if_absent=True)


def test_a_checksum_is_needed(lake):
    address = lake.staging.new_address("sea", "main", "a")
    with pytest.raises(Invalid, match="checksum is required"):
        lake.staging.link("sea", "main", "a", address=address, checksum="", size=1)


@pytest.mark.parametrize(
    "address", ["local:///etc/passwd", "local://../x", "s3://bucket/key", "", "/etc/passwd"]
)
def test_addresses_outside_the_store_are_refused(lake, address):
    with pytest.raises(Denied, match="forbidden"):
        lake.staging.stage("sea", "main", "a", address=address, checksum="c", size=1)
    with pytest.raises(Invalid):
        link(lake, address)


def test_an_object_elsewhere_in_the_store_can_be_staged(lake):
    lake.blocks.put("local://elsewhere/x", [b"body"])
    stat = lake.staging.stage(
        "sea", "main", "a", address="local://elsewhere/x", checksum="c", size=4, mtime=7
    )
    assert stat.entry.mtime == 7
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"body"
