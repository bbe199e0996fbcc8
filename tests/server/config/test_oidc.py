"""Settings of single sign-on: what must be given together, and which URLs are accepted."""

from __future__ import annotations

import pytest

from anabranch.errors import Invalid
from anabranch.server.config.loader import load_settings

GIVEN = {
    "auth.oidc.enabled": "true",
    "auth.oidc.url": "https://id.example.com/realms/a",
    "auth.oidc.client_id": "lake",
    "auth.oidc.callback_base_url": "https://lake.example.com",
}


def load(tmp_path, **changes):
    flags = GIVEN | {f"auth.oidc.{name}": value for name, value in changes.items()}
    return load_settings(flags, {}, folder=tmp_path).settings.auth.oidc


def test_complete_settings_are_loaded(tmp_path):
    assert load(tmp_path).enabled


@pytest.mark.parametrize("name", ["url", "client_id", "callback_base_url"])
def test_enabled_without_a_required_setting_is_an_error(tmp_path, name):
    with pytest.raises(Invalid, match=rf"enabled needs auth\.oidc\.{name} as well"):
        load(tmp_path, **{name: None})


@pytest.mark.parametrize("name", ["url", "client_id", "callback_base_url"])
def test_disabled_needs_no_other_setting(tmp_path, name):
    assert not load(tmp_path, enabled="false", **{name: None}).enabled


@pytest.mark.parametrize(
    "url",
    ["https://a", "https://a:8443/b/", "http://127.0.0.1:1", "http://localhost", "http://[::1]:1"],
)
def test_a_secure_url_is_accepted(tmp_path, url):
    assert load(tmp_path, url=url).url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example.com",
        "http://localhost.example.com",
        "id.example.com",
        "ftp://a",
        "https://",
        "https://a?b",
        "https://a#b",
        "https://u@a",
        "https://a b",
        "https://a\\b",
        "https://a:b",
        "https://[a",
    ],
)
@pytest.mark.parametrize("name", ["url", "callback_base_url"])
def test_another_url_is_an_error(tmp_path, name, url):
    with pytest.raises(Invalid, match=f"{name} is .*not a URL that begins with https://"):
        load(tmp_path, **{name: url})


def test_a_logout_parameter_without_a_value_is_an_error(tmp_path):
    with pytest.raises(Invalid, match="a name without a value"):
        load(tmp_path, logout_endpoint_query_parameters="returnTo")


def test_the_client_secret_is_not_shown(tmp_path):
    settings = load(tmp_path, client_secret="sesame-open")
    assert "sesame-open" not in repr(settings)
