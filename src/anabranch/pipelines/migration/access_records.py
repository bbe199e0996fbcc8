"""Records of users and access control, in lakeFS's layout, which Anabranch shares.

    basicAuth  users/superAdmin                              the administrator
               uCredentials/superAdmin/credentials/KEY       the administrator's key pairs
    auth       installation_metadata/setup_timestamp         the time of the installation's setup
               users/…, groups/…, policies/…, gUsers/…, …    lakeFS's earlier access control
    aclauth    as auth                                       of its reference server

The administrator is migrated with the key pairs, whose secrets are re-encrypted with the key of the
target. So are the users, groups, policies and key pairs of the reference server, which become those
of Anabranch. Of lakeFS's earlier access control, users, groups and policies are migrated, but not
the key pairs: lakeFS has not accepted them since, so accepting them would return access to people
who may have left long ago.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from anabranch.access.credentials.secret_encryption import SecretCipher
from anabranch.access.records.layout import (
    OWN_PARTITION,
    PARTITION,
    SETUP_CREDENTIALS,
    SETUP_PARTITION,
    SETUP_USER_KEY,
    key_owner_key,
)
from anabranch.errors import Corrupt, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.secret import Secret
from anabranch.pipelines.migration.repository_records import parse
from anabranch.records import lakefs_pb2 as records

if TYPE_CHECKING:
    from anabranch.pipelines.migration.report import Report
    from anabranch.pipelines.migration.survey import Source

__all__ = ["AccessRecords", "KeyPairRecord"]

ACL = "aclauth"
_SETUP = b"installation_metadata/setup_timestamp"
_RELATIONS = (b"gUsers/", b"gPolicies/", b"uPolicies/")

_UNDECRYPTED = (
    "the key pairs can be decrypted only with lakeFS's auth.encrypt.secret_key "
    "(--encrypt-secret-file)"
)
_NO_ADMINISTRATOR = (
    "lakeFS's database has none: `anabranch serve` creates one with the key pair in the settings "
    "under `installation`"
)


class KeyPairRecord(NamedTuple):
    """The record of a key pair, and its secret after it was decrypted."""

    partition: str
    key: bytes
    message: records.CredentialData
    secret: Secret | None = None


class AccessRecords:
    """The records of a source; `read` and `decrypt` fill the report."""

    def __init__(self, source: Source, report: Report) -> None:
        self._source = source
        self._report = report
        self._administrator: bytes | None = None
        self._set_up_at: bytes | None = None
        self._verbatim: dict[bytes, Write] = {}
        self._key_pairs: list[KeyPairRecord] = []
        self.partitions = frozenset({SETUP_PARTITION, PARTITION, ACL})

    def read(self) -> None:
        """Reads all records, and adds those that are unreadable to the report."""
        checks: dict[bytes, Callable[[bytes], object]] = {
            b"users/": lambda value: parse(records.UserData(), value),
            b"groups/": lambda value: parse(records.GroupData(), value),
            b"policies/": lambda value: parse(records.PolicyData(), value),
            **{
                prefix: lambda value: parse(records.SecondaryIndex(), value)
                for prefix in _RELATIONS
            },
        }
        for partition in (SETUP_PARTITION, PARTITION, ACL):
            for key, value in self._source.scan(partition):
                prefix = next((name for name in checks if key.startswith(name)), b"")
                try:
                    if prefix:
                        checks[prefix](value)
                        self._count(partition, key, value, prefix)
                    elif key.startswith(b"uCredentials/"):
                        self._add_key_pair(partition, key, value)
                    elif (partition, key) == (PARTITION, _SETUP):
                        self._set_up_at = value
                except Corrupt as error:
                    self._report.add_unreadable(partition, key, error.message)

    def decrypt(self, secret: Secret | None) -> None:
        """Decrypts the secrets of all key pairs with lakeFS's key.

        Raises Invalid (kind wrong_encrypt_secret) if it decrypts none of them. If it decrypts some,
        the others are reported as unreadable.
        """
        if secret is None or not self._key_pairs:
            return
        cipher = SecretCipher(secret, _no_random_bytes)
        decrypted, failed = [], []
        for pair in self._key_pairs:
            try:
                text = cipher.decrypt(pair.message.secret_access_key_encrypted_bytes)
            except Corrupt:
                failed.append(pair)
            else:
                decrypted.append(pair._replace(secret=text))
        if not decrypted:
            raise Invalid(
                f"the secret decrypts none of the {len(failed)} key pairs of lakeFS",
                kind="wrong_encrypt_secret",
                hint="It must be the value of auth.encrypt.secret_key in lakeFS's configuration.",
            )
        for pair in failed:
            reason = "its secret cannot be decrypted, though others can"
            self._report.add_unreadable(pair.partition, pair.key, reason)
        self._key_pairs = decrypted

    def can_decrypt(self, key: Secret) -> bool:
        """Returns whether a key decrypts the secrets of all key pairs."""
        cipher = SecretCipher(key, _no_random_bytes)
        try:
            for pair in self._key_pairs:
                cipher.decrypt(pair.message.secret_access_key_encrypted_bytes)
        except Corrupt:
            return False
        return True

    def compare(self, target: KeyValueStore, target_key: Secret | None) -> None:
        """Sets the reason in the report if the administrator is not migrated."""
        access = self._report.access
        if self._administrator is None:
            access.omitted = _NO_ADMINISTRATOR
        elif not self._all_decrypted():
            access.omitted = _UNDECRYPTED
        elif _is_set_up(target) and not self._is_migrated(target, target_key):
            access.omitted = "the target already has an administrator of its own"

    def is_pending(self, target: KeyValueStore) -> bool:
        """Returns whether records to migrate are missing in the target."""
        records = [(write.partition, write.key) for write in self._copy_unchanged(target)]
        records += [_place(pair) for pair in self._to_encrypt(target)]
        return any(target.get(partition, key) is None for partition, key in records)

    def writes(
        self, target: KeyValueStore, target_key: Secret, random_bytes: Callable[[int], bytes]
    ) -> tuple[list[Write], list[Expect]]:
        """Returns the writes of the records that are missing in the target, and the conditions that
        they are still missing.
        """
        cipher = SecretCipher(target_key, random_bytes)
        writes = self._copy_unchanged(target)
        for pair in self._to_encrypt(target):
            if pair.secret is None:
                continue
            message = records.CredentialData()
            message.CopyFrom(pair.message)
            message.secret_access_key_encrypted_bytes = cipher.encrypt(pair.secret)
            writes.append(Write(*_place(pair), message.SerializeToString()))
            if pair.partition == ACL:
                owner = key_owner_key(message.access_key_id)
                writes.append(Write(OWN_PARTITION, owner, message.user_id))
        missing = [w for w in writes if target.get(w.partition, w.key) is None]
        return missing, [Expect(partition, key, None) for partition, key, _ in missing]

    def _copy_unchanged(self, target: KeyValueStore) -> list[Write]:
        """Returns the writes of all records that are copied unchanged."""
        writes = list(self._verbatim.values())
        if not self._report.access.omitted and not _is_set_up(target):
            if self._administrator is not None:
                writes.append(Write(SETUP_PARTITION, SETUP_USER_KEY, self._administrator))
            if self._set_up_at is not None:
                writes.append(Write(PARTITION, _SETUP, self._set_up_at))
        return writes

    def _to_encrypt(self, target: KeyValueStore) -> list[KeyPairRecord]:
        """Returns the key pairs to migrate."""
        migrated = {ACL}
        if not self._report.access.omitted and not _is_set_up(target):
            migrated.add(SETUP_PARTITION)
        return [
            pair
            for pair in self._key_pairs
            if pair.secret is not None and pair.partition in migrated
        ]

    def _count(self, partition: str, key: bytes, value: bytes, prefix: bytes) -> None:
        access = self._report.access
        if partition == SETUP_PARTITION:
            if key == SETUP_USER_KEY:
                self._administrator = value
                access.administrator = records.UserData.FromString(value).username
            return
        self._verbatim[key] = Write(PARTITION, key, value)  # the reference server's is newer
        if prefix in _RELATIONS:
            access.relations += 1
        else:
            counter = prefix.decode().rstrip("/")
            setattr(access, counter, getattr(access, counter) + 1)

    def _add_key_pair(self, partition: str, key: bytes, value: bytes) -> None:
        message = parse(records.CredentialData(), value)
        if not key.endswith(b"/" + message.access_key_id.encode()):
            raise Corrupt("the name in the record differs from its key")
        self._key_pairs.append(KeyPairRecord(partition, key, message))
        if partition == SETUP_PARTITION and key.startswith(SETUP_CREDENTIALS):
            self._report.access.key_pairs += 1
        elif partition == ACL:
            self._report.access.user_key_pairs += 1
        else:
            self._report.access.unused_key_pairs += 1

    def _all_decrypted(self) -> bool:
        return all(pair.secret is not None for pair in self._own_key_pairs())

    def _own_key_pairs(self) -> Iterator[KeyPairRecord]:
        return (pair for pair in self._key_pairs if pair.partition == SETUP_PARTITION)

    def _is_migrated(self, target: KeyValueStore, target_key: Secret | None) -> bool:
        """Returns whether the target already has the administrator with these key pairs."""
        if target_key is None or target.get(SETUP_PARTITION, SETUP_USER_KEY) != self._administrator:
            return False
        cipher = SecretCipher(target_key, _no_random_bytes)
        for pair in self._own_key_pairs():
            stored = target.get(SETUP_PARTITION, pair.key)
            if stored is None:
                return False
            try:
                message = parse(records.CredentialData(), stored)
                if cipher.decrypt(message.secret_access_key_encrypted_bytes) != pair.secret:
                    return False
            except Corrupt:
                return False
        return True


def _place(pair: KeyPairRecord) -> tuple[str, bytes]:
    """Returns the partition and the key of a key pair in the target."""
    return (PARTITION if pair.partition == ACL else pair.partition), pair.key


def _is_set_up(target: KeyValueStore) -> bool:
    return (
        target.get(SETUP_PARTITION, SETUP_USER_KEY) is not None
        or target.get(PARTITION, _SETUP) is not None
    )


def _no_random_bytes(_count: int) -> bytes:
    raise AssertionError("a cipher that only decrypts needs no random bytes")
