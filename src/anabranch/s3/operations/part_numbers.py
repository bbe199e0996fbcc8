"""The numbers of parts, as requests name them."""

from __future__ import annotations

from anabranch.model.part import MAX_PARTS
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error

__all__ = ["checked_number", "part_number"]


def part_number(call: Call) -> int:
    """Returns the number in the query of a request. Raises S3Error: InvalidArgument."""
    text = call.query.get("partNumber", "")
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PARTS))
    return checked_number(int(text) if digits else 0, text)


def checked_number(number: int, text: str) -> int:
    """Returns a number that a part can have. Raises S3Error: InvalidArgument."""
    if not 1 <= number <= MAX_PARTS:
        raise S3Error(
            "InvalidArgument",
            f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive",
            ArgumentName="partNumber",
            ArgumentValue=text,
        )
    return number
