"""Check of the block store: in every used namespace, a small object is written, read, listed and
removed.

Each permission is tried on its own, since in a bucket each may be missing on its own. Results name
the permission to grant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AnabranchError
from anabranch.server.doctor.check_result import CheckResult, State
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.doctor.presigned import check_presigned
from anabranch.server.doctor.required_permissions import right_to_grant

__all__ = ["check_blocks", "places_of"]

ABOUT = "blocks"
FOLDER = "anabranch-doctor"
"""The folder, in each place, that the object is written to."""

_CONTENT = b"May I?\n"


def places_of(namespaces: Iterable[str]) -> list[str]:
    """Returns the buckets, or folders of the local store, that hold storage namespaces."""
    places: dict[str, None] = {}
    for namespace in namespaces:
        scheme, found, rest = namespace.partition("://")
        if found and rest:
            names = {"local": 0, "mem": 0, "https": 2, "http": 2}.get(scheme, 1)
            bucket = "".join(f"{name}/" for name in rest.split("/")[:names])
            places[f"{scheme}://{bucket}"] = None
    return list(places)


def check_blocks(
    store: BlockStore, places: Iterable[str], token: str, clock: Callable[[], float]
) -> list[CheckResult]:
    """Tries everything in every place, at an address that ends with `token`."""
    findings = []
    for place in places:
        findings += _check_place(store, place, f"{place}{FOLDER}/{token}", clock)
    return findings


def _check_place(
    store: BlockStore, place: str, address: str, clock: Callable[[], float]
) -> list[CheckResult]:
    trial = _Trial(store, place, address)
    before = clock()
    with trial.of("write", "write to"):
        store.put(address, [_CONTENT])
    after = clock()
    written = not trial.findings
    if written:
        with trial.of("read", "read from"):
            if store.read(address) != _CONTENT:
                trial.wrong("gives other bytes than were written there", "Is it a stale cache?")
    with trial.of("list", "list"):
        listed = [info for info in store.list(address) if info.address == address]
        if written and not listed:
            trial.wrong("does not list what was just written there")
        for info in listed:
            trial.findings.append(compare_clocks(place, info.mtime, before - 1, after))
    if written:
        with trial.of("delete", "remove from", left=address):
            store.delete([address])
    if not trial.refused:  # both need the rights above, too
        _look_that_it_is_gone(trial)
        _begin_parts(trial)
        trial.findings += check_presigned(store, place, address)
    if all(finding.state is not State.WRONG for finding in trial.findings):
        message = f"{place} can be written, read, listed and cleaned"
        trial.findings.append(CheckResult(ABOUT, State.SOUND, message))
    return trial.findings


def _look_that_it_is_gone(trial: _Trial) -> None:
    with trial.of("read", "look into"):
        if trial.store.stat(trial.address) is not None:
            trial.wrong("still shows what was removed from it")


def _begin_parts(trial: _Trial) -> None:
    address = f"{trial.address}-parts"
    with trial.of("parts", "upload in parts to"):
        upload = trial.store.open_upload(address)
        try:
            trial.store.parts(address, upload)
        finally:
            trial.store.abort_upload(address, upload)


class _Trial:
    """What is tried in a place, with an object at an address; `findings` is what was wrong, and
    `refused` which deeds.
    """

    def __init__(self, store: BlockStore, place: str, address: str) -> None:
        self.store = store
        self.place = place
        self.address = address
        self.findings: list[CheckResult] = []
        self.refused: set[str] = set()

    @contextmanager
    def of(self, deed: str, words: str, *, left: str = "") -> Iterator[None]:
        """Turns an error of ours into a finding that a deed is not possible; `left` stays then."""
        try:
            yield
        except AnabranchError as error:
            self.refused.add(deed)
            message = f"cannot {words} {self.place}: {error.message}"
            hint = right_to_grant(error, self.store.config.blockstore_type, self.place, deed)
            if left:
                hint = f"{hint} Then remove {left}, which is left there.".lstrip()
            self.findings.append(CheckResult(ABOUT, State.WRONG, message, hint))

    def wrong(self, words: str, hint: str = "") -> None:
        """Adds that something is wrong."""
        self.findings.append(CheckResult(ABOUT, State.WRONG, f"{self.place} {words}", hint))
