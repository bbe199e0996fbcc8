"""Sources of credentials for S3.

Keys in the settings come first, those in `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` second.
Both need no library. All other sources are those of botocore, in its order: assumed roles, web
identity tokens, SSO, profiles in `~/.aws/credentials`, `credential_process`, profiles in
`~/.aws/config`, containers, and the instance metadata service. [AWS, "AWS SDKs and Tools reference
guide", standardized credential providers]
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from anabranch.blocks.cloud.refreshed_credential import CHECK_INTERVAL, RefreshedCredential
from anabranch.blocks.s3.endpoint import Credentials
from anabranch.errors import AnabranchError, Busy, Invalid, StoreRefused
from anabranch.model.secret import Secret

__all__ = ["find_credentials"]

_DEFAULT_REGION = "us-east-1"
_PROGRAM = "custom-process"
"""botocore's name of the provider that runs a `credential_process`."""

_HINT = (
    "Set blockstore.s3.credentials, or AWS_ACCESS_KEY_ID and its secret, or another source that "
    "AWS's own tools know."
)


def find_credentials(
    *,
    access_key_id: str = "",
    secret_access_key: Secret = Secret(""),  # noqa: B008  frozen
    session_token: Secret = Secret(""),  # noqa: B008  frozen
    profile: str = "",
    credentials_file: str = "",
    region: str = "",
    check_interval: float = CHECK_INTERVAL,
) -> Callable[[], Credentials]:
    """Returns a function that returns the current credentials, refreshed before they expire. Those
    of the environment and of files are read again when a store refuses them (`S3Endpoint.renew`).

    It raises StoreRefused (kind no_credentials) where there are none or where a service refuses
    them, and Busy where a service does not answer. `region` is where roles are assumed; botocore is
    asked at most once in `check_interval`, in seconds. Raises Invalid (kind extra_missing) where
    botocore is needed and not installed.
    """
    if access_key_id:
        configured = Credentials(access_key_id, secret_access_key, session_token.reveal() or None)
        return lambda: configured
    if not profile and _from_environment() is not None:
        return RefreshedCredential(_require_environment, check_interval=check_interval)
    chain = _Chain(profile, credentials_file, region)
    return RefreshedCredential(chain, forget=chain.forget, check_interval=check_interval)


class _Chain:
    """botocore's chain of credential providers. Not thread-safe."""

    def __init__(self, profile: str, credentials_file: str, region: str) -> None:
        self._botocore = _import_botocore()
        self._profile = profile
        self._credentials_file = credentials_file
        self._region = region
        self._provided: Any = None

    def __call__(self) -> Credentials:
        try:
            if self._provided is None:
                self._provided = self._session().get_credentials()
            frozen = None if self._provided is None else self._provided.get_frozen_credentials()
        except Exception as error:  # noqa: BLE001  files, programs and services fail in many ways
            # not chained: an error about a file of credentials may quote it
            raise self._translate(error) from None
        if frozen is None:
            raise _no_credentials("there are no credentials for S3")
        return Credentials(frozen.access_key, Secret(frozen.secret_key), frozen.token or None)

    def forget(self) -> None:
        """Forgets the provider, which may never read its file or run its program again."""
        self._provided = None

    def _session(self) -> Any:
        session = self._botocore.session.Session(profile=self._profile or None)
        if self._credentials_file:
            session.set_config_variable("credentials_file", self._credentials_file)
        region = self._region or session.get_config_variable("region") or _DEFAULT_REGION
        session.set_config_variable("region", region)
        return session

    def _translate(self, error: Exception) -> AnabranchError:
        exceptions = self._botocore.exceptions
        name = type(error).__name__
        if _is_caused_by(error, (exceptions.HTTPClientError, exceptions.ConnectionError)):
            return Busy(
                f"the service of credentials for S3 does not answer ({name})",
                kind="storage_unreachable",
            )
        if not isinstance(error, exceptions.BotoCoreError | exceptions.ClientError):
            reason = error.strerror if isinstance(error, OSError) else None
            return _no_credentials(f"no credentials for S3: {reason or name}")
        if getattr(error, "kwargs", {}).get("provider") == _PROGRAM:
            # the error holds what the program printed, which may be a secret
            return _no_credentials("no credentials for S3: the credential_process has failed")
        return _no_credentials(f"no credentials for S3: {error}")


def _is_caused_by(error: BaseException | None, kinds: tuple[type[BaseException], ...]) -> bool:
    while error is not None:
        if isinstance(error, kinds):
            return True
        error = error.__context__
    return False


def _import_botocore() -> Any:
    try:
        import botocore.exceptions  # noqa: PLC0415  an extra, slow to import
        import botocore.session  # noqa: PLC0415
    except ImportError as error:
        raise Invalid(
            f"credentials for S3 from AWS's profiles, roles and services need a library: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[s3]', or set blockstore.s3.credentials.",
        ) from error
    return botocore


def _from_environment() -> Credentials | None:
    access_key_id = os.environ.get("AWS_ACCESS_KEY_ID")
    secret = os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key_id or not secret:
        return None
    return Credentials(access_key_id, Secret(secret), os.environ.get("AWS_SESSION_TOKEN") or None)


def _require_environment() -> Credentials:
    credentials = _from_environment()
    if credentials is None:
        raise _no_credentials("the environment no longer has credentials for S3")
    return credentials


def _no_credentials(message: str) -> StoreRefused:
    return StoreRefused(message, kind="no_credentials", hint=_HINT)
