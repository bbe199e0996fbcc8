"""Keys, put, listed, read, copied and deleted through a client of S3.

The keys are written on the branch `main` and copied to another with a name as long, so that the
longest key has room on both. Every step goes through all keys before the next one begins: a key
that was taken for another is found by its content or by its absence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from support.clients.odd_keys import BRANCH, content_of

__all__ = ["COPIES", "KeyClient", "round_trip"]

COPIES = "copy"
"""The branch that is copied to; it must be there, and both branches empty."""


class KeyClient(Protocol):
    """Operations of a client on keys, which consist of a branch, a slash and a path."""

    def put(self, key: str, content: bytes) -> object:
        """Writes an object."""

    def get(self, key: str) -> bytes:
        """Returns an object's bytes."""

    def size(self, key: str) -> int:
        """Returns an object's length in bytes, as a HEAD tells it or what the client has for it."""

    def keys(self, branch: str) -> Iterable[str]:
        """Returns the keys of a branch."""

    def copy(self, source: str, target: str) -> object:
        """Makes a copy of an object."""

    def delete(self, key: str) -> object:
        """Deletes an object."""


def round_trip(client: KeyClient, keys: Iterable[str]) -> None:
    """Takes keys the whole way. Raises AssertionError with all keys that a step went wrong for."""
    keys = list(keys)
    mine = {f"{BRANCH}/{key}": content_of(key) for key in keys}
    theirs = {f"{COPIES}/{key}": content_of(key) for key in keys}
    _each("put", mine, client.put)
    _listed("put", client, BRANCH, mine)
    _each("get", mine, lambda key, content: client.get(key) == content)
    _each("size", mine, lambda key, content: client.size(key) == len(content))
    for key in keys:
        client.copy(f"{BRANCH}/{key}", f"{COPIES}/{key}")
    _listed("copy", client, COPIES, theirs)
    _each("get a copy", theirs, lambda key, content: client.get(key) == content)
    _each("delete", theirs, lambda key, _: client.delete(key))
    _listed("delete", client, COPIES, {})
    _listed("delete", client, BRANCH, mine)


def _each(step: str, keys: dict[str, bytes], check: Callable[[str, bytes], object]) -> None:
    """Goes through all keys; `check` raises, or returns False where something else came back."""
    wrong = {}
    for key, content in keys.items():
        try:
            if check(key, content) is False:
                wrong[key] = "something else came back"
        except Exception as error:  # noqa: BLE001  each client has its own, and all are reported
            wrong[key] = f"{type(error).__name__}: {error}"[:300]
    lines = "\n".join(f"{key!r}: {why}" for key, why in wrong.items())
    assert not wrong, f"{step}: {len(wrong)} of {len(keys)} keys\n{lines}"


def _listed(step: str, client: KeyClient, branch: str, expected: dict[str, bytes]) -> None:
    found = list(client.keys(branch))
    missing = sorted(expected.keys() - set(found))
    added = sorted(set(found) - expected.keys())
    assert not missing, f"after {step}, missing {missing}, in their place {added}"
    assert not added, f"after {step}, these were not put: {added}"
    assert len(found) == len(expected), f"after {step}, some keys are listed twice"
