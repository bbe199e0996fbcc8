"""Errors of multipart uploads that all block stores share."""

from __future__ import annotations

from anabranch.errors import Invalid, NotFound

__all__ = ["part_not_found", "upload_not_found", "wrong_md5"]


def upload_not_found() -> NotFound:
    """Returns the error for an upload that does not exist, or no longer."""
    return NotFound(
        "The specified upload does not exist. The upload ID may be invalid, or the upload may "
        "have been aborted or completed.",
        kind="upload_not_found",
    )


def part_not_found(address: str, number: int) -> Invalid:
    """Returns the error for a part that does not exist or has another checksum."""
    return Invalid(f"{address}: there is no such part {number}", kind="part_not_found")


def wrong_md5(address: str, number: int) -> Invalid:
    """Returns the error for a part whose MD5 is not the expected one."""
    return Invalid(f"{address}: the MD5 of part {number} is another", kind="checksum_mismatch")
