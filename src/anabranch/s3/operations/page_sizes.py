"""How much a page of a listing may hold, as the request says it."""

from __future__ import annotations

from anabranch.model.page import MAX_AMOUNT
from anabranch.s3.call import Call
from anabranch.s3.errors import S3Error

__all__ = ["most_of", "number_in", "number_of"]

_END = 1 << 31


def most_of(call: Call, name: str) -> int:
    """Returns how many items a page may have, at most 1,000, as in S3. Raises S3Error:
    InvalidArgument.
    """
    return min(number_of(call, name, MAX_AMOUNT), MAX_AMOUNT)


def number_of(call: Call, name: str, usual: int) -> int:
    """Returns the number that a parameter of the query holds, `usual` without one. Raises
    S3Error: InvalidArgument.
    """
    return number_in(name, call.query.get(name, ""), usual)


def number_in(name: str, value: str, usual: int) -> int:
    """Returns the number that a value of that name is, `usual` for an empty one. Raises S3Error:
    InvalidArgument.
    """
    text = value or str(usual)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(_END))
    if not digits or int(text) >= _END:
        raise S3Error(
            "InvalidArgument",
            f"Provided {name} not an integer or within integer range",
            ArgumentName=name,
            ArgumentValue=text,
        )
    return int(text)
