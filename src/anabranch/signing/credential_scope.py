"""The scope of a signature of version 4: `access key/YYYYMMDD/region/s3/aws4_request`.

All regions are accepted, as in lakeFS: the server has no region of its own. The signature still
covers the region, since the key is derived from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache

import msgspec

__all__ = ["SERVICE", "TERMINAL", "Scope", "parse_credential"]

SERVICE = "s3"
TERMINAL = "aws4_request"

_DATE = re.compile(r"[0-9]{8}")
_PARTS = 5


class Scope(msgspec.Struct, frozen=True, dict=True):
    """Day, region and service of a signature; `date` is `YYYYMMDD`."""

    date: str
    region: str
    service: str = SERVICE

    @cached_property
    def text(self) -> str:
        """The scope as it is signed."""
        return f"{self.date}/{self.region}/{self.service}/{TERMINAL}"


@lru_cache(maxsize=1024)
def parse_credential(credential: str, malformed: Callable[[str], Exception]) -> tuple[str, Scope]:
    """Returns the access key and the scope. Raises the error that `malformed` returns for a reason
    if the text is malformed or for another service.
    """
    parts = credential.rsplit("/", _PARTS - 1)
    if len(parts) != _PARTS or not all(parts[:3]):
        raise malformed(
            "the Credential is mal-formed; expecting "
            '"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request".'
        )
    access_key_id, date, region, service, terminal = parts
    if not _DATE.fullmatch(date):
        raise malformed(
            f'incorrect date format "{date}". This date in the credential must be in the format '
            '"yyyyMMdd".'
        )
    if service != SERVICE:
        raise malformed(f'incorrect service "{service}". This endpoint belongs to "{SERVICE}".')
    if terminal != TERMINAL:
        raise malformed(f'incorrect terminal "{terminal}". This endpoint uses "{TERMINAL}".')
    return access_key_id, Scope(date, region, service)
