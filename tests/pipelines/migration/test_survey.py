"""Survey of a database: repositories, records that are not migrated, and damaged records."""

from __future__ import annotations

import pytest

from anabranch.errors import Corrupt, Invalid
from anabranch.model.secret import Secret
from anabranch.model.tasks.job import JobStatus
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.records.imports import IMPORTS

from .conftest import content


def test_survey_counts_lakefs_records(migrate):
    report = migrate().report
    repositories = {repository.name: repository for repository in report.repositories}
    assert list(repositories) == ["archive", "empty", "odd", "sea"]
    surveyed = repositories["sea"]
    assert (surveyed.branches, surveyed.tags, surveyed.commits, surveyed.uncommitted) == (
        6,
        3,
        10,
        8,
    )
    assert (
        surveyed.protection_rules,
        surveyed.metadata,
        surveyed.pull_requests,
        surveyed.tasks,
    ) == (2, 2, 2, 0)
    assert surveyed.retention == "21 days, 1 branch otherwise"
    assert repositories["archive"].read_only
    assert [repository.unreachable for repository in report.repositories] == [""] * 4
    assert [repository.name for repository in report.repositories if repository.normalized] == [
        "odd"
    ]
    assert (report.access.administrator, report.access.key_pairs) == ("captain", 1)
    assert (report.unreadable_records, report.warnings, report.access.omitted) == (0, [], "")
    assert {(left.what, left.records, left.where) for left in report.left_behind} == {
        ("tasks", 1, "sea"),
        ("multipart uploads", 1, ""),
        ("other records", 2, ""),
    }


def test_survey_changes_nothing(migrate, source, target):
    before = dict(source.rows)
    migrate()
    assert content(target, source) == {}
    assert {(name, key): source.get(name, key) for name, key in before} == before


DAMAGE = [
    ("sea", b"branches/dev", b"BranchData"),
    ("sea", b"tags/v1", b"TagData"),
    ("sea", b"commits/", b"CommitData"),
    ("sea", b"settings/protected_branches", b"BranchProtectionRules"),
    ("sea", b"repo-metadata", b"RepoMetadata"),
    ("sea", b"pulls/", b"PullRequestData"),
    ("sea", b"tasks/", b"RepositoryDumpStatus"),
]


@pytest.mark.parametrize(("repository", "prefix", "record"), DAMAGE)
def test_damaged_record_is_reported_and_nothing_is_written(
    migrate, source, target, repository, prefix, record
):
    partition = source.find_partition(repository)
    key = source.key(partition, prefix)
    source.put(partition, key, source.rows[partition, key][:-1])
    migration = migrate()
    damaged = [record for record in migration.report.unreadable if record.key == key.decode()]
    assert [record.partition for record in damaged] == [partition]
    assert record.decode() in damaged[0].reason
    with pytest.raises(Corrupt, match="records cannot be read, the first in partition") as caught:
        migration.run()
    assert caught.value.kind == "unreadable_records"
    assert content(target, source) == {}


def test_damaged_repository_user_and_staged_change_are_reported(migrate, source):
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    for partition, key in (
        ("graveler", b"repos/empty"),
        ("basicAuth", b"users/superAdmin"),
        (token, b"maps/05.txt"),
    ):
        source.put(partition, key, source.rows[partition, key][:-1])
    named = {(record.partition, record.key) for record in migrate().report.unreadable}
    assert named == {
        ("graveler", "repos/empty"),
        ("basicAuth", "users/superAdmin"),
        (token, "maps/05.txt"),
    }


def test_record_under_another_key_is_unreadable(migrate, source):
    own = source.find_partition("sea")
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    for partition, key, other in (
        ("graveler", b"repos/empty", b"repos/other"),
        (own, b"branches/dev", b"branches/other"),
        (own, b"tags/v1", b"tags/other"),
        (token, b"maps/05.txt", b"maps/other.txt"),
    ):
        source.put(partition, other, source.rows[partition, key])
    reasons = {record.key: record.reason for record in migrate().report.unreadable}
    assert reasons.keys() == {"repos/other", "branches/other", "tags/other", "maps/other.txt"}
    assert all("differs from its key" in reason for reason in reasons.values())


def test_reference_to_missing_commit_is_unreadable(migrate, source):
    partition = source.find_partition("sea")
    tag = records.TagData.FromString(source.rows[partition, b"tags/v1"])
    source.put(partition, b"commits/" + tag.commit_id.encode(), None)
    reasons = {record.key: record.reason for record in migrate().report.unreadable}
    assert reasons["tags/v1"] == f"it names commit {tag.commit_id}, which does not exist"


def test_commit_whose_id_is_not_its_digest_is_a_warning(migrate, source):
    partition = source.find_partition("sea")
    key = source.key(partition, b"commits/")
    commit = records.CommitData.FromString(source.rows[partition, key])
    commit.message += "?"
    source.put(partition, key, commit.SerializeToString())
    report = migrate().report
    assert report.unreadable_records == 0
    assert len(report.warnings) == 1
    assert commit.id in report.warnings[0]


def test_names_that_are_not_printable_are_escaped(migrate, source):
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    source.put(token, b"\x1b[31m\xff\n", b"\xff")
    (found,) = migrate().report.unreadable
    assert found.key == r"\x1b[31m\xff\n"


