"""Copies of a database to another: complete, idempotent, and continued after interruptions."""

from __future__ import annotations

import time

import pytest
from support.services.recorded_lakefs import ACCESS_KEY_ID, ENCRYPT_KEY, SECRET_ACCESS_KEY

from anabranch import _kernel as kernel
from anabranch.access.access import Access
from anabranch.actions.runs.records import RunRecords
from anabranch.errors import Busy, Conflict, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.model.secret import Secret
from anabranch.records import lakefs_pb2 as records
from anabranch.testing.stores import FaultyStore, fail_at
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.operations.log import OperationLog
from anabranch.versioning.operations.retention import OperationRetention
from anabranch.versioning.repositories.repositories import Repositories
from anabranch.versioning.staging.cleanup import GRACE_SECONDS, Cleaner, discard

from .conftest import TARGET_KEY, Source, content

CREDENTIAL = ("basicAuth", b"uCredentials/superAdmin/credentials/" + ACCESS_KEY_ID.encode())
STAGED = 1_200


def unchanged_rows(source: Source) -> dict[tuple[str, bytes], bytes]:
    """Returns the rows of the recorded database that are copied unchanged."""
    repository_partition = source.find_partition("sea")
    omitted = ("kv-internal-metadata", "multiparts", "gone-")
    return {
        (partition, key): value
        for (partition, key), value in source.rows.items()
        if not partition.startswith(omitted)
        and not (partition == repository_partition and key.startswith(b"tasks/"))
        and not (partition == "auth" and not key.endswith(b"setup_timestamp"))
        and (partition, key) not in {CREDENTIAL, ("graveler", b"repos/odd")}
    }


def stage_many(source: Source) -> None:
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    value = next(value for (name, _), value in source.rows.items() if name == token)
    staged = kernel.decode_staged(value)[1]
    for number in range(STAGED):
        key = b"many/%04d" % number
        source.put(token, key, kernel.encode_staged(key, staged))


def test_copy_is_equal_to_its_source(migrate, source, target):
    report = migrate().run()
    copied = content(target, source)
    pair = records.CredentialData.FromString(copied.pop(CREDENTIAL))
    odd = records.RepositoryData.FromString(copied.pop(("graveler", b"repos/odd")))
    assert copied == unchanged_rows(source)
    assert report.written == len(copied) + 2
    assert (odd.storage_namespace, odd.address_namespace) == (
        "local:///odd//spelling/",
        "local://odd/spelling",
    )
    original = records.CredentialData.FromString(source.rows[CREDENTIAL])
    assert pair.secret_access_key_encrypted_bytes != original.secret_access_key_encrypted_bytes
    pair = Access(target, TARGET_KEY).credentials.find(ACCESS_KEY_ID)
    assert pair is not None
    assert (pair.secret, pair.username) == (Secret(SECRET_ACCESS_KEY), "captain")


def test_second_run_changes_nothing(migrate, source, target):
    migrate().run()
    before = content(target, source)
    migration = migrate()
    assert {repository.target for repository in migration.report.repositories} == {"same"}
    assert not migration.report.pending
    assert migration.run().written == 0
    assert content(target, source) == before


@pytest.mark.slow
def test_copy_that_fails_at_any_step_is_continued(migrate, source, tmp_path):
    stage_many(source)
    steps = 0
    for number in range(1, 100):
        target = SQLiteStore(tmp_path / f"{number}.db")
        fails = fail_at("apply", number, Busy("interrupted"))
        try:
            try:
                migrate(FaultyStore(target, fails)).run()
            except Busy:
                steps = number
                published = [key for key, _ in target.scan("graveler")]
                for key in published:
                    states = {
                        repository.name: repository.target
                        for repository in migrate(target).report.repositories
                    }
                    assert states[key.removeprefix(b"repos/").decode()] == "same"
            migrate(target).run()
            copied = content(target, source)
        finally:
            target.close()
        assert copied.pop(CREDENTIAL)
        assert copied.pop(("graveler", b"repos/odd"))
        copied.pop(("anabranch", b"migration"), None)
        assert copied == unchanged_rows(source)
        if steps < number:
            break
    assert steps > 6, "one for each repository and each 500 records"


