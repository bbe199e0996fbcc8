"""Tables of the Iceberg catalog, whose files no entry names."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest
from support.verification.table_manifests import manifest, manifest_list
from support.verification.used_installation import commit, open_lake, settings_of, verification_of

from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.tables.table_record import TableRecord
from anabranch.pipelines.verification.stores import area_files
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.installation.verification import open_verification
from anabranch.testing.stores import FaultyBlocks


@pytest.fixture
def table(tmp_path):
    """Returns the folder of an installation with a table, and that of its area."""
    folder = tmp_path / "lake"
    with open_lake(folder) as lake:
        lake.repositories.create("sea", "local://sea")
        areas = TableAreas(lake.core, lake.blocks)
        area = areas.create(lake.core.repositories.get("sea"), "_tables/t/table.json")
        at = area.location
        lists = [f"{at}/metadata/{n}.avro" for n in range(2)]
        elsewhere = "s3://sea/main/old/metadata/1.avro"
        snapshots = [{"manifest-list": each} for each in (*lists, elsewhere)]
        metadata = {"format-version": 2, "snapshots": snapshots}
        areas.put(area, "metadata/0.json", [json.dumps(metadata).encode()])
        areas.put(area, "metadata/0.avro", [manifest_list([f"{at}/metadata/m.avro", elsewhere])])
        areas.put(area, "metadata/1.avro", [b"not understood"])
        data = [f"{at}/data/{name}" for name in ("a", "b", "removed", "c%20d")]
        content = manifest([*data[:2], data[3], "s3://sea/main/elsewhere"], data[2:3], of=data[2])
        areas.put(area, "metadata/m.avro", [content])
        for name in ("a", "b"):
            areas.put(area, f"data/{name}", [name.encode()])
        record = TableRecord(
            uuid="u", area=area.id, metadata=f"{area.location}/metadata/0.json"
        ).to_bytes()
        files = {"_tables/t/table.json": record, "_tables/junk/table.json": b"{"}
        commit(lake, "main", **files, **{"_tables/t/namespace.json": b"{}"})
    return folder, folder / "block" / "sea" / "tables" / area.id


def test_a_table_whose_files_exist_has_no_findings(table):
    assert verification_of(table[0], sample=None).findings == []


def test_an_upload_of_a_file_that_goes_on_is_no_finding(table):
    folder, area = table
    with open_lake(folder) as lake:
        areas = TableAreas(lake.core, lake.blocks)
        found = areas.find_by_address("sea", area.name)
        areas.put_part(found, "data/new", areas.open_upload(found, "data/new"), 1, [b"1"])
    assert verification_of(folder, sample=None).findings == []


def test_missing_files_of_tables_are_found(table):
    folder, area = table
    with open_lake(folder) as lake:
        lake.blocks.delete([f"local://sea/tables/{area.name}/metadata/1.avro"])
    (finding,) = verification_of(folder).findings
    assert (finding.kind, finding.subject) == ("object_missing", "sea _tables/t/table.json")
    assert "metadata/1.avro" in finding.message


@pytest.mark.parametrize("name", ["metadata/0.avro", "metadata/m.avro", "data/b"])
def test_each_missing_file_that_metadata_lead_to_is_found(table, name):
    folder, area = table
    with open_lake(folder) as lake:
        for each in list(lake.blocks.list("local://sea/tables/")):
            if each.address.endswith(f"/{name}"):
                lake.blocks.delete([each.address])
    (finding,) = verification_of(folder).findings
    assert (finding.kind, finding.subject) == ("object_missing", "sea _tables/t/table.json")
    assert f"{area.name}/{name}" in finding.message


@pytest.mark.parametrize("metadata", ["../../../x", "", "a//b", "x" * 300, "/", "\0"])
@pytest.mark.sample(3)
def test_a_record_that_names_no_file_ends_no_check(table, metadata):
    folder, area = table
    location = f"s3://sea/.tables/{area.name}/{metadata}"
    with open_lake(folder) as lake:
        odd = TableRecord(uuid="u", area=area.name, metadata=location).to_bytes()
        commit(lake, "main", **{"_tables/odd/table.json": odd})
    counts = verification_of(folder).counts
    assert counts.keys() <= {"object_missing"}


def test_missing_metadata_are_found(table):
    folder, _ = table
    with open_lake(folder) as lake:
        for each in list(lake.blocks.list("local://sea/tables/")):
            if each.address.endswith("0.json"):
                lake.blocks.delete([each.address])
    assert verification_of(folder).counts == {"object_missing": 1}


def verified(folder, before=lambda *_: None, days=0):
    """Verifies an installation some days later, whose store calls `before` ahead of each step."""
    with open_verification(settings_of(folder)) as installation:
        later = time.time() + days * 86_400
        installation.stores.core.clock = lambda: later
        stores = installation.stores._replace(
            blocks=FaultyBlocks(installation.stores.blocks, before)
        )
        return Verification(stores, sample=0).run(installation.files)


def remove(folder, name):
    with open_lake(folder) as lake:
        (address,) = [
            each.address
            for each in lake.blocks.list("local://sea/tables/")
            if each.address.endswith(f"/{name}")
        ]
        lake.blocks.delete([address])


def test_each_file_that_commits_share_is_read_once(folder):
    reads = Counter()

    def count(step, subject):
        if "/tables/" in str(subject) and step in {"read", "get"}:
            reads[subject] += 1

    assert verified(folder, count).findings == []
    assert len(reads) == 3 * 4  # metadata, a list and a manifest of four versions
    assert set(reads.values()) == {1}


def test_files_of_commits_that_have_expired_are_not_needed(folder):
    with open_lake(folder) as lake:
        lake.garbage_rules.set("sea", RetentionRules(default_days=1))
    remove(folder, "data/old")
    assert verified(folder).counts == {"object_missing": 1}
    assert verified(folder, days=3).counts == {}


def test_a_file_that_many_manifests_name_is_found_missing_once(folder, monkeypatch):
    """With few files kept before they are sorted, as in a large installation."""
    monkeypatch.setattr(area_files, "_FILES_AT_ONCE", 1)
    for name in ("data/kept", "data/new", "metadata/l1.avro"):
        remove(folder, name)
    found = verified(folder).findings
    assert {each.subject for each in found} == {"sea _tables/t/table.json"}
    assert sorted(each.message.rpartition("/")[2] for each in found) == ["kept", "l1.avro", "new"]
