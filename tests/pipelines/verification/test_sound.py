"""A sound installation has no findings, also while it is written to."""

from __future__ import annotations

import threading

import pytest
from support.verification.used_installation import commit, open_lake, verification_of

WRITERS = 4
TURNS = 6  # of each writer in a verification: with more, it has hundreds of commits to read


def test_an_installation_with_every_feature_has_no_findings(verify):
    report = verify(sample=None)
    assert report.findings == []
    assert report.total == 0
    assert report.objects_read > 60
    assert all(check.items for check in report.checks if check.check in {"records", "commits"})


def test_a_sample_reads_fewer_objects(verify):
    report = verify(sample=5)
    assert report.total == 0
    assert 0 < report.objects_read <= 5  # of an object in parts no MD5 is known


def test_verification_changes_nothing(folder, verify):
    before = contents(folder)
    assert verify().total == 0
    assert contents(folder) == before


def contents(folder):
    """Returns the bytes of all objects and tables."""
    blocks = folder / "block"
    return {
        path: path.read_bytes()
        for path in blocks.rglob("*")
        if path.is_file() and ".anabranch-temporary" not in path.parts
    }


@pytest.mark.systems
def test_changes_meanwhile_are_no_findings(folder):
    stop = threading.Event()
    failures, turns, reports = [], [0] * WRITERS, []
    with open_lake(folder) as lake:

        def write(number):
            try:
                while not stop.is_set():
                    if turns[number] == TURNS * (len(reports) + 1):
                        stop.wait(0.01)
                        continue
                    change(lake, number, turns[number])
                    turns[number] += 1
            except Exception as error:  # shown by the test
                failures.append(error)
                raise

        threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            while len(reports) < 5 or (min(turns) < 6 and not failures):
                reports.append(verification_of(folder, sample=50))
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert failures == []
    assert [finding for report in reports for finding in report.findings] == []
    assert verification_of(folder, sample=None).findings == []


def change(lake, number, turn):
    """Makes changes that references forget again, and others that they keep."""
    branch, base = f"writer-{number}-{turn}", f"base-{number}"
    if not turn:
        lake.branches.create("sea", base, "main")
    lake.branches.create("sea", branch, base, expires_at=2_000_000_000)
    commit(lake, branch, **{f"own-{number}": b"%d" % turn, f"a-{number}-{turn}": b"x"})
    lake.objects.upload("sea", branch, "staged", [b"%d" % turn])
    if turn % 2:
        lake.branches.reset("sea", branch, "reset")
        lake.refs.merge("sea", branch, base)
    upload = lake.uploads.create("sea", branch, "parts")
    lake.uploads.put_part("sea", branch, "parts", upload.id, 1, [b"p"])
    lake.uploads.abort("sea", branch, "parts", upload.id)
    pull = lake.pulls.create("sea", source=branch, destination=base, title="t", author="ada")
    lake.pulls.update("sea", pull.id, status="closed")
    lake.branches.delete("sea", branch)
    lake.operations.restore_branch("sea", branch)
    lake.branches.delete("sea", branch)
    lake.core.cleaner.clean()


def test_a_deleted_repository_that_is_kept_is_no_finding(tmp_path):
    folder = tmp_path / "lake"
    delete_one(folder)
    assert verification_of(folder, sample=None).findings == []
    with open_lake(folder) as lake:
        lake.repositories.restore("sea")
        assert lake.objects.open("sea", "main", "staged").read_bytes() == b"s"
    assert verification_of(folder, sample=None).findings == []


def delete_one(folder):
    """Deletes a repository with staged changes and a deleted branch."""
    with open_lake(folder) as lake:
        lake.repositories.create("sea", "local://sea")
        commit(lake, "main", a=b"1")
        lake.branches.create("sea", "dev", "main")
        lake.objects.upload("sea", "dev", "b", [b"2"])
        lake.branches.delete("sea", "dev")
        lake.objects.upload("sea", "main", "staged", [b"s"])
        lake.repositories.delete("sea")
