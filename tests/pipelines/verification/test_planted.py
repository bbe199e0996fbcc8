"""Each kind of finding is found where it was planted, and what can be mended is mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.verification.planted_faults import FAULTS, opened_store
from support.verification.used_installation import settings_of, verification_of

from anabranch.pipelines.verification.findings import KINDS
from anabranch.pipelines.verification.repairs import repair
from anabranch.pipelines.verification.verification import Verification
from anabranch.server.installation.verification import open_verification

CASES = [
    pytest.param(kind, fault, id=f"{kind}-{number}")
    for kind, faults in FAULTS.items()
    for number, fault in enumerate(faults)
]
ELSEWHERE = {
    "upload_unreadable": "needs a store that fails",
    "unreadable": "needs a database that is damaged where it is read",
}
"""The kinds that other tests plant."""

MENDED = {
    "expiry_missing",
    "workspace_without_branch",
    "workspace_key_stray",
    "pull_request_missing",
    "operation_index",
    "operation_missing",
    "area_orphaned",
    "area_condemned",
    "upload_missing",
    "upload_unlisted",
    "upload_lost",
    "parts_orphaned",
    "tombstones_orphaned",
    "pin_lasting",
    "history_index",
}


def test_every_kind_is_planted():
    assert FAULTS.keys() | ELSEWHERE.keys() == KINDS.keys()


@pytest.mark.sample(6)
@pytest.mark.parametrize(("kind", "fault"), CASES)
def test_a_planted_fault_is_found(folder, kind, fault):
    fault(folder)
    report = verification_of(folder, sample=None)
    assert kind in report.counts
    assert all(each.kind in KINDS for each in report.findings)
    found = [each for each in report.findings if each.kind == kind]
    assert all(bool(each.repair) == (kind in MENDED) for each in found)


@pytest.mark.sample(1)
@pytest.mark.parametrize(("kind", "fault"), [case for case in CASES if case.values[0] in MENDED])
def test_a_repair_mends_what_it_names_and_nothing_else(folder, kind, fault):
    fault(folder)
    with open_verification(settings_of(folder)) as installation:
        verification = Verification(installation.stores, sample=None)
        verification.run(installation.files)
        mendable = [each for each in verification.findings.shown if each.mend]
        keyvalue = installation.stores.core.keyvalue
        assert [each.kind for each in repair(keyvalue, mendable)].count(kind)
        installation.stores.core.cleaner.clean()
    with opened_store(folder) as store:
        dropped = {name.decode() for name, _ in store.scan("cleanup-tokens")}
        for name in dropped:
            store.drop(name)
    left = verification_of(folder, sample=None)
    assert kind not in left.counts
    assert left.total == 0


def test_a_repair_leaves_what_has_changed_since(folder):
    FAULTS["history_index"][0](folder)
    with open_verification(settings_of(folder)) as installation:
        verification = Verification(installation.stores, sample=None)
        verification.run(installation.files)
        mendable = [each for each in verification.findings.shown if each.mend]
        write = mendable[0].mend.writes[0]
        keyvalue = installation.stores.core.keyvalue
        assert keyvalue.apply([write._replace(value=b"of another process")])
        assert list(repair(keyvalue, mendable)) == []
        assert keyvalue.get(write.partition, write.key) == b"of another process"


def test_a_database_damaged_where_it_is_read_is_a_finding(folder):
    database = Path(folder, "metadata", "metadata.db")
    with opened_store(folder) as store:
        store.get("x", b"x")
    content = bytearray(database.read_bytes())
    content[4096 * 2 : 4096 * 2 + 100] = b"\xff" * 100
    database.write_bytes(content)
    report = verification_of(folder)
    assert {"database_damaged"} <= report.counts.keys()
