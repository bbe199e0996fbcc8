"""The access key that a request claims to be signed with, for the audit log."""

from __future__ import annotations

import re
from urllib.parse import unquote

from anabranch.signing.request import Request

__all__ = ["claimed_access_key"]

_MAX_LENGTH = 128
_HEADER = re.compile(r"(?:Credential=|^AWS )([^/:,\s]+)")
_QUERY = re.compile(r"(?:^|&)(?:X-Amz-Credential|AWSAccessKeyId)=([^&]+)")


def claimed_access_key(request: Request) -> str:
    """Returns the access key id in the header or the query of a signed request; the empty string if
    there is none. It is not verified.
    """
    found = _HEADER.search(request.headers.get("authorization", ""))
    if found is None:
        found = _QUERY.search(request.query)
    return "" if found is None else unquote(found[1]).partition("/")[0][:_MAX_LENGTH]
