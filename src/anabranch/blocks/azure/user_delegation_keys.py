"""User delegation keys: keys to sign URLs with that Azure issues to an identity.

A key is valid for at most seven days. The identity needs the role Storage Blob Delegator, or
Storage Blob Data Contributor on the account. Keys are cached. [Microsoft, "Get User Delegation
Key"]
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from anabranch.blocks.cloud.http_pool import HttpPool
from anabranch.errors import AnabranchError
from anabranch.model.secret import Secret
from anabranch.signing.azure_sas import AzureSigner, Delegation
from anabranch.signing.timestamps import iso_time

if TYPE_CHECKING:
    from obstore.store import AzureCredential

__all__ = ["UserDelegationSigners"]

_VERSION = "2020-12-06"
_FIELDS = (
    "SignedOid",
    "SignedTid",
    "SignedStart",
    "SignedExpiry",
    "SignedService",
    "SignedVersion",
)
_MAX_KEY_LIFETIME = 7 * 24 * 3600 - 60
_EXTRA_KEY_LIFETIME = 24 * 3600
_CLOCK_SKEW = 300
_FAILURE_TTL = 300.0
_TIMEOUT = 5.0
_OK = 200


class _Cached(NamedTuple):
    signer: AzureSigner | None
    until: float


class UserDelegationSigners:
    """Cache of signers for the identity whose tokens `credential` returns, one per account. `clock`
    gives seconds since 1970.
    """

    def __init__(
        self,
        credential: Callable[[], AzureCredential],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._credential = credential
        self._clock = clock
        self._pool = HttpPool(read_timeout=_TIMEOUT, connect_timeout=_TIMEOUT)
        self._lock = threading.Lock()
        self._cached: dict[str, _Cached] = {}

    def signer(self, account: str, endpoint: str, seconds: float) -> AzureSigner | None:
        """Returns a signer for URLs that are valid for `seconds`; None if Azure issues no key,
        which is cached for five minutes.
        """
        with self._lock:  # one thread requests a key, the others wait for it
            now = self._clock()
            cached = self._cached.get(account)
            needed = now if cached is None or cached.signer is None else now + seconds
            if cached is None or cached.until <= needed:
                cached = self._new(account, endpoint, now, seconds)
                self._cached[account] = cached
            return cached.signer

    def _new(self, account: str, endpoint: str, now: float, seconds: float) -> _Cached:
        until = now + min(seconds + _EXTRA_KEY_LIFETIME, _MAX_KEY_LIFETIME)
        try:
            signer = self._request_key(account, endpoint, now - _CLOCK_SKEW, until)
        except (AnabranchError, OSError, ValueError, ET.ParseError, http.client.HTTPException):
            return _Cached(None, now + _FAILURE_TTL)
        return _Cached(signer, until)

    def _request_key(self, account: str, endpoint: str, start: float, until: float) -> AzureSigner:
        if not endpoint.startswith("https:"):
            raise ValueError("tokens are sent over TLS alone")
        token = self._credential().get("token")
        if token is None:
            raise ValueError("keys are issued for tokens alone")
        lifetime = f"<Start>{iso_time(start)}</Start><Expiry>{iso_time(until)}</Expiry>"
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/xml",
            "x-ms-version": _VERSION,
        }
        url = f"{endpoint}/?restype=service&comp=userdelegationkey"
        response = self._pool.send("POST", url, headers, f"<KeyInfo>{lifetime}</KeyInfo>".encode())
        if response.status != _OK:
            raise ValueError(f"the response has status {response.status}")
        document = ET.fromstring(response.body)  # noqa: S314  the store is ours
        fields = [document.findtext(name, "") for name in ("Value", *_FIELDS)]
        if not all(fields):
            raise ValueError("the response is not a key")
        return AzureSigner(account, Secret(fields[0]), Delegation(*fields[1:]))
