"""Check of the block store: writes, reads, lists and deletes a small object in every bucket in use.

Each permission is tested on its own, since each may be missing. Results name the permission to
grant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError
from anabranch.server.doctor.check_result import CheckResult, State
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.doctor.presigned import check_presigned
from anabranch.server.doctor.required_permissions import grant_hint

__all__ = ["buckets_in_use", "check_blocks"]

ABOUT = "blocks"
FOLDER = "anabranch-doctor"
"""The folder of the test object in each bucket."""

_CONTENT = b"A test object of anabranch doctor\n"


def buckets_in_use(namespaces: Iterable[str]) -> list[str]:
    """Returns the prefixes of the buckets that hold storage namespaces; for stores without buckets,
    the scheme alone.
    """
    buckets: dict[str, None] = {}
    for namespace in namespaces:
        scheme, separator, rest = namespace.partition("://")
        if separator and rest:
            names = {"local": 0, "mem": 0, "https": 2, "http": 2}.get(scheme, 1)
            path = "".join(f"{name}/" for name in rest.split("/")[:names])
            buckets[f"{scheme}://{path}"] = None
    return list(buckets)


def check_blocks(
    store: BlockStore, buckets: Iterable[str], token: str, clock: Callable[[], float]
) -> list[CheckResult]:
    """Tests all permissions in every bucket, with an object whose name is `token`."""
    results = []
    for bucket in buckets:
        results += _check_bucket(store, bucket, f"{bucket}{FOLDER}/{token}", clock)
    return results


def _check_bucket(
    store: BlockStore, bucket: str, address: str, clock: Callable[[], float]
) -> list[CheckResult]:
    trial = _Trial(store, bucket, address)
    before = clock()
    with trial.permission("write", "write to"):
        store.put(address, [_CONTENT])
    after = clock()
    written = not trial.results
    if written:
        with trial.permission("read", "read from"):
            if store.read(address) != _CONTENT:
                trial.add_error("returns other bytes than were written", "Is it a stale cache?")
    with trial.permission("list", "list"):
        listed = [info for info in store.list(address) if info.address == address]
        if written and not listed:
            trial.add_error("does not list an object that was just written")
        for info in listed:
            trial.results.append(compare_clocks(bucket, info.mtime, before - 1, after))
    if written:
        with trial.permission("delete", "remove from", remaining=address):
            store.delete([address])
    if not trial.failed:  # these need the permissions above, too
        _check_deleted(trial)
        _check_multipart(trial)
        trial.results += check_presigned(store, bucket, address)
    if all(result.state is not State.WRONG for result in trial.results):
        message = f"{bucket} can be written, read, listed and cleaned"
        trial.results.append(CheckResult(ABOUT, State.SOUND, message))
    return trial.results


def _check_deleted(trial: _Trial) -> None:
    with trial.permission("read", "read from"):
        if trial.store.stat(trial.address) is not None:
            trial.add_error("still has an object that was just removed")


def _check_multipart(trial: _Trial) -> None:
    address = f"{trial.address}-parts"
    with trial.permission("parts", "upload in parts to"):
        upload = trial.store.open_upload(address)
        try:
            trial.store.parts(address, upload)
        finally:
            trial.store.abort_upload(address, upload)


class _Trial:
    """The test of one bucket with an object at an address. `results` are the results so far,
    `failed` are the permissions whose test failed.
    """

    def __init__(self, store: BlockStore, bucket: str, address: str) -> None:
        self.store = store
        self.bucket = bucket
        self.address = address
        self.results: list[CheckResult] = []
        self.failed: set[str] = set()

    @contextmanager
    def permission(self, permission: str, verb: str, *, remaining: str = "") -> Iterator[None]:
        """Adds a result if the test of a permission raises an error; `remaining` is the address of
        an object that then remains in the bucket.
        """
        try:
            yield
        except AnabranchError as error:
            self.failed.add(permission)
            message = f"cannot {verb} {self.bucket}: {error.message}"
            hint = grant_hint(error, self.store.config.blockstore_type, self.bucket, permission)
            if remaining:
                hint = f"{hint} Then remove {remaining}, which is left there.".lstrip()
            self.results.append(CheckResult(ABOUT, State.WRONG, message, hint))

    def add_error(self, message: str, hint: str = "") -> None:
        """Adds a result with the state WRONG."""
        self.results.append(CheckResult(ABOUT, State.WRONG, f"{self.bucket} {message}", hint))
