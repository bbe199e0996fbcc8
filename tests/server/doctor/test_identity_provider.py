"""The check of the provider of single sign-on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.services.scripted_provider import CLIENT_ID, ScriptedProvider, running_provider

from anabranch.server.config.field import build
from anabranch.server.config.types import Seconds
from anabranch.server.doctor.check_result import CheckResult, State
from anabranch.server.doctor.identity_provider import check_identity_provider


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with running_provider() as running:
        yield running


def check(provider: ScriptedProvider, **changes: object) -> CheckResult:
    values = {
        "enabled": True,
        "url": provider.issuer,
        "client_id": CLIENT_ID,
        "callback_base_url": "https://lake.example.com",
        "request_timeout": Seconds(30),
        **changes,
    }
    settings = build({f"auth.oidc.{name}": value for name, value in values.items()})
    (result,) = check_identity_provider(settings)
    assert result.about == "identity provider"
    return result


def test_no_provider_is_checked_without_single_sign_on():
    assert check_identity_provider(build({})) == []


def test_a_provider_with_keys_is_sound(provider):
    result = check(provider)
    assert result.state is State.SOUND
    assert "publishes 3 keys" in result.message


def test_a_provider_with_another_issuer_is_wrong(provider):
    result = check(provider, url=f"{provider.issuer}/")
    assert result.state is State.WRONG
    assert f"it calls itself {provider.issuer!r}" in result.message
    assert "auth.oidc.url" in result.hint


@pytest.mark.sample(1)
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys"])
def test_a_provider_that_does_not_respond_is_wrong(provider, path):
    provider.stall(path)
    result = check(provider, request_timeout=Seconds(0.3))
    assert (result.state, "no response within" in result.message) == (State.WRONG, True)


def test_a_provider_without_usable_keys_is_wrong(provider):
    provider.published[:] = [{"kty": "oct", "k": "c2VjcmV0"}]
    result = check(provider)
    assert (result.state, "publishes no key" in result.message) == (State.WRONG, True)
