"""Configuration of the client of an OpenID Connect provider."""

from __future__ import annotations

import msgspec

from anabranch.model.secret import Secret

__all__ = ["ClaimNames", "Client", "Configuration", "GroupRules"]

Pairs = tuple[tuple[str, str], ...]


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """The client as the provider knows it: `issuer` is the provider's URL, `redirect_uri` the URL
    to which the provider sends browsers back. Without a secret, it is a public client. Programs
    that log in at the provider themselves may exchange codes of the `program_redirect_uris`.
    """

    issuer: str
    id: str
    redirect_uri: str
    secret: Secret = Secret("")
    scopes: tuple[str, ...] = ("openid", "profile")
    authorization_parameters: Pairs = ()
    program_redirect_uris: tuple[str, ...] = ()


class ClaimNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names of claims; an empty name is that of no claim. `required` are claims with the values
    that users must have. `provisioned_id` has the identifier with which SCIM created a user.
    """

    usernames: tuple[str, ...] = ("preferred_username", "email")
    friendly_name: str = "name"
    initial_groups: str = ""
    groups: str = "groups"
    provisioned_id: str = ""
    required: Pairs = ()


class GroupRules(msgspec.Struct, frozen=True, kw_only=True):
    """`initial` are groups of new users. `mapping` has groups of the provider and the groups here
    that their members belong to.
    """

    initial: tuple[str, ...] = ()
    mapping: Pairs = ()


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; `request_timeout` in seconds. `updates_friendly_names` is whether names that are
    displayed follow the provider at each login. With `is_default`, login pages redirect to the
    provider.
    """

    client: Client
    claims: ClaimNames = ClaimNames()
    groups: GroupRules = GroupRules()
    updates_friendly_names: bool = False
    is_default: bool = False
    request_timeout: float = 10.0
