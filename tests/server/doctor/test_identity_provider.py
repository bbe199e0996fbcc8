"""What `doctor` says of the provider of single sign-on."""

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
        "request_timeout": Seconds(2),
        **changes,
    }
    settings = build({f"auth.oidc.{name}": value for name, value in values.items()})
    (finding,) = check_identity_provider(settings)
    assert finding.about == "identity provider"
    return finding


def test_nothing_is_asked_where_single_sign_on_is_not_enabled():
    assert check_identity_provider(build({})) == []


def test_a_provider_with_keys_is_sound(provider):
    finding = check(provider)
    assert finding.state is State.SOUND
    assert "publishes 3 keys" in finding.message


def test_a_provider_that_calls_itself_otherwise_is_wrong(provider):
    finding = check(provider, url=f"{provider.issuer}/")
    assert finding.state is State.WRONG
    assert f"it calls itself {provider.issuer!r}" in finding.message
    assert "auth.oidc.url" in finding.hint


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys"])
def test_a_provider_that_does_not_answer_is_wrong(provider, path):
    provider.stall(path)
    finding = check(provider, request_timeout=Seconds(0.3))
    assert (finding.state, "no response within" in finding.message) == (State.WRONG, True)


def test_a_provider_without_usable_keys_is_wrong(provider):
    provider.published[:] = [{"kty": "oct", "k": "c2VjcmV0"}]
    finding = check(provider)
    assert (finding.state, "publishes no key" in finding.message) == (State.WRONG, True)
