"""`fs stage` and `fs update-metadata`."""

from __future__ import annotations


def test_an_object_is_staged_where_it_is(ana, lake):
    lake.put("main/a", "one")
    stat = ana.ok("fs", "stat", lake.at("main/a"), "--json").json
    staged = ana.ok(
        *("fs", "stage", lake.at("main/b"), "--location", stat["physical_address"]),
        *("--size", "3", "--checksum", stat["checksum"], "--mtime", "1700000000"),
        *("--content-type", "text/plain", "--meta", "owner=ada", "--json"),
    ).json
    assert staged["physical_address"] == stat["physical_address"]
    assert staged["mtime"] == 1_700_000_000
    assert ana.ok("fs", "stat", lake.at("main/b"), "--json").json["metadata"] == {"owner": "ada"}
    assert lake.read("main/b") == b"one"


def test_staging_needs_location_size_and_checksum(ana, lake):
    assert ana("fs", "stage", lake.at("main/b"), "--size", "3").code == 2
    options = ("--location", "x", "--checksum", "c")
    assert ana("fs", "stage", lake.at("main/b"), "--size", "-1", *options).code == 2


def test_metadata_are_replaced(ana, lake):
    lake.put("main/a", "one")
    ana.ok("fs", "update-metadata", lake.at("main/a"), "--metadata", "x=1", "--metadata", "y=2")
    ana.ok("fs", "update-metadata", lake.at("main/a"), "--metadata", "z=3")
    assert ana.ok("fs", "stat", lake.at("main/a"), "--json").json["metadata"] == {"z": "3"}
    assert ana("fs", "update-metadata", lake.at("main/a")).code == 2
    repeated = ("--metadata", "z=3", "--metadata", "z=4")
    assert ana("fs", "update-metadata", lake.at("main/a"), *repeated).code == 2
    assert ana("fs", "update-metadata", lake.at("main/no"), "--metadata", "z=3").code == 1
