"""Addresses in listings: those that may be staged are accepted, in every kind of store."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.services.s3_service import CREDENTIALS
from support.session.hypothesis_profiles import examples

from anabranch.blocks.admitted_addresses import admitted_address
from anabranch.blocks.azure.store import azure_blocks
from anabranch.blocks.gcs.store import gcs_blocks
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.memory import MemoryBlocks
from anabranch.blocks.s3.endpoint import S3Endpoint
from anabranch.blocks.s3.store import s3_blocks
from anabranch.errors import Denied, Invalid
from anabranch.model.secret import Secret
from anabranch.pipelines.imports.listings import address_check
from anabranch.pipelines.imports.listings.address_check import AddressCheck
from anabranch.pipelines.imports.listings.columns import to_listed

ANOTHER = "an address of another store"
OUTSIDE = "an address outside the folders that imports may read"
IMPOSSIBLE = "an address that no object of the store can have"

NAMES = st.sampled_from(
    [
        *("a", "b.csv", "é x", "", ".", "..", ".hidden", "end.", "back\\slash", "zero\0", "new\nl"),
        *(".anabranch-temporary", "x" * 201, "x" * 256, "\U0001f30a" * 60),
    ]
)
PATHS = st.lists(NAMES, max_size=4).map("/".join)


def listing(addresses):
    rows = [
        {"path": f"{n:05}", "physical_address": address, "size": 1}
        for n, address in enumerate(addresses)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A store of each kind, and prefixes of addresses inside and outside of it."""
    folder = tmp_path_factory.mktemp("stores")
    key = Secret("a2V5")
    return [
        (
            LocalBlocks(
                folder / "blocks", external_prefixes=[f"{folder}/raw", f"{folder}/blocks/x"]
            ),
            [f"local://{folder}/{name}" for name in ("", "raw", "raw/", "blocks/", "blocks/x/")],
        ),
        (MemoryBlocks(), []),
        (s3_blocks(S3Endpoint(lambda: CREDENTIALS, region="eu-west-1")), []),
        (gcs_blocks(endpoint="http://127.0.0.1:9"), []),
        (
            azure_blocks(account="lake", access_key=key),
            ["https://lake.blob.core.windows.net/box/", "https://lake.example/box/"],
        ),
    ]


@settings(max_examples=examples(40))
@given(data=st.data(), single_checks=st.sampled_from([0, 1, 64]))
def test_check_by_folder_equals_the_check_of_each_address(stores, data, single_checks):
    starts = [
        "local://",
        "local:///",
        "mem://",
        "s3://",
        "s3a://",
        "gs://",
        "gs://b/",
        "",
        "/",
        "x:",
    ]
    starts += [start for _, own in stores for start in own]
    addresses = data.draw(
        st.lists(st.builds(str.__add__, st.sampled_from(starts), PATHS), min_size=1, max_size=40)
    )
    batch = to_listed(listing(addresses).combine_chunks().to_batches()[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(address_check, "_MAX_SINGLE_CHECKS", single_checks)
        for blocks, _ in stores:
            checked = AddressCheck(blocks)(batch)
            normalized = checked.batch.column("physical_address").to_pylist()
            for number, address in enumerate(addresses):
                try:
                    expected = admitted_address(blocks, address)
                except Invalid:
                    assert number in checked.problems, (blocks, address)
                else:
                    assert number not in checked.problems, (blocks, address)
                    assert normalized[number] == expected


def test_rows_with_addresses_that_may_not_be_staged_are_invalid(lake, import_folder, tmp_path):
    (import_folder / "a").write_bytes(b"1")
    lake.blocks.put("local://raw/b", [b"1"])
    good = [f"local://{import_folder}/a", "local://raw/b", lake.blocks.qualify("local://raw/b")]
    bad = {
        "local:///etc/passwd": OUTSIDE,
        f"local://{import_folder}": IMPOSSIBLE,
        f"local://{import_folder}/": IMPOSSIBLE,
        f"local://{import_folder}-2/a": OUTSIDE,
        f"local://{import_folder}/../b": OUTSIDE,
        "s3://other/bucket": ANOTHER,
        "local://raw/../../x": IMPOSSIBLE,
        "local://raw//x": IMPOSSIBLE,
        "local://": IMPOSSIBLE,
        "LOCAL://raw/b": ANOTHER,
        "/etc/passwd": ANOTHER,
    }
    rows = listing([*good, *bad])
    before = lake.branches.get("sea", "main")
    with pytest.raises(Invalid, match="11 rows of the listing are invalid") as caught:
        lake.import_listing("sea", "main", rows)
    assert caught.value.kind == "unfit_rows"
    assert lake.branches.get("sea", "main") == before
    rejected = tmp_path / "rejected.csv"
    imported = lake.import_listing("sea", "main", rows, on_invalid="skip", rejected_rows=rejected)
    assert (imported.objects, sum(imported.skipped.values())) == (3, 11)
    rejected_rows = pa_csv.read_csv(rejected).to_pylist()
    assert {row["physical_address"]: row["reason"] for row in rejected_rows} == bad
    addresses = [lake.objects.stat("sea", "main", f"{n:05}").entry.address for n in range(3)]
    assert addresses == [f"local://{import_folder}/a", "local://raw/b", "local://raw/b"]
    for number in range(3):
        assert lake.objects.open("sea", "main", f"{number:05}").read_bytes() == b"1"
    for address in bad:  # staging rejects them, too
        with pytest.raises(Denied):
            lake.staging.stage("sea", "main", "x", address=address, checksum="c", size=1)


def test_invalid_row_does_not_replace_an_older_valid_one(lake):
    lake.blocks.put("local://raw/a", [b"1"])
    rows = pa.table(
        {
            "path": ["a", "a"],
            "physical_address": ["s3://other/a", "local://raw/a"],
            "size": [1, 1],
            "last_modified": ["2024-01-02T00:00:00Z", "2024-01-01T00:00:00Z"],
        }
    )
    imported = lake.import_listing("sea", "main", rows, on_invalid="skip")
    assert (imported.objects, imported.skipped) == (1, {ANOTHER: 1})
    assert lake.objects.open("sea", "main", "a").read_bytes() == b"1"