def test_continued_copy_removes_records_that_lakefs_has_removed(migrate, source, target):
    stage_many(source)
    with pytest.raises(Busy):
        migrate(FaultyStore(target, fail_at("apply", 9, Busy("interrupted")))).run()
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    assert any(target.scan(token))
    for number in range(0, STAGED, 2):
        source.put(token, b"many/%04d" % number, None)
    migrate().run()
    assert dict(target.scan(token)) == dict(source.scan(token))


def test_earlier_migration_stops_when_another_starts(migrate, source, target):
    stage_many(source)
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    steps = []

    def start_second(step: str, partition: str) -> None:
        if (step, partition) == ("apply", token):
            steps.append(step)
            if len(steps) == 2:  # lakeFS removes records that the first migration has read
                for number in range(STAGED):
                    source.put(token, b"many/%04d" % number, None)
                migrate().run()

    with pytest.raises(Conflict) as caught:
        migrate(FaultyStore(target, start_second)).run()
    assert caught.value.kind == "other_migration"
    copied = content(target, source)
    assert copied.pop(CREDENTIAL)
    assert copied.pop(("graveler", b"repos/odd"))
    assert copied == unchanged_rows(source)


@pytest.mark.parametrize("change", ["source", "target", "record"])
def test_repository_with_other_content_raises_conflict(migrate, source, target, change):
    migrate().run()
    repository_partition = source.find_partition("sea")
    if change == "source":
        source.put(
            repository_partition,
            b"tags/v9",
            records.TagData(id="v9", commit_id=_commit(source)).SerializeToString(),
        )
    elif change == "target":
        target.apply([Write(repository_partition, b"tags/v1", None)])
    else:
        record = records.RepositoryData.FromString(source.rows["graveler", b"repos/sea"])
        record.read_only = True
        target.apply([Write("graveler", b"repos/sea", record.SerializeToString())])
    before = content(target, source)
    migration = migrate()
    states = {repository.name: repository.target for repository in migration.report.repositories}
    assert states["sea"] == "differs"
    with pytest.raises(Conflict, match="sea") as caught:
        migration.run()
    assert caught.value.kind == "repository_already_exists"
    assert content(target, source) == before
    assert migrate(names=["odd", "archive"]).run().written == 0


def test_other_repository_of_the_same_name_raises_conflict(migrate, source, target):
    record = records.RepositoryData.FromString(source.rows["graveler", b"repos/sea"])
    record.instance_uid = "another"
    target.apply([Write("graveler", b"repos/sea", record.SerializeToString())])
    with pytest.raises(Conflict, match="another repository of this name: sea"):
        migrate().run()
    assert [key for key, _ in target.scan("graveler")] == [b"repos/sea"]
    migrate(names=["odd", "archive", "empty"]).run()
    assert len(list(target.scan("graveler"))) == 4


def test_repository_created_meanwhile_raises_conflict(migrate, source, target):
    migration = migrate()
    record = records.RepositoryData.FromString(source.rows["graveler", b"repos/archive"])
    record.instance_uid = "another"
    target.apply([Write("graveler", b"repos/archive", record.SerializeToString())])
    with pytest.raises(Conflict, match="archive was created during the migration"):
        migration.run()
    stored = target.get("graveler", b"repos/archive")
    assert stored == record.SerializeToString()


@pytest.mark.parametrize("forgotten", [True, False])
def test_repository_that_the_target_has_deleted_is_copied_again(migrate, source, target, forgotten):
    migrate().run()
    token = next(name for name, _ in source.rows if name.startswith("sea-dev:"))
    log = OperationLog(target, time.time)
    retention = OperationRetention(target, log, time.time)
    repositories = Repositories(target, Identifiers(time.time), time.time, log, retention)
    target.apply(discard([token], time.time()))  # as a commit of the branch does
    repositories.delete("sea", forget=forgotten)
    migrate().run()
    assert list(repositories.deleted.stored()) == []
    Cleaner(target, lambda: time.time() + 2 * GRACE_SECONDS).clean()
    assert dict(target.scan(token)) == dict(source.scan(token))
    assert {repository.target for repository in migrate().report.repositories} == {"same"}


