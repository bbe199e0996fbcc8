"""Tokens that identify this server to Azure where it has no access key of an account.

azure-identity finds them: a service principal or a workload identity in the environment, the
machine's managed identity, or the login of Azure's tools. [Microsoft, "DefaultAzureCredential"]
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from anabranch.blocks.cloud.refreshed_credential import CHECK_INTERVAL, RefreshedCredential
from anabranch.errors import AnabranchError, Busy, Invalid, StoreRefused

if TYPE_CHECKING:
    from obstore.store import AzureBearerToken

__all__ = ["find_token"]

_SCOPE = "https://storage.azure.com/.default"


def find_token(
    credential: Any = None, *, check_interval: float = CHECK_INTERVAL
) -> Callable[[], AzureBearerToken]:
    """Returns a function that returns the current token, refreshed before it expires. `credential`
    is one of azure-identity's, by default DefaultAzureCredential; it is asked at most once in
    `check_interval`, in seconds.

    The function raises StoreRefused (kind no_credentials) where there is no token, and Busy where
    a service does not answer. Raises Invalid (kind extra_missing) without azure-identity.
    """
    try:
        from azure.core import exceptions  # noqa: PLC0415  an extra, slow to import
        from azure.identity import DefaultAzureCredential  # noqa: PLC0415
    except ImportError as error:
        raise Invalid(
            f"an identity in Azure needs a library: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[azure]', or set blockstore.azure.storage_access_key.",
        ) from error
    source = DefaultAzureCredential() if credential is None else credential

    def fetch() -> AzureBearerToken:
        try:
            token = source.get_token(_SCOPE)
        except (exceptions.ServiceRequestError, exceptions.ServiceResponseError) as error:
            raise Busy(
                f"the service of Azure's tokens does not answer: {_one_line(error)}",
                kind="storage_unreachable",
            ) from error
        except (exceptions.AzureError, OSError, ValueError) as error:
            raise _no_token(error) from error
        expires_at = datetime.fromtimestamp(token.expires_on, UTC)
        return {"token": token.token, "expires_at": expires_at}

    return RefreshedCredential(fetch, check_interval=check_interval)


def _no_token(error: Exception) -> AnabranchError:
    return StoreRefused(
        f"no token for Azure: {_one_line(error)}",
        kind="no_credentials",
        hint="Set blockstore.azure.storage_access_key, or give this machine an identity in Azure.",
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
