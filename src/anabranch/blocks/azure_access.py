"""How Azure's blob storage is reached: the addresses of blobs, and who we are.

With an account's access key we sign ourselves, for requests of our own and for URLs that clients
are given. Without one, requests are obstore's, and URLs are signed on behalf of who we are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from anabranch.blocks.azure_delegation import DelegatedSigners
from anabranch.blocks.object_addresses import Location
from anabranch.blocks.signed_requests import SignedRequest
from anabranch.errors import Invalid
from anabranch.model.secret import Secret
from anabranch.signing.azure_sas import AzureSigner, sas_query
from anabranch.signing.encoding import encode_key, encode_query

__all__ = ["AzureAccess"]

_OUR_PERMISSIONS = {"GET": "r", "HEAD": "r", "PUT": "w", "DELETE": "d"}
_OUR_SECONDS = 3600
_PERMISSIONS = {"GET": "r", "PUT": "c"}
"""To store is to make: what has been stored at a URL stays as it is."""


class AzureAccess:
    """Addresses and signatures. With an `access_key`, only the account that it is for can be
    reached. What goes over the wire may go to another `endpoint`, an emulator's. `clock` gives
    seconds since 1970. `delegated` signs where there is no key.
    """

    def __init__(
        self,
        account: str,
        access_key: Secret,
        endpoint: str = "",
        *,
        delegated: DelegatedSigners | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._account = account
        self._access_key = access_key
        self._endpoint = endpoint.rstrip("/")
        self._delegated = delegated
        self._clock = clock

    @property
    def signs(self) -> bool:
        """Whether there is a key to sign requests of our own with."""
        return bool(self._access_key.reveal())

    def account(self, location: Location) -> str:
        """Returns the account that a blob is in. Raises Invalid where our key is for another."""
        account = _host(location).partition(".")[0]
        if self.signs and account != self._account:
            raise Invalid(
                f"{location.address}: our key is for the account {self._account!r}",
                kind="invalid_address",
            )
        return account

    def endpoint(self, location: Location) -> str:
        """Returns the beginning of the URLs of an account's containers."""
        scheme = location.root.partition("://")[0]
        return self._endpoint or f"{scheme}://{_host(location)}"

    def signed(self, location: Location, permissions: str, seconds: float) -> str:
        """Returns the URL of a blob at which that may be done with it for so long."""
        signer = AzureSigner(self.account(location), self._access_key)
        return self._signed(signer, location, permissions, seconds)

    def _signed(
        self, signer: AzureSigner, location: Location, permissions: str, seconds: float
    ) -> str:
        endpoint = self.endpoint(location)
        query = sas_query(
            signer,
            location.bucket,
            location.key,
            permissions,
            expires=self._clock() + seconds,
            https=endpoint.startswith("https:"),
        )
        return f"{endpoint}/{location.bucket}/{encode_key(location.key)}?{query}"

    def signed_request(
        self,
        method: str,
        location: Location,
        query: Mapping[str, str],
        headers: Mapping[str, str],
    ) -> SignedRequest:
        """Returns a request of our own about a blob, signed."""
        url = self.signed(location, _OUR_PERMISSIONS[method], _OUR_SECONDS)
        return SignedRequest(url + encode_query(query).replace("?", "&", 1), headers)

    def presigned(
        self, method: str, location: Location, query: Mapping[str, str], seconds: int
    ) -> str | None:
        """Returns a URL at which a client can read or store a blob; None where nobody signs, and
        for a part of one: a signature cannot be for one block of a blob alone.
        """
        if query:
            return None
        if self.signs:
            return self.signed(location, _PERMISSIONS[method], seconds)
        if self._delegated is None:
            return None
        account, endpoint = self.account(location), self.endpoint(location)
        signer = self._delegated.signer(account, endpoint, seconds)
        if signer is None:
            return None
        return self._signed(signer, location, _PERMISSIONS[method], seconds)


def _host(location: Location) -> str:
    return location.root.partition("://")[2].partition("/")[0]
