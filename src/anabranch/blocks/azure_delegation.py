"""Keys by which URLs are signed on behalf of an identity that has no key of an account.

Azure gives one for at most seven days to whoever shows a token and may ask for it (the role Storage
Blob Delegator, or Storage Blob Data Contributor on the account). It is kept and used again.
[Microsoft, "Get User Delegation Key"]
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple
from xml.etree import ElementTree as ET

from anabranch.blocks.azure_tokens import MACHINE, azure_token
from anabranch.blocks.http_pool import HttpPool
from anabranch.model.secret import Secret
from anabranch.signing.azure_sas import AzureSigner, Delegation
from anabranch.signing.instants import iso_time

__all__ = ["DelegatedSigners"]

_VERSION = "2020-12-06"
_FIELDS = (
    "SignedOid",
    "SignedTid",
    "SignedStart",
    "SignedExpiry",
    "SignedService",
    "SignedVersion",
)
_MOST_SECONDS = 7 * 24 * 3600 - 60
_BEYOND_SECONDS = 24 * 3600
_EARLIER_SECONDS = 300
_AGAIN_SECONDS = 300.0
_WAIT_SECONDS = 5.0
_OK = 200


class _Kept(NamedTuple):
    signer: AzureSigner | None
    until: float


class DelegatedSigners:
    """Signers on behalf of `identity`, told by obstore's names, one for each account. `machine` is
    where the metadata service is, `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        identity: Mapping[str, str],
        *,
        machine: str = MACHINE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._identity = identity
        self._machine = machine
        self._clock = clock
        self._pool = HttpPool(silence_seconds=_WAIT_SECONDS, connect_seconds=_WAIT_SECONDS)
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}

    def signer(self, account: str, endpoint: str, seconds: float) -> AzureSigner | None:
        """Returns who signs for an account, at an endpoint, what is good for so long; None where
        nobody can, which is asked again after five minutes.
        """
        with self._lock:  # one asks, the others wait for what it gets
            now = self._clock()
            kept = self._kept.get(account)
            needed = now if kept is None or kept.signer is None else now + seconds
            if kept is None or kept.until <= needed:
                kept = self._new(account, endpoint, now, seconds)
                self._kept[account] = kept
            return kept.signer

    def _new(self, account: str, endpoint: str, now: float, seconds: float) -> _Kept:
        until = now + min(seconds + _BEYOND_SECONDS, _MOST_SECONDS)
        try:
            signer = self._ask(account, endpoint, now - _EARLIER_SECONDS, until)
        except (OSError, ValueError, ET.ParseError, http.client.HTTPException):
            return _Kept(None, now + _AGAIN_SECONDS)
        return _Kept(signer, until)

    def _ask(self, account: str, endpoint: str, start: float, until: float) -> AzureSigner:
        if not endpoint.startswith("https:"):
            raise ValueError("a token is shown to nobody who may not be Azure")
        token = azure_token(self._identity, self._pool, machine=self._machine)
        wanted = f"<Start>{iso_time(start)}</Start><Expiry>{iso_time(until)}</Expiry>"
        headers = {
            "Authorization": f"Bearer {token.reveal()}",
            "Content-Type": "application/xml",
            "x-ms-version": _VERSION,
        }
        url = f"{endpoint}/?restype=service&comp=userdelegationkey"
        answer = self._pool.send("POST", url, headers, f"<KeyInfo>{wanted}</KeyInfo>".encode())
        if answer.status != _OK:
            raise ValueError(f"no key: the answer is {answer.status}")
        told = ET.fromstring(answer.body)  # noqa: S314  the store is ours
        found = [told.findtext(name, "") for name in ("Value", *_FIELDS)]
        if not all(found):
            raise ValueError("no key: the answer is something else")
        return AzureSigner(account, Secret(found[0]), Delegation(*found[1:]))
