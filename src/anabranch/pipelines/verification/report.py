"""The report of a verification."""

from __future__ import annotations

from typing import Any

import msgspec

from anabranch.pipelines.verification.findings import Finding, Findings

__all__ = ["CheckReport", "ReportedFinding", "VerificationReport", "report_finding", "reported"]


class CheckReport(msgspec.Struct, frozen=True):
    """A check: how many items it has looked at, and for how many seconds."""

    check: str
    items: int
    seconds: float


class ReportedFinding(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finding; `repair` is what mends it, empty if nothing does without loss."""

    check: str
    kind: str
    subject: str
    message: str
    repair: str = ""


class VerificationReport(msgspec.Struct, frozen=True):
    """What was looked at, and what was found: `findings` has at most 1,000 of each kind, `counts`
    has all. `repaired` are those of the findings that were mended.
    """

    checks: list[CheckReport]
    findings: list[ReportedFinding]
    counts: dict[str, int]
    repositories: int = 0
    tables: int = 0
    entries: int = 0
    objects: int = 0
    objects_read: int = 0
    bytes_read: int = 0
    repaired: list[ReportedFinding] = []

    @property
    def total(self) -> int:
        """The number of findings that remain."""
        return sum(self.counts.values()) - len(self.repaired)

    def document(self) -> Any:
        """Returns the report as values of JSON."""
        return msgspec.to_builtins(self)


def report_finding(finding: Finding) -> ReportedFinding:
    """Returns a finding as it is reported."""
    return ReportedFinding(
        finding.check,
        finding.kind,
        finding.subject,
        finding.message,
        "" if finding.mend is None else finding.mend.what,
    )


def reported(findings: Findings) -> list[ReportedFinding]:
    """Returns the findings that were kept, as they are reported."""
    return [report_finding(finding) for finding in findings.shown]
