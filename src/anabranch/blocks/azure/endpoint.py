"""Endpoint of Azure Blob Storage: URLs of blobs and their signatures.

With an account's access key, requests and presigned URLs are signed here. Without one, requests go
through obstore, and presigned URLs are signed with user delegation keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from anabranch.blocks.azure.user_delegation_keys import UserDelegationSigners
from anabranch.blocks.cloud.addresses import Location
from anabranch.blocks.cloud.signed_requests import SignedRequest
from anabranch.errors import Invalid
from anabranch.model.secret import Secret
from anabranch.signing.azure_sas import AzureSigner, sas_query
from anabranch.signing.encoding import encode_key, encode_query

__all__ = ["AzureEndpoint"]

_REQUEST_PERMISSIONS = {"GET": "r", "HEAD": "r", "PUT": "w", "DELETE": "d"}
_REQUEST_LIFETIME = 3600
_PRESIGNED_PERMISSIONS = {"GET": "r", "PUT": "c"}
"""`c` creates a blob but does not replace one."""


class AzureEndpoint:
    """URLs and signatures. With an `access_key`, only its account is accessible. `endpoint` is that
    of an emulator. `delegated` signs if there is no key. `clock` gives seconds since 1970.
    """

    def __init__(
        self,
        account: str,
        access_key: Secret,
        endpoint: str = "",
        *,
        delegated: UserDelegationSigners | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._account = account
        self._access_key = access_key
        self._endpoint = endpoint.rstrip("/")
        self._delegated = delegated
        self._clock = clock

    @property
    def signs(self) -> bool:
        """Whether there is an access key to sign requests with."""
        return bool(self._access_key.reveal())

    def account(self, location: Location) -> str:
        """Returns the account of a blob. Raises Invalid if the access key is for another
        account.
        """
        account = _host(location).partition(".")[0]
        if self.signs and account != self._account:
            raise Invalid(
                f"{location.address}: the access key is for the account {self._account!r}",
                kind="invalid_address",
            )
        return account

    def endpoint(self, location: Location) -> str:
        """Returns the URL that the URLs of an account's containers start with."""
        scheme = location.root.partition("://")[0]
        return self._endpoint or f"{scheme}://{_host(location)}"

    def signed(self, location: Location, permissions: str, seconds: float) -> str:
        """Returns a signed URL of a blob with permissions, valid for `seconds`."""
        signer = AzureSigner(self.account(location), self._access_key)
        return self._sign(signer, location, permissions, seconds)

    def _sign(
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
        """Returns a signed request for a blob."""
        url = self.signed(location, _REQUEST_PERMISSIONS[method], _REQUEST_LIFETIME)
        return SignedRequest(url + encode_query(query).replace("?", "&", 1), headers)

    def presigned(
        self, method: str, location: Location, query: Mapping[str, str], seconds: int
    ) -> str | None:
        """Returns a presigned URL that reads or stores a blob; None if nothing can sign it, and for
        a part, because a signature cannot be limited to one block.
        """
        if query:
            return None
        if self.signs:
            return self.signed(location, _PRESIGNED_PERMISSIONS[method], seconds)
        if self._delegated is None:
            return None
        account, endpoint = self.account(location), self.endpoint(location)
        signer = self._delegated.signer(account, endpoint, seconds)
        if signer is None:
            return None
        return self._sign(signer, location, _PRESIGNED_PERMISSIONS[method], seconds)


def _host(location: Location) -> str:
    return location.root.partition("://")[2].partition("/")[0]
