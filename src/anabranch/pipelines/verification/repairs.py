"""Repairs of findings: writes that lose nothing, on condition that what they change is as it was
found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.keyvalue.contract import KeyValueStore
from anabranch.pipelines.verification.findings import Finding

__all__ = ["repair"]


def repair(keyvalue: KeyValueStore, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Mends the findings that have a mend, and yields those that it has mended; the others have
    changed since they were found.
    """
    for finding in findings:
        mend = finding.mend
        if mend is not None and keyvalue.apply(mend.writes, mend.expect):
            yield finding
