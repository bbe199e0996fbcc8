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


PROVIDERS = """
auth:
  oidc:
    default_initial_groups: [Developers]
    validate_id_token_claims: {department: R&D}
  providers:
    oidc:
      URL: https://id.example.com/
      client_id: lake
      client_secret: sesame
      callback_base_url: https://lake.example.com
      authorize_endpoint_query_parameters: {Audience: a, prompt: login}
      logout_endpoint_query_parameters: [returnTo, https://lake.example.com]
      post_login_redirect_url: /
    saml:
      sp_root_url: https://lake.example.com
"""


def test_a_file_of_a_newer_lakefs_enables_single_sign_on(tmp_path):
    path = tmp_path / "lakefs.yaml"
    path.write_text(PROVIDERS)
    loaded = load_settings({}, {}, path, folder=tmp_path)
    oidc = loaded.settings.auth.oidc
    assert (oidc.enabled, oidc.url, oidc.client_id) == (True, "https://id.example.com/", "lake")
    assert oidc.authorize_endpoint_query_parameters == (("Audience", "a"), ("prompt", "login"))
    assert oidc.default_initial_groups == ("Developers",)
    assert oidc.validate_id_token_claims == (("department", "R&D"),)
    assert [warning.partition(" is ")[0].partition(":")[2] for warning in loaded.warnings] == [
        "auth.providers.oidc.post_login_redirect_url",
        "auth.providers.saml.sp_root_url",
    ]
    given = load_settings({}, {"ANABRANCH_AUTH_OIDC_ENABLED": "no"}, path, folder=tmp_path)
    assert not given.settings.auth.oidc.enabled


def test_an_error_names_the_setting_as_it_was_given(tmp_path):
    path = tmp_path / "lakefs.yaml"
    path.write_text(PROVIDERS.replace("client_id: lake", "client_id: 7"))
    with pytest.raises(
        Invalid, match=r"lakefs.yaml:auth\.providers\.oidc\.client_id is not a text"
    ):
        load_settings({}, {}, path, folder=tmp_path)


def test_the_names_of_a_newer_lakefs_are_known_in_its_files_only(tmp_path):
    path = tmp_path / "anabranch.toml"
    path.write_text('[auth.providers.oidc]\nurl = "https://id.example.com"')
    with pytest.raises(Invalid, match="a setting of lakeFS that has no effect here"):
        load_settings({}, {}, folder=tmp_path)
