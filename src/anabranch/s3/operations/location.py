"""The URL of an object, as answers to uploads tell it."""

from __future__ import annotations

from urllib.parse import quote

from anabranch.s3.call import Call

__all__ = ["location_of"]


def location_of(call: Call) -> str:
    """Returns where the object of a call can be read, as the client has addressed it."""
    bucket = "" if call.request.bucket else f"{call.address.bucket}/"
    return f"http://{call.header('host')}/{bucket}{quote(call.address.key, safe='/')}"
