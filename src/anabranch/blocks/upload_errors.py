"""What goes wrong with uploads in parts, said alike by every store."""

from __future__ import annotations

from anabranch.errors import Invalid, NotFound

__all__ = ["part_not_found", "upload_not_found", "wrong_md5"]


def upload_not_found() -> NotFound:
    """Returns the error of an upload that is not, or no longer, there."""
    return NotFound(
        "The specified upload does not exist. The upload ID may be invalid, or the upload may "
        "have been aborted or completed.",
        kind="upload_not_found",
    )


def part_not_found(address: str, number: int) -> Invalid:
    """Returns the error of a part that is not there, or is another than the one meant."""
    return Invalid(f"{address}: there is no such part {number}", kind="part_not_found")


def wrong_md5(address: str, number: int) -> Invalid:
    """Returns the error of a part whose bytes are not those that were meant."""
    return Invalid(f"{address}: the MD5 of part {number} is another", kind="checksum_mismatch")
