"""The renewal of credentials that a store refuses."""

from __future__ import annotations

from anabranch.blocks.s3.endpoint import S3Endpoint

__all__ = ["Renewals"]

# a source may return credentials that have expired as well
_LIMIT = 2


class Renewals:
    """The renewals for one request, which starts now: it is sent again at most twice."""

    def __init__(self, access: S3Endpoint) -> None:
        self._access = access
        self._used = access.credentials()
        self._left = _LIMIT

    def succeed(self) -> bool:
        """Looks for other credentials after a refusal; returns whether to send the request again.
        Raises what the source of credentials raises.
        """
        if not self._left or not self._access.renew(self._used):
            return False
        self._left -= 1
        self._used = self._access.credentials()
        return True
