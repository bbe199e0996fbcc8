"""The block store: in every place that is used, a small object is written, read, listed, removed.

Each right is tried by itself, since in a bucket each may be lacking by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from anabranch.blocks.contract import BlockStore
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.doctor.finding import Finding, State, collected

__all__ = ["check_blocks", "places_of"]

ABOUT = "blocks"
FOLDER = "anabranch-doctor"
"""The folder, in each place, that the object is written to."""

_CONTENT = b"May I?\n"


def places_of(namespaces: Iterable[str]) -> list[str]:
    """Returns the buckets, or folders of the local store, that storage namespaces lie in."""
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
) -> list[Finding]:
    """Tries everything in every place, at an address that ends with `token`."""
    findings = []
    for place in places:
        findings += _check_place(store, place, f"{place}{FOLDER}/{token}", clock)
    return findings


def _check_place(
    store: BlockStore, place: str, address: str, clock: Callable[[], float]
) -> list[Finding]:
    findings: list[Finding] = []
    with collected(ABOUT, findings, f"cannot write to {place}"):
        before = clock()
        store.put(address, [_CONTENT])
        after = clock()
    if findings:
        return findings
    with collected(ABOUT, findings, f"cannot read from {place}"):
        if store.read(address) != _CONTENT:
            message = f"{place} gives other bytes than were written there"
            findings.append(Finding(ABOUT, State.WRONG, message, "Is it a cache that is stale?"))
    with collected(ABOUT, findings, f"cannot list {place}"):
        listed = [info for info in store.list(address) if info.address == address]
        if not listed:
            message = f"{place} does not list what was just written there"
            findings.append(Finding(ABOUT, State.WRONG, message))
        findings += [compare_clocks(place, info.mtime, before - 1, after) for info in listed]
    with collected(ABOUT, findings, f"cannot remove from {place}"):
        store.delete([address])
        if store.stat(address) is not None:
            message = f"{place} still shows what was removed from it"
            findings.append(Finding(ABOUT, State.WRONG, message))
    if all(finding.state is not State.WRONG for finding in findings):
        message = f"{place} can be written, read, listed and cleaned"
        findings.append(Finding(ABOUT, State.SOUND, message))
    return findings