def test_running_jobs_are_not_migrated(migrate, source, target):
    partition = source.find_partition("sea")
    ended = JobStatus(id="ended", updated_at=1.0, completed=True)
    running = JobStatus(id="running", updated_at=1.0)
    for status in (ended, running):
        source.put(partition, IMPORTS.key(status.id), IMPORTS.encode(status))
    task = records.GarbageCollectionPrepareStatus(task={"id": "GCPCa", "done": True})
    source.put(partition, b"tasks/GCPCa", task.SerializeToString())
    task.task.done = False
    source.put(partition, b"tasks/GCPCb", task.SerializeToString())
    migration = migrate()
    left_behind = {
        (omitted.what, omitted.records, omitted.reason) for omitted in migration.report.left_behind
    }
    assert ("imports", 1, "imports that have not ended; start them again") in left_behind
    assert any(what == "tasks" and "preparations" in reason for what, _, reason in left_behind)
    migration.run()
    assert target.get(partition, IMPORTS.key("ended")) is not None
    assert target.get(partition, IMPORTS.key("running")) is None
    assert target.get(partition, b"tasks/GCPCa") is not None
    assert target.get(partition, b"tasks/GCPCb") is None


def test_repository_that_was_being_deleted_is_not_migrated(migrate, source, target):
    record = records.RepositoryData.FromString(source.rows["graveler", b"repos/empty"])
    record.state = records.RepositoryData.IN_DELETION
    source.put("graveler", b"repos/empty", record.SerializeToString())
    migration = migrate()
    (empty,) = (
        repository for repository in migration.report.repositories if repository.name == "empty"
    )
    assert (empty.in_deletion, empty.target) == (True, "omitted")
    migration.run()
    assert target.get("graveler", b"repos/empty") is None
    assert target.get("graveler", b"repos/sea") is not None


def test_missing_tables_are_reported_as_unreachable(migrate, tmp_path):
    report = migrate(blocks=tmp_path).report
    reasons = {repository.name: repository.unreachable for repository in report.repositories}
    assert reasons.pop("empty") == "", "it has no tree to check"
    assert all("is the store in the settings lakeFS's?" in reason for reason in reasons.values())


@pytest.mark.parametrize(
    "namespace", ["s3://bucket/prefix", "gs://b/p", "https://a.b/c/d", "local://.."]
)
def test_namespace_of_another_store_is_unreachable(migrate, source, namespace):
    record = records.RepositoryData.FromString(source.rows["graveler", b"repos/empty"])
    record.storage_namespace = namespace
    source.put("graveler", b"repos/empty", record.SerializeToString())
    (empty,) = (
        repository for repository in migrate().report.repositories if repository.name == "empty"
    )
    assert empty.unreachable == "it cannot be in a store of type local (blockstore.type)"


def test_repository_in_a_store_with_an_id_is_unreachable(migrate, source):
    record = records.RepositoryData.FromString(source.rows["graveler", b"repos/empty"])
    record.storage_id = "second"
    source.put("graveler", b"repos/empty", record.SerializeToString())
    (empty,) = (
        repository for repository in migrate().report.repositories if repository.name == "empty"
    )
    assert "'second'" in empty.unreachable


def test_damaged_retention_rules_are_reported(migrate, tmp_path, folder):
    rules = tmp_path / "sea/_lakefs/retention/gc/rules/config.json"
    rules.parent.mkdir(parents=True)
    rules.write_bytes(b"\xff")
    for table in (folder / "sea/_lakefs").iterdir():
        if table.is_file():
            (tmp_path / "sea/_lakefs" / table.name).write_bytes(table.read_bytes())
    (surveyed,) = (
        repository
        for repository in migrate(blocks=tmp_path).report.repositories
        if repository.name == "sea"
    )
    assert surveyed.unreachable == ""
    assert surveyed.retention.startswith("unreadable: ")


def test_only_named_repositories_are_read(migrate, source, target):
    partition = source.find_partition("sea")
    source.put(partition, b"branches/dev", b"\xff")
    migration = migrate(names=["odd", "missing"])
    assert [repository.name for repository in migration.report.repositories] == ["odd"]
    assert migration.report.warnings == ["lakeFS has no repository missing"]
    assert migration.report.unreadable_records == 0
    migration.run()
    assert [key for key, _ in target.scan("graveler")] == [b"repos/odd"]


def test_wrong_secret_is_rejected(migrate, source, target):
    with pytest.raises(Invalid, match="decrypts none of the 1 key pairs") as caught:
        migrate(secret="wrong")
    assert caught.value.kind == "wrong_encrypt_secret"
    assert content(target, source) == {}


def test_damaged_key_pair_is_unreadable(migrate, source):
    key = source.key("basicAuth", b"uCredentials/")
    pair = records.CredentialData.FromString(source.rows["basicAuth", key])
    other = key.rpartition(b"/")[0] + b"/AKIAJOTHER"
    pair.access_key_id = "AKIAJOTHER"
    pair.secret_access_key_encrypted_bytes = pair.secret_access_key_encrypted_bytes[:-1]
    source.put("basicAuth", other, pair.SerializeToString())
    (found,) = migrate().report.unreadable
    assert found.key == other.decode()
    assert "cannot be decrypted" in found.reason


@pytest.mark.parametrize("key", [None, Secret("another")])
def test_migration_in_place_without_lakefs_key_raises_invalid(migrate, source, key):
    migration = migrate(source.store, in_place=True, key=key)
    assert "not lakeFS's" in migration.report.access.omitted
    with pytest.raises(Invalid) as caught:
        migration.run()
    assert caught.value.kind == "wrong_encrypt_secret"


def test_clients_and_records_of_anabranch_are_reported(migrate, source):
    source.clients.append("psql at 127.0.0.1")
    source.put("anabranch", b"shared-settings", b"{}")
    source.put(source.find_partition("sea"), b"uploads/a\x00b", b"")
    report = migrate().report
    assert report.active_clients == ["psql at 127.0.0.1"]
    left_behind = {(omitted.what, omitted.where) for omitted in report.left_behind}
    assert {("records of Anabranch", ""), ("uploads", "sea")} <= left_behind
