"""Policies: named lists of statements, attached to users and groups.

Their records are lakeFS's (`PolicyData`); a statement's resource is one name, or several as a JSON
list in the same text.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from google.protobuf.message import DecodeError

from anabranch.access.policies.statements import Effect, Statement
from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import PARTITION, POLICIES, check_name, policy_key
from anabranch.access.records.record_pages import list_names, scan_names
from anabranch.errors import AlreadyExists, Corrupt, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.page import Page, upper_bound
from anabranch.records import lakefs_pb2 as records

__all__ = [
    "Policies",
    "Policy",
    "attachments_of",
    "decode_policy",
    "encode_policy",
    "encode_resources",
    "parse_resource",
    "policy_not_found",
]

_RESOURCES_DECODER = msgspec.json.Decoder(tuple[str, ...])

_ATTACHMENTS = (b"gPolicies/", b"uPolicies/")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy; `created_at` in seconds since 1970. `acl` is the permission of a group's ACL that
    the policy was made from, empty for other policies.
    """

    id: str
    created_at: int
    statements: tuple[Statement, ...]
    acl: str = ""


class Policies:
    """The stored policies."""

    def __init__(self, store: KeyValueStore, changes: AccessChanges) -> None:
        self._store = store
        self._changes = changes

    def find(self, policy_id: str) -> Policy | None:
        """Returns the policy of that name, or None."""
        return self.find_many([policy_id])[0]

    def find_many(self, policy_ids: list[str]) -> list[Policy | None]:
        """Returns the policies of these names, in their order, None for those that are missing."""
        keys = [policy_key(policy_id) for policy_id in policy_ids]
        values = self._store.get_many(PARTITION, keys)
        return [
            None if value is None else decode_policy(policy_id, value)
            for policy_id, value in zip(policy_ids, values, strict=True)
        ]

    def get(self, policy_id: str) -> Policy:
        """Returns the policy of that name; raises NotFound."""
        policy = self.find(policy_id)
        if policy is None:
            raise policy_not_found()
        return policy

    def page(self, prefix: str, after: str, amount: int) -> Page[Policy]:
        """Returns at most `amount` policies in the order of their names' bytes."""
        page = list_names(self._store, POLICIES, prefix, after, amount)
        return Page(
            [decode_policy(name, value) for name, value in page.items],
            has_more=page.has_more,
            next_offset=page.next_offset,
        )

    def all(self) -> list[Policy]:
        """Returns all policies, in the order of their names' bytes."""
        rows = self._store.scan(PARTITION, POLICIES, upper_bound(POLICIES))
        return [decode_policy(key[len(POLICIES) :].decode(), value) for key, value in rows]

    def create(self, policy: Policy) -> None:
        """Adds a policy. Raises Invalid for a bad name, and AlreadyExists."""
        check_name(policy.id, "policy")

        for attempt in self._changes.attempts():
            with attempt:
                if self._store.get(PARTITION, policy_key(policy.id)) is not None:
                    raise AlreadyExists("Already exists", kind="policy_exists")
                attempt.write([_write(policy)])

    def replace(self, policy_id: str, statements: tuple[Statement, ...]) -> Policy:
        """Replaces a policy's statements and returns the new policy; raises NotFound."""
        for attempt in self._changes.attempts():
            with attempt:
                policy = msgspec.structs.replace(self.get(policy_id), statements=statements)
                attempt.write([_write(policy)])
        return policy

    def delete(self, policy_id: str) -> None:
        """Removes a policy and its attachments; raises NotFound."""
        for attempt in self._changes.attempts():
            with attempt:
                self.get(policy_id)
                keys = [policy_key(policy_id), *attachments_of(self._store, policy_id)]
                attempt.write([Write(PARTITION, key, None) for key in keys])


def attachments_of(store: KeyValueStore, policy_id: str) -> list[bytes]:
    """Returns the keys of all attachments of a policy to groups and users."""
    return [
        prefix + relation.encode()
        for prefix in _ATTACHMENTS
        for relation in scan_names(store, prefix)
        if relation.partition("/policies/")[2] == policy_id
    ]


def _write(policy: Policy) -> Write:
    return Write(PARTITION, policy_key(policy.id), encode_policy(policy))


def encode_policy(policy: Policy) -> bytes:
    """Returns a policy's record."""
    record = records.PolicyData(
        created_at={"seconds": policy.created_at},
        display_name=policy.id,
        statement=[_encode_statement(statement) for statement in policy.statements],
    )
    if policy.acl:
        record.acl.permission = policy.acl
    return record.SerializeToString(deterministic=True)


@lru_cache(maxsize=4096)
def decode_policy(policy_id: str, value: bytes) -> Policy:
    """Returns the policy of a record; raises Corrupt if it cannot be read."""
    try:
        record = records.PolicyData.FromString(value)
        statements = tuple(_decode_statement(statement) for statement in record.statement)
    except (DecodeError, ValueError):
        raise Corrupt("a policy's record cannot be read", path=policy_id) from None
    return Policy(
        id=policy_id,
        created_at=record.created_at.seconds,
        statements=statements,
        acl=record.acl.permission,
    )


def policy_not_found() -> NotFound:
    """Returns the error of a policy that does not exist."""
    return NotFound("policy not found", kind="policy_not_found")


def _encode_statement(statement: Statement) -> records.StatementData:
    record = records.StatementData(
        effect=statement.effect.value,
        action=statement.actions,
        resource=encode_resources(statement.resources),
    )
    for operator, fields in statement.condition.items():
        for field, values in fields.items():
            record.condition[operator].fields[field].values.extend(values)
    return record


def _decode_statement(record: records.StatementData) -> Statement:
    return Statement(
        effect=Effect(record.effect.lower()),
        actions=tuple(record.action),
        resources=parse_resource(record.resource),
        condition={
            operator: {field: tuple(values.values) for field, values in fields.fields.items()}
            for operator, fields in record.condition.items()
        },
    )


def parse_resource(text: str) -> tuple[str, ...]:
    """Returns the names in a statement's resource: the text, or those of the JSON list that it is.

    Raises ValueError for a malformed list.
    """
    if not text.startswith("["):
        return (text,)
    return _RESOURCES_DECODER.decode(text)


def encode_resources(resources: tuple[str, ...]) -> str:
    """Returns the text of a statement's resource that stands for these names."""
    return resources[0] if len(resources) == 1 else msgspec.json.encode(resources).decode()
