"""Storage namespaces of deleted repositories, and the claims of those that are being purged.

    partition             key             value
    anabranch-namespaces  left/NAMESPACE  the deleted repository
    anabranch-namespaces  claims          the running purges, and the number of changes

A purge claims its namespace before it looks for repositories there, and a repository is created on
condition that the record of claims has not changed since its namespace was found unclaimed. So the
purge finds the repository, or the repository is not created.

A claim is a lease. That of a killed purge expires when the last request it may have sent to the
store has no effect any more. Until then another purge may continue its work, since both remove the
same objects, but no repository may be created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from anabranch.errors import Busy, Conflict, Gone
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.model.repositories.purge import LeftNamespace
from anabranch.model.repositories.repository import Repository

__all__ = ["CLAIM_SECONDS", "LeftNamespaces", "contains", "same_namespace"]

CLAIM_SECONDS = 3.5 * 3600
"""The duration of a claim from its last renewal: as long as that of a sweep."""

_CLOCK_SKEW_SECONDS = 3600
_PARTITION = "anabranch-namespaces"
_CLAIMS_KEY = b"claims"
_LEFT = b"left/"
_MAX_ATTEMPTS = 100

_Claims = dict[str, dict[str, float]]
"""By namespace, the tokens of its purges and the times until which they hold."""


class _Record(msgspec.Struct, frozen=True):
    claims: _Claims
    changes: int


_RECORDS = msgspec.json.Decoder(_Record)
_LEFT_NAMESPACES = msgspec.json.Decoder(LeftNamespace)
_encode = msgspec.json.Encoder(order="sorted").encode


class LeftNamespaces:
    """The namespaces of deleted repositories. `clock` returns seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    def leave(self, repository: Repository) -> Write:
        """Returns the write that records the namespace of a repository that is deleted with it."""
        left = LeftNamespace(
            storage_namespace=repository.storage_namespace,
            written_namespace=repository.shown_namespace,
            repository=repository.id,
            instance_uid=repository.instance_uid,
            default_branch=repository.default_branch,
            deleted_at=self._clock(),
        )
        return Write(_PARTITION, _left_key(repository.storage_namespace), _encode(left))

    def all(self) -> Iterator[LeftNamespace]:
        """Yields all recorded namespaces, also those that have a repository again."""
        for _, raw in self._keyvalue.scan(_PARTITION, _LEFT, upper_bound(_LEFT)):
            yield _LEFT_NAMESPACES.decode(raw)

    def find(self, storage_namespace: str) -> LeftNamespace | None:
        """Returns the record of a namespace, or None."""
        raw = self._keyvalue.get(_PARTITION, _left_key(storage_namespace))
        return None if raw is None else _LEFT_NAMESPACES.decode(raw)

    def forget(self, left: LeftNamespace) -> None:
        """Removes the record of a namespace, unless another repository was deleted there since."""
        key = _left_key(left.storage_namespace)
        self._keyvalue.apply(
            [Write(_PARTITION, key, None)], [Expect(_PARTITION, key, _encode(left))]
        )

    def require_unclaimed(self, storage_namespace: str) -> Expect:
        """Returns the condition on which a repository may be created in a namespace. Raises
        Conflict (kind purge_under_way) while one is purged that contains it or that it contains.
        """
        raw, record = self._read()
        for claimed, tokens in record.claims.items():
            until = max(tokens.values())
            if until <= self._clock() - _CLOCK_SKEW_SECONDS:
                continue
            if contains(claimed, storage_namespace) or contains(storage_namespace, claimed):
                raise Conflict(
                    f"the data in the storage namespace {claimed} are being purged",
                    kind="purge_under_way",
                    hint="Use another storage namespace, or try again when the purge has ended. "
                    "After a purge that was killed this can take up to five hours.",
                )
        return Expect(_PARTITION, _CLAIMS_KEY, raw)

    def claim(self, storage_namespace: str, token: str) -> None:
        """Claims a namespace for a purge."""
        namespace = storage_namespace.rstrip("/")

        def add(claims: _Claims) -> None:
            claims.setdefault(namespace, {})[token] = self._clock() + CLAIM_SECONDS

        self._change(add)

    def renew(self, storage_namespace: str, token: str) -> None:
        """Renews a claim. Raises Gone (kind purge_expired) if it has expired: the purge must not
        remove anything more.
        """
        namespace = storage_namespace.rstrip("/")

        def renew(claims: _Claims) -> None:
            if token not in claims.get(namespace, {}):
                raise Gone(
                    "the purge has not renewed its claim in time, and ends",
                    kind="purge_expired",
                    hint="Start it again. Is this machine's clock right?",
                )
            claims[namespace][token] = self._clock() + CLAIM_SECONDS

        self._change(renew)

    def release(self, storage_namespace: str, token: str) -> None:
        """Removes a claim."""
        namespace = storage_namespace.rstrip("/")

        def remove(claims: _Claims) -> None:
            tokens = claims.pop(namespace, {})
            tokens.pop(token, None)
            if tokens:
                claims[namespace] = tokens

        self._change(remove)

    def _read(self) -> tuple[bytes | None, _Record]:
        raw = self._keyvalue.get(_PARTITION, _CLAIMS_KEY)
        return raw, _Record({}, 0) if raw is None else _RECORDS.decode(raw)

    def _change(self, change: Callable[[_Claims], None]) -> None:
        """Changes the claims, without those that have expired."""
        for _ in range(_MAX_ATTEMPTS):
            raw, record = self._read()
            claims = _unexpired_claims(record.claims, self._clock() - _CLOCK_SKEW_SECONDS)
            change(claims)
            changed = _encode(_Record(claims, record.changes + 1))
            if self._keyvalue.apply(
                [Write(_PARTITION, _CLAIMS_KEY, changed)], [Expect(_PARTITION, _CLAIMS_KEY, raw)]
            ):
                return
        raise Busy("too many processes are changing the record of purges")


def contains(folder: str, namespace: str) -> bool:
    """Returns whether a folder is a namespace or contains it. Letters that differ in case only are
    equal, as they are in some file systems.
    """
    return _comparable(namespace).startswith(_comparable(folder))


def same_namespace(one: str, other: str) -> bool:
    """Returns whether two storage namespaces are the same."""
    return _comparable(one) == _comparable(other)


def _comparable(namespace: str) -> str:
    return f"{namespace.rstrip('/')}/".casefold()


def _left_key(storage_namespace: str) -> bytes:
    return _LEFT + storage_namespace.rstrip("/").encode("utf-8", "surrogateescape")


def _unexpired_claims(claims: Mapping[str, Mapping[str, float]], now: float) -> _Claims:
    valid = {
        namespace: {token: until for token, until in tokens.items() if until > now}
        for namespace, tokens in claims.items()
    }
    return {namespace: tokens for namespace, tokens in valid.items() if tokens}
