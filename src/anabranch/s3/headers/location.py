"""The URL of an object in responses to uploads."""

from __future__ import annotations

from urllib.parse import quote

from anabranch.s3.call import Call

__all__ = ["object_location"]


def object_location(call: Call) -> str:
    """Returns the URL of a call's object, in the addressing style of the request."""
    bucket = "" if call.request.bucket else f"{call.address.bucket}/"
    return f"http://{call.header('host')}/{bucket}{quote(call.address.key, safe='/')}"
