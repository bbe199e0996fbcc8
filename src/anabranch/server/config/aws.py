"""Settings of logins with identities of AWS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from anabranch.server.config.types import Pairs, Seconds, SettingDoc, SettingsGroup

__all__ = ["AwsLogins", "aws_problems"]

_PREFIX = "auth.external_aws_auth."


class AwsLogins(SettingsGroup, frozen=True, kw_only=True):
    """Logins with identities of AWS."""

    enabled: Annotated[
        bool,
        SettingDoc(
            "Whether roles of AWS IAM log in; needs `auth.external_aws_auth.required_headers`"
        ),
    ] = False
    valid_sts_hosts: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Hosts of the token service that clients may sign requests for; by default those of "
            "Amazon, `sts.amazonaws.com` and `sts.REGION.amazonaws.com`"
        ),
    ] = ()
    required_headers: Annotated[
        Pairs,
        SettingDoc(
            "Headers, with their values, that clients must sign; clients send `X-LakeFS-Server-ID` "
            "with the host of this server"
        ),
    ] = ()
    endpoint: Annotated[
        str,
        SettingDoc(
            "URL to which signed requests are sent, such as that of a VPC endpoint, in place of "
            "the host that they are signed for"
        ),
    ] = ""
    get_caller_identity_max_age: Annotated[
        Seconds, SettingDoc("Greatest age of a signed request")
    ] = Seconds(900)
    request_timeout: Annotated[
        Seconds, SettingDoc("How long the token service may take to respond")
    ] = Seconds(10)


def aws_problems(values: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    """Returns what is wrong with the given settings of these logins, if they are enabled."""
    enabled = _PREFIX + "enabled"
    if not values.get(enabled) or values.get(_PREFIX + "required_headers"):
        return []
    need = f"{places[enabled]} needs {_PREFIX}required_headers as well"
    return [f"{need}: without them, requests that were signed for other services would log in"]