def test_migration_during_a_sweep_raises_busy(migrate, target):
    sweeps = SweepRecords(target, time.time)
    sweeps.begin("one")
    with pytest.raises(Busy) as caught:
        migrate().run()
    assert caught.value.kind == "sweep_under_way"
    assert list(target.scan("graveler")) == []
    sweeps.end("one")
    migrate().run()
    assert len(list(target.scan("graveler"))) == 4


def test_sweep_that_begins_before_the_last_write_raises_busy(migrate, target):
    begun = []

    def begin(step: str, partition: str) -> None:
        if (step, partition) == ("apply", "graveler") and not begun:
            begun.append(partition)
            SweepRecords(target, time.time).begin("one")

    with pytest.raises(Busy) as caught:
        migrate(FaultyStore(target, begin)).run()
    assert caught.value.kind == "sweep_under_way"
    assert list(target.scan("graveler")) == []


def test_users_are_not_migrated_without_lakefs_key(migrate, target):
    migration = migrate(secret="")
    assert "auth.encrypt.secret_key" in migration.report.access.omitted
    migration.run()
    assert list(target.scan("basicAuth")) == []
    assert list(target.scan("auth")) == []
    assert len(list(target.scan("graveler"))) == 4
    migrate(secret=ENCRYPT_KEY).run()
    assert Access(target, TARGET_KEY).credentials.find(ACCESS_KEY_ID) is not None


def test_administrator_of_the_target_is_kept(migrate, target):
    access = Access(target, TARGET_KEY)
    own = access.setup.run("owner")
    migration = migrate()
    assert "administrator of its own" in migration.report.access.omitted
    migration.run()
    assert [user.username for user in access.users.page("", "", 100).items] == ["owner"]
    assert access.credentials.find(own.access_key_id) == own
    assert access.credentials.find(ACCESS_KEY_ID) is None
    assert len(list(target.scan("graveler"))) == 4


def test_users_of_other_access_control_are_migrated(migrate, source, target):
    keys = {"auth": "AKIAJEARLIER", "aclauth": "AKIAJSERVER"}
    rows = {
        b"users/jane": records.UserData(username="jane"),
        b"groups/Crew": records.GroupData(display_name="Crew"),
        b"policies/All": records.PolicyData(display_name="All", statement=[{"effect": "allow"}]),
        b"gUsers/Crew/users/jane": records.SecondaryIndex(primary_key=b"users/jane"),
        b"uPolicies/jane/policies/All": records.SecondaryIndex(primary_key=b"policies/All"),
    }
    for partition, access_key_id in keys.items():
        for key, message in rows.items():
            source.put(partition, key, message.SerializeToString())
        pair = records.CredentialData.FromString(source.rows[CREDENTIAL])
        pair.access_key_id, pair.user_id = access_key_id, b"jane"
        key = f"uCredentials/jane/credentials/{access_key_id}".encode()
        source.put(partition, key, pair.SerializeToString())
    migration = migrate()
    access = migration.report.access
    assert (access.users, access.groups, access.policies, access.relations) == (2, 2, 2, 4)
    assert (access.key_pairs, access.user_key_pairs, access.unused_key_pairs) == (1, 1, 1)
    migration.run()
    for key, message in rows.items():
        assert target.get("auth", key) == message.SerializeToString()
    migrated = Access(target, TARGET_KEY)
    migrated.setup.ensure_defaults()
    assert [user.username for user in migrated.users.page("", "", 9).items] == ["captain", "jane"]
    actor = migrated.authenticator.find_actor_by_key("AKIAJSERVER")
    assert actor is not None
    assert (actor.username, actor.is_unlimited) == ("jane", False)
    assert migrated.authenticator.find_actor_by_key("AKIAJEARLIER") is None
    with pytest.raises(NotFound):
        migrated.credentials.get("jane", "AKIAJEARLIER")
    assert migrate().run().written == 0


