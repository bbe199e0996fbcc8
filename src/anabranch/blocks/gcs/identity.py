"""Tokens that identify this server to Google where it has no service account's key.

google-auth finds them: the application default credentials of this machine, or those of a file that
is no service account's key, such as of workload identity federation. [Google, "How Application
Default Credentials works"]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import UTC
from typing import TYPE_CHECKING, Any

import msgspec

from anabranch.blocks.cloud.refreshed_credential import CHECK_INTERVAL, RefreshedCredential
from anabranch.errors import AnabranchError, Busy, Invalid, StoreRefused
from anabranch.model.secret import Secret

if TYPE_CHECKING:
    from obstore.store import GCSCredential

__all__ = ["find_token"]

_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


def find_token(
    credentials_json: Secret = Secret(""),  # noqa: B008  frozen
    *,
    check_interval: float = CHECK_INTERVAL,
) -> Callable[[], GCSCredential]:
    """Returns a function that returns the current token, refreshed before it expires, of the
    credentials in a JSON document, or of the application default credentials without one.
    google-auth is asked at most once in `check_interval`, in seconds.

    The function raises StoreRefused (kind no_credentials) where there is no token, and Busy where
    a service does not answer. Raises Invalid (kind extra_missing) without google-auth.
    """
    return RefreshedCredential(_Source(credentials_json), check_interval=check_interval)


class _Source:
    """google-auth's credentials. Not thread-safe."""

    def __init__(self, credentials_json: Secret) -> None:
        self._google_auth, self._request = _import_google_auth()
        self._json = credentials_json
        self._credentials: Any = None

    def __call__(self) -> GCSCredential:
        exceptions = self._google_auth.exceptions
        try:
            if self._credentials is None:
                self._credentials = self._load()
            if self._credentials.token_state is not self._google_auth.credentials.TokenState.FRESH:
                self._credentials.refresh(self._request)
        except (exceptions.GoogleAuthError, msgspec.DecodeError, OSError, ValueError) as error:
            raise self._translate(error) from error
        expiry = self._credentials.expiry
        return {
            "token": self._credentials.token,
            "expires_at": expiry and expiry.replace(tzinfo=UTC),
        }

    def _load(self) -> Any:
        if self._json:
            document = msgspec.json.decode(self._json.reveal())
            with warnings.catch_warnings():
                # about documents of strangers; this one is an administrator's
                warnings.simplefilter("ignore", DeprecationWarning)
                return self._google_auth.load_credentials_from_dict(document, scopes=[_SCOPE])[0]
        return self._google_auth.default(scopes=[_SCOPE], request=self._request)[0]

    def _translate(self, error: Exception) -> AnabranchError:
        unanswered = self._google_auth.exceptions.TransportError
        if (
            isinstance(error, unanswered)
            or isinstance(error.__cause__, unanswered)
            or getattr(error, "retryable", False)
        ):
            return Busy(
                f"the service of Google's tokens does not answer: {error}",
                kind="storage_unreachable",
            )
        return StoreRefused(
            f"no token for Google Cloud Storage: {error}",
            kind="no_credentials",
            hint="Set blockstore.gs.credentials_file, or GOOGLE_APPLICATION_CREDENTIALS, or give "
            "this machine a service account.",
        )


def _import_google_auth() -> tuple[Any, Any]:
    """Returns the package, and what it sends requests with, which it repeats itself."""
    try:
        import google.auth.credentials  # noqa: PLC0415  an extra, slow to import
        import google.auth.exceptions  # noqa: PLC0415
        import google.auth.transport.urllib3  # noqa: PLC0415
        import urllib3  # noqa: PLC0415
    except ImportError as error:
        raise Invalid(
            f"Google's credentials, other than a service account's key, need a library: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[gcs]', or set blockstore.gs.credentials_file.",
        ) from error
    return google.auth, google.auth.transport.urllib3.Request(urllib3.PoolManager(retries=False))
