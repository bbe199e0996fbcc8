"""Tokens that show who we are to Azure, of what the environment speaks of.

    secret      a client's id and secret are exchanged for one
    pod         a token in a file is (workload identity)
    machine     the instance's metadata service gives one (managed identity)

[Microsoft identity platform, "OAuth 2.0 client credentials flow"; "Managed identities: how to use
them on a virtual machine to acquire an access token"]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec

from anabranch.blocks.http_pool import HttpPool
from anabranch.model.secret import Secret

__all__ = ["MACHINE", "azure_token"]

MACHINE = "http://169.254.169.254"
"""Where a machine of Azure finds its metadata service."""

_AUTHORITY = "https://login.microsoftonline.com"
_STORAGE = "https://storage.azure.com/"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_OK = 200


class _Told(msgspec.Struct):
    access_token: str


def azure_token(identity: Mapping[str, str], pool: HttpPool, *, machine: str = MACHINE) -> Secret:
    """Returns a token for Azure's storage. `identity` is told by obstore's names for a client's
    id, secret, tenant, token file and authority.

    Raises OSError, HTTPException and ValueError where there is none to be had.
    """
    asked = {"client_id": identity.get("client_id", "")}
    if identity.get("client_secret"):
        asked["client_secret"] = identity["client_secret"]
    elif identity.get("federated_token_file"):
        asked["client_assertion_type"] = _ASSERTION
        token = Path(identity["federated_token_file"]).read_text("utf-8")
        asked["client_assertion"] = token.strip()
    else:
        return _of_machine(pool, machine, asked["client_id"])
    asked |= {"grant_type": "client_credentials", "scope": f"{_STORAGE}.default"}
    authority = identity.get("authority_host", "").rstrip("/") or _AUTHORITY
    url = f"{authority}/{quote(identity.get('tenant_id', ''), safe='')}/oauth2/v2.0/token"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return _token(pool, "POST", url, headers, urlencode(asked).encode())


def _of_machine(pool: HttpPool, machine: str, client_id: str) -> Secret:
    query = {"api-version": "2018-02-01", "resource": _STORAGE}
    if client_id:
        query["client_id"] = client_id
    url = f"{machine}/metadata/identity/oauth2/token?{urlencode(query)}"
    return _token(pool, "GET", url, {"Metadata": "true"})


def _token(
    pool: HttpPool, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
) -> Secret:
    answer = pool.send(method, url, headers, body)
    if answer.status != _OK:
        raise ValueError(f"no token: the answer is {answer.status}")
    return Secret(msgspec.json.decode(answer.body, type=_Told).access_token)
