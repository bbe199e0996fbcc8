"""Numbers in the parameters and headers of requests: page sizes, markers and part numbers."""

from __future__ import annotations

from anabranch.model.page import MAX_AMOUNT
from anabranch.model.uploads.part import MAX_PARTS
from anabranch.s3.call import Call
from anabranch.s3.protocol.errors import S3Error

__all__ = [
    "parse_integer",
    "parse_max_keys",
    "parse_number",
    "parse_part_number",
    "require_part_number",
]

_INTEGER_LIMIT = 1 << 31


def parse_max_keys(call: Call, name: str) -> int:
    """Returns the maximum number of items of a page: the query parameter `name`, at most 1,000 as
    in S3. Raises S3Error: InvalidArgument.
    """
    return min(parse_number(call, name, MAX_AMOUNT), MAX_AMOUNT)


def parse_number(call: Call, name: str, default: int) -> int:
    """Returns a number in the query, `default` if the parameter is absent or empty. Raises
    S3Error: InvalidArgument.
    """
    return parse_integer(name, call.query.get(name, ""), default)


def parse_integer(name: str, value: str, default: int) -> int:
    """Returns a value as a number, `default` if it is empty; `name` is for the error. Raises
    S3Error: InvalidArgument.
    """
    text = value or str(default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_INTEGER_LIMIT))
    if not digits or int(text) >= _INTEGER_LIMIT:
        raise S3Error(
            "InvalidArgument",
            f"Provided {name} not an integer or within integer range",
            ArgumentName=name,
            ArgumentValue=text,
        )
    return int(text)


def parse_part_number(call: Call) -> int:
    """Returns the part number in the query of a request. Raises S3Error: InvalidArgument."""
    text = call.query.get("partNumber", "")
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PARTS))
    return require_part_number(int(text) if digits else 0, text)


def require_part_number(number: int, text: str) -> int:
    """Returns the number if a part can have it; `text` is for the error. Raises S3Error:
    InvalidArgument.
    """
    if not 1 <= number <= MAX_PARTS:
        raise S3Error(
            "InvalidArgument",
            f"Part number must be an integer between 1 and {MAX_PARTS}, inclusive",
            ArgumentName="partNumber",
            ArgumentValue=text,
        )
    return number
