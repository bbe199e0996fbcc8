"""Where credentials for S3 come from, as with AWS's own tools.

In this order:

1. the settings;
2. the variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`;
3. a profile in a file of credentials, `~/.aws/credentials`;
4. services that give them to a machine, a container or a pod, see `s3_credential_services`.

[AWS, "AWS SDKs and Tools reference guide", standardized credential providers]
"""

from __future__ import annotations

import configparser
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from anabranch.blocks.s3_access import Credentials
from anabranch.blocks.s3_credential_services import service_credentials
from anabranch.errors import StoreRefused
from anabranch.model.secret import Secret

__all__ = ["find_credentials"]

_EARLY_SECONDS = 300


def find_credentials(
    environment: Mapping[str, str],
    *,
    access_key_id: str = "",
    secret_access_key: Secret = Secret(""),  # noqa: B008  frozen
    session_token: Secret = Secret(""),  # noqa: B008  frozen
    profile: str = "",
    credentials_file: str = "",
    region: str = "",
    clock: Callable[[], float] = time.time,
) -> Callable[[], Credentials]:
    """Returns what gives credentials, which are asked for when they are first needed, and again
    five minutes before they expire. That raises StoreRefused (kind no_credentials) where there
    are none, Busy where a service does not answer. `clock` gives seconds since 1970.
    """
    if access_key_id:
        given = Credentials(access_key_id, secret_access_key, session_token.reveal() or None)
        return lambda: given

    def find() -> Credentials:
        found = _of_environment(environment) if not profile else None
        found = found or _of_file(environment, profile, credentials_file)
        if found is None and not profile:
            found = service_credentials(environment, region)
        if found is None:
            raise StoreRefused(
                "there are no credentials for S3",
                kind="no_credentials",
                hint="Set blockstore.s3.credentials, or AWS_ACCESS_KEY_ID and its secret.",
            )
        return found

    return _Renewed(find, clock)


class _Renewed:
    """Credentials that are found anew before they expire."""

    def __init__(self, find: Callable[[], Credentials], clock: Callable[[], float]) -> None:
        self._find = find
        self._clock = clock
        self._lock = threading.Lock()
        self._held: Credentials | None = None

    def __call__(self) -> Credentials:
        held = self._held
        if held is not None and self._lasts(held):
            return held
        with self._lock:
            if self._held is None or not self._lasts(self._held):
                self._held = self._find()
            return self._held

    def _lasts(self, held: Credentials) -> bool:
        return held.expires is None or self._clock() < held.expires - _EARLY_SECONDS


def _of_environment(environment: Mapping[str, str]) -> Credentials | None:
    access_key_id = environment.get("AWS_ACCESS_KEY_ID")
    secret = environment.get("AWS_SECRET_ACCESS_KEY")
    if not access_key_id or not secret:
        return None
    return Credentials(access_key_id, Secret(secret), environment.get("AWS_SESSION_TOKEN") or None)


def _of_file(environment: Mapping[str, str], profile: str, file: str) -> Credentials | None:
    name = profile or environment.get("AWS_PROFILE") or "default"
    usual = f"{environment.get('HOME', '')}/.aws/credentials"
    path = Path(file or environment.get("AWS_SHARED_CREDENTIALS_FILE") or usual).expanduser()
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        # what such an error quotes may be a secret
        raise StoreRefused(
            f"{path}: the credentials cannot be read ({type(error).__name__})",
            kind="no_credentials",
        ) from None
    if not parser.has_section(name):
        return None
    section = parser[name]
    if "aws_access_key_id" not in section or "aws_secret_access_key" not in section:
        return None
    return Credentials(
        section["aws_access_key_id"],
        Secret(section["aws_secret_access_key"]),
        section.get("aws_session_token"),
    )
