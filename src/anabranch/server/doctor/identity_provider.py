"""Check that the provider of single sign-on responds and is the one that the settings name."""

from __future__ import annotations

import time

from anabranch.access.oidc.provider import Provider
from anabranch.access.oidc.provider_requests import ProviderRequests
from anabranch.server.config.settings import Settings
from anabranch.server.doctor.check_result import CheckResult, State, errors_collected
from anabranch.server.installation.single_sign_on import to_client

__all__ = ["check_identity_provider"]

ABOUT = "identity provider"


def check_identity_provider(settings: Settings) -> list[CheckResult]:
    """Reads the provider's metadata and keys, as a login does; nothing if it is not enabled."""
    results: list[CheckResult] = []
    oidc = settings.auth.oidc
    if not oidc.enabled:
        return results
    provider = Provider(to_client(oidc), ProviderRequests(oidc.request_timeout))
    with errors_collected(ABOUT, results):
        start = time.monotonic()
        provider.metadata()
        count = provider.count_keys()
        milliseconds = (time.monotonic() - start) * 1000
        if count:
            message = f"it publishes {count} keys, reading them took {milliseconds:,.0f} ms"
            results.append(CheckResult(ABOUT, State.SOUND, message))
        else:
            message = "it publishes no key that can sign ID tokens, so no user can log in"
            hint = "Configure it to sign with RS256 or another asymmetric algorithm."
            results.append(CheckResult(ABOUT, State.WRONG, message, hint))
    return results
