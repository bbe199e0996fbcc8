"""Single sign-on as the settings configure it."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from anabranch.access.access import Access
from anabranch.access.aws_identity import AwsIdentities, AwsIdentitySettings
from anabranch.access.oidc.configuration import ClaimNames, Client, Configuration, GroupRules
from anabranch.access.oidc.single_sign_on import SingleSignOn
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.rest.table import BASE_PATH
from anabranch.server.config.oidc import OpenIDConnect
from anabranch.server.config.settings import Auth

__all__ = ["logout_url", "open_aws_identities", "open_single_sign_on", "to_client"]

_CALLBACK = f"{BASE_PATH}/oidc/callback"
_SCOPES = ("openid", "profile")


def open_single_sign_on(
    settings: Auth, keyvalue: KeyValueStore, access: Access
) -> SingleSignOn | None:
    """Returns the single sign-on of a server, None if it is not enabled."""
    oidc = settings.oidc
    if not oidc.enabled:
        return None
    return SingleSignOn(
        _configuration(oidc),
        keyvalue,
        settings.encrypt.secret_key,
        access,
        other_key=settings.encrypt.other_secret_key,
    )


def open_aws_identities(settings: Auth, clock: Callable[[], float]) -> AwsIdentities | None:
    """Returns the verifier of AWS identities, None if logins with them are not enabled."""
    aws = settings.external_aws_auth
    if not aws.enabled:
        return None
    return AwsIdentities(
        AwsIdentitySettings(
            hosts=aws.valid_sts_hosts,
            required_headers=aws.required_headers,
            endpoint=aws.endpoint.rstrip("/"),
            max_age=aws.get_caller_identity_max_age,
            timeout=aws.request_timeout,
        ),
        clock,
    )


def logout_url(settings: Auth) -> str:
    """Returns the URL to which browsers are redirected after logging out, with the parameters that
    a provider's logout page expects.
    """
    url, oidc = settings.logout_redirect_url, settings.oidc
    if not oidc.enabled:
        return url
    names, values = (oidc.logout_endpoint_query_parameters[start::2] for start in (0, 1))
    parameters = list(zip(names, values, strict=True))
    if oidc.logout_client_id_query_parameter:
        parameters.insert(0, (oidc.logout_client_id_query_parameter, oidc.client_id))
    if not parameters:
        return url
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(parameters)}"


def to_client(oidc: OpenIDConnect) -> Client:
    """Returns the OAuth client that is registered at the provider."""
    return Client(
        issuer=oidc.url,
        id=oidc.client_id,
        secret=oidc.client_secret,
        redirect_uri=oidc.callback_base_url.rstrip("/") + _CALLBACK,
        scopes=(*_SCOPES, *oidc.additional_scope_claims),
        program_redirect_uris=oidc.sts_redirect_uris,
        authorization_parameters=oidc.authorize_endpoint_query_parameters,
    )


def _configuration(oidc: OpenIDConnect) -> Configuration:
    return Configuration(
        client=to_client(oidc),
        claims=ClaimNames(
            usernames=oidc.username_claim_names,
            friendly_name=oidc.friendly_name_claim_name,
            initial_groups=oidc.initial_groups_claim_name,
            groups=oidc.groups_claim_name,
            provisioned_id=oidc.scim_id_claim_name,
            required=oidc.validate_id_token_claims,
        ),
        groups=GroupRules(initial=oidc.default_initial_groups, mapping=oidc.group_mapping),
        updates_friendly_names=oidc.persist_friendly_name,
        is_default=oidc.is_default_login,
        request_timeout=oidc.request_timeout,
    )
