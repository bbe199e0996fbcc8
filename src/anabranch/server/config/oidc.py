"""Settings of single sign-on with OpenID Connect. Names that lakeFS has, too, are lakeFS's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from anabranch.model.secret import Secret
from anabranch.server.config.types import Pairs, Seconds, SettingDoc, SettingsGroup

__all__ = ["OpenIDConnect", "oidc_problems"]

_PREFIX = "auth.oidc."
_REQUIRED = ("url", "client_id", "callback_base_url")
_URLS = ("url", "callback_base_url")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class OpenIDConnect(SettingsGroup, frozen=True, kw_only=True):
    """Logins at an OpenID Connect provider."""

    enabled: Annotated[
        bool,
        SettingDoc(
            "Whether users log in at an OpenID Connect provider; needs `auth.oidc.url`, "
            "`auth.oidc.client_id` and `auth.oidc.callback_base_url`"
        ),
    ] = False
    is_default_login: Annotated[
        bool, SettingDoc("Whether login pages redirect to the provider without asking")
    ] = False
    url: Annotated[str, SettingDoc("The provider's issuer URL, exactly as the provider has it")] = (
        ""
    )
    client_id: Annotated[str, SettingDoc("The client that is registered at the provider")] = ""
    client_secret: Annotated[
        Secret, SettingDoc("The client's secret; none for a public client")
    ] = Secret("")
    callback_base_url: Annotated[
        str,
        SettingDoc(
            "URL of this server in browsers; the redirect URI to register at the provider is "
            "this URL followed by `/api/v1/oidc/callback`"
        ),
    ] = ""
    scim_id_claim_name: Annotated[
        str,
        SettingDoc(
            "Claim with the `externalId` of the user whom the provider created by SCIM, such as "
            "`sub` or `oid`: the person's first login becomes that user; only a claim that users "
            "cannot choose"
        ),
    ] = ""
    sts_redirect_uris: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Redirect URIs of programs that log in at the provider themselves, as this client, and "
            "exchange their codes for tokens here (`/sts/login`)"
        ),
    ] = ()
    additional_scope_claims: Annotated[
        tuple[str, ...],
        SettingDoc("Scopes to request besides `openid` and `profile`, such as `email`, `groups`"),
    ] = ()
    authorize_endpoint_query_parameters: Annotated[
        Pairs, SettingDoc("Additional parameters of the authorization request")
    ] = ()
    validate_id_token_claims: Annotated[
        Pairs,
        SettingDoc("Claims and their required values; users without them cannot log in"),
    ] = ()
    username_claim_names: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Claims that name a new user; the first that can be a user's name, else `sub`, is taken"
        ),
    ] = ("preferred_username", "email")
    friendly_name_claim_name: Annotated[
        str, SettingDoc("Claim with the name that is displayed for a user")
    ] = "name"
    persist_friendly_name: Annotated[
        bool, SettingDoc("Whether the displayed name is updated at each login")
    ] = False
    default_initial_groups: Annotated[
        tuple[str, ...], SettingDoc("Groups of new users without a claim of initial groups")
    ] = ()
    initial_groups_claim_name: Annotated[
        str, SettingDoc("Claim with the groups of new users, a list or text with commas")
    ] = ""
    groups_claim_name: Annotated[
        str, SettingDoc("Claim with a user's groups at the provider, for `auth.oidc.group_mapping`")
    ] = "groups"
    group_mapping: Annotated[
        Pairs,
        SettingDoc(
            "Groups of the provider and the groups of this server that their members belong to; "
            "memberships in the latter follow the provider at each login"
        ),
    ] = ()
    logout_client_id_query_parameter: Annotated[
        str,
        SettingDoc("Name of the parameter of `auth.logout_redirect_url` with the client's ID"),
    ] = ""
    logout_endpoint_query_parameters: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Additional parameters of `auth.logout_redirect_url`, names and values by turns"
        ),
    ] = ()
    request_timeout: Annotated[
        Seconds, SettingDoc("Time limit of each request to the provider")
    ] = Seconds(10)


def oidc_problems(values: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    """Returns what is wrong with the given settings of OpenID Connect, if it is enabled."""
    if not values.get(_PREFIX + "enabled"):
        return []
    missing = [_PREFIX + name for name in _REQUIRED if not values.get(_PREFIX + name)]
    problems = []
    if missing:
        problems.append(f"{places[_PREFIX + 'enabled']} needs {' and '.join(missing)} as well")
    problems += [
        f"{places[_PREFIX + name]} is {values[_PREFIX + name]!r}, not a URL that begins with "
        "https:// and has no query; http:// is for this machine only"
        for name in _URLS
        if values.get(_PREFIX + name) and not _is_secure_url(values[_PREFIX + name])
    ]
    logout = _PREFIX + "logout_endpoint_query_parameters"
    if len(values.get(logout, ())) % 2:
        problems.append(f"{places[logout]} has a name without a value")
    return problems


def _is_secure_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        return False
    secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    extra = parts.query or parts.fragment or parts.username is not None
    return bool(host) and secure and plain and not extra
