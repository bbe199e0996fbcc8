"""Settings of SCIM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from anabranch.model.secret import Secret
from anabranch.server.config.types import SettingDoc, SettingsGroup

__all__ = ["Scim", "scim_problems"]

_TOKEN = "auth.scim.token"  # noqa: S105  a name
_SHORTEST = 16


class Scim(SettingsGroup, frozen=True, kw_only=True):
    """Users and groups from an identity provider by SCIM 2.0."""

    token: Annotated[
        Secret,
        SettingDoc(
            "Bearer token with which an identity provider administers users and groups at "
            "`/scim/v2`, at least 16 characters; none: SCIM is off; needs the extra `scim`"
        ),
    ] = Secret("")


def scim_problems(values: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    """Returns what is wrong with the given settings of SCIM."""
    token = values.get(_TOKEN)
    if not token or len(token.reveal()) >= _SHORTEST:
        return []
    return [f"{places[_TOKEN]} is shorter than {_SHORTEST} characters"]
