"""`azure`: blobs of a storage account, with an access key that the script has."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.outgoing import Outgoing
from anabranch.model.secret import Secret
from anabranch.outbound.http_request import HttpResponse
from anabranch.signing.azure_sas import AzureSigner, sas_query
from anabranch.signing.encoding import encode_key

__all__ = ["azure"]

_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_BLOB_ADDRESS = re.compile(
    r"https://(\w+)\.(?:blob|adls)\.core\.windows\.net/([^/]*)/(.+)", re.DOTALL
)
_VERSION = "2021-08-06"
_VALID_SECONDS = 3600
_NOT_FOUND = 404


def azure(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `azure`."""
    outgoing = Outgoing(context)

    def blob_client(account: str, access_key: str, endpoint: str = "") -> Mapping[str, Any]:
        return _Blobs(outgoing, account, access_key, endpoint).functions()

    def abfss_transform_path(path: str) -> str:
        found = _BLOB_ADDRESS.fullmatch(path)
        if found is None:
            raise ValueError(f"expected valid Azure https URL: {path}")
        account, container, blob = found.groups()
        return f"abfss://{container}@{account}.dfs.core.windows.net/{blob}"

    return {each.__name__: each for each in (blob_client, abfss_transform_path)}


class _Blobs:
    """The blobs of an account; a path begins with the container."""

    def __init__(self, outgoing: Outgoing, account: str, access_key: str, endpoint: str) -> None:
        if not _ACCOUNT.fullmatch(account):
            raise ValueError(f"{account!r} is no name of a storage account")
        self._outgoing = outgoing
        self._signer = AzureSigner(account, Secret(access_key))
        self._endpoint = (endpoint or f"https://{account}.blob.core.windows.net").rstrip("/")

    def functions(self) -> Mapping[str, Any]:
        """Returns the functions of the client."""

        def get_object(path: str) -> tuple[bytes, bool]:
            response = self._send("GET", path, "r", missing=True)
            return (b"", False) if response.status == _NOT_FOUND else (response.body, True)

        def put_object(path: str, content: bytes) -> None:
            self._send("PUT", path, "cw", {"x-ms-blob-type": "BlockBlob"}, content)

        def delete_object(path: str) -> None:
            self._send("DELETE", path, "d")

        return {each.__name__: each for each in (get_object, put_object, delete_object)}

    def _send(
        self,
        method: str,
        path: str,
        permissions: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        missing: bool = False,
    ) -> HttpResponse:
        container, _, blob = path.lstrip("/").partition("/")
        if not container or not blob:
            raise ValueError(f"the path {path} has no container or no name of a blob")
        is_tls = self._endpoint.startswith("https://")
        expires = time.time() + _VALID_SECONDS
        query = sas_query(self._signer, container, blob, permissions, expires=expires, https=is_tls)
        url = f"{self._endpoint}/{encode_key(container)}/{encode_key(blob)}?{query}"
        sent = {"x-ms-version": _VERSION, **(headers or {})}
        response = self._outgoing.send(method, url, sent, body)
        if response.status // 100 == 2 or (missing and response.status == _NOT_FOUND):  # noqa: PLR2004
            return response
        reason = response.headers.get("x-ms-error-code", "")
        raise ValueError(f"Azure: {container}/{blob}: HTTP {response.status} {reason}".rstrip())
