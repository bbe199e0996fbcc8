"""Physical addresses: issued, linked and staged."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

import pytest

from anabranch.errors import Denied, Gone, Invalid, PreconditionFailed
from anabranch.library import Lake


def upload_to(lake, address, body=b"body"):
    lake.blocks.put(lake.blocks.unqualify(address), [body])


def link(lake, address, *, path="a", branch="main", **by):
    return lake.staging.link("sea", branch, path, address=address, checksum="c", size=4, **by)


def uploaded_address(lake, body=b"body"):
    address = lake.staging.new_address("sea", "main", "a")
    upload_to(lake, address, body)
    return address


def assert_nothing_staged(lake):
    assert not lake.branches.changes("sea", "main", amount=10).items


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
    upload_to(lake, address)
    link(lake, address)
    clock.advance(2)
    with pytest.raises(Invalid, match="link address expired"):
        link(lake, address)


def test_if_absent(lake):
    lake.objects.upload("sea", "main", "a", [b"1"])
    with pytest.raises(PreconditionFailed):
        link(lake, uploaded_address(lake), if_absent=True)


def test_an_address_without_bytes_is_not_linked(lake):
    address = lake.staging.new_address("sea", "main", "a")
    for each in (address, "local://elsewhere/none", "local://sea/data"):
        with pytest.raises(Invalid, match="no object is stored at") as caught:
            link(lake, each)
        assert caught.value.kind == "link_address_empty"
    assert_nothing_staged(lake)
    upload_to(lake, address)
    link(lake, address)


def test_a_setting_links_addresses_without_objects(lake, tmp_path):
    address = lake.staging.new_address("sea", "main", "a")
    with Lake(
        lake.keyvalue,
        lake.blocks,
        cache_folder=tmp_path / "other-cache",
        signing_secret=b"a secret of tests",
        require_linked_objects=False,
        clock=lake.staging._clock,
    ) as lenient:
        assert link(lenient, address).entry.size == 4
        for wrong in (f"{address}x", "local://sea/_lakefs/x"):
            with pytest.raises(Invalid):
                link(lenient, wrong)
        with pytest.raises(Gone):
            lenient.objects.open("sea", "main", "a").read_bytes()


def test_an_address_with_other_bytes_than_stated_is_not_linked(lake):
    lake.blocks.put("local://elsewhere/x", [b"other"])
    for address in (
        uploaded_address(lake, b"bod"),
        uploaded_address(lake, b""),
        "local://elsewhere/x",
    ):
        with pytest.raises(Invalid, match="link size mismatch") as caught:
            link(lake, address)
        assert caught.value.kind == "link_size_mismatch"
    assert_nothing_staged(lake)


def test_an_upload_removed_before_it_is_linked_is_not_linked(lake):
    address = uploaded_address(lake)
    lake.blocks.delete([lake.blocks.unqualify(address)])
    with pytest.raises(Invalid, match="no object is stored at"):
        link(lake, address)
    assert_nothing_staged(lake)


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