def test_migration_in_place_adds_the_users_of_the_reference_server(migrate, source):
    pair = records.CredentialData.FromString(source.rows[CREDENTIAL])
    pair.access_key_id, pair.user_id = "AKIAJSERVER", b"jane"
    user = records.UserData(username="jane").SerializeToString()
    source.put("aclauth", b"users/jane", user)
    key = b"uCredentials/jane/credentials/AKIAJSERVER"
    source.put("aclauth", key, pair.SerializeToString())
    secret = Secret(ENCRYPT_KEY)
    first = migrate(source.store, in_place=True, key=secret, secret="")
    assert first.report.pending
    assert first.run().written == 4  # user, key pair, its index, and a namespace
    actor = Access(source.store, secret).authenticator.find_actor_by_key("AKIAJSERVER")
    assert actor is not None
    assert actor.username == "jane"
    again = migrate(source.store, in_place=True, key=secret, secret="")
    assert (again.report.pending, again.run().written) == (False, 0)


def test_migration_in_place_only_changes_the_record_with_a_normalized_namespace(migrate, source):
    before = content(source.store, source)
    report = migrate(source.store, in_place=True, key=Secret(ENCRYPT_KEY), secret="").run()
    after = content(source.store, source)
    assert report.written == 1
    changed = {key for key in after if after[key] != before.get(key)}
    assert (changed, len(after)) == ({("graveler", b"repos/odd")}, len(before))
    # lakeFS ignores unknown fields
    original = records.RepositoryData.FromString(before["graveler", b"repos/odd"])
    record = records.RepositoryData.FromString(after["graveler", b"repos/odd"])
    assert record.address_namespace == "local://odd/spelling"
    assert (record.storage_namespace, record.instance_uid, record.creation_date.seconds) == (
        original.storage_namespace,
        original.instance_uid,
        original.creation_date.seconds,
    )
    migration = migrate(source.store, in_place=True, key=Secret(ENCRYPT_KEY), secret="")
    assert not migration.report.pending
    assert migration.run().written == 0


def test_in_place_change_of_a_record_that_lakefs_changes_raises_busy(migrate, source):
    migration = migrate(source.store, in_place=True, key=Secret(ENCRYPT_KEY))
    source.put("graveler", b"repos/odd", source.rows["graveler", b"repos/odd"] + b"\x38\x01")
    with pytest.raises(Busy, match="changed by another program"):
        migration.run()


def test_source_without_repositories_is_migrated(migrate, source, target):
    for partition, key in list(source.rows):
        source.put(partition, key, None)
    migration = migrate()
    assert (migration.report.repositories, migration.report.left_behind) == ([], [])
    assert migration.run().written == 0
    assert content(target, source) == {}


def _commit(source: Source) -> str:
    key = source.key(source.find_partition("sea"), b"commits/")
    return key.removeprefix(b"commits/").decode()


def test_targets_in_memory_and_on_disk_are_equal(migrate, source, target, tmp_path):
    migrate().run()
    disk = SQLiteStore(tmp_path / "metadata.db")
    try:
        migrate(disk).run()
        copied, expected = content(disk, source), content(target, source)
    finally:
        disk.close()
    assert copied.pop(CREDENTIAL) != expected.pop(CREDENTIAL), "salts are random"
    assert copied == expected
    assert isinstance(target, MemoryStore)


def test_runs_of_hooks_are_migrated_with_their_repository(migrate, target):
    migrate().run()
    [run] = RunRecords(target).list("sea", branch="blocked", amount=9).items
    assert (run.event, run.passed) == ("pre-commit", False)
    [hook] = RunRecords(target).hooks("sea", run.id, amount=9).items
    assert (hook.action, hook.hook_id) == ("refuse", "refuse")
