"""Settings of merges."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import SettingDoc, SettingsGroup

__all__ = ["MergeWebhooks", "Merges"]


class MergeWebhooks(SettingsGroup, frozen=True, kw_only=True):
    """Requests of the strategy `webhook`."""

    allow: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Networks that webhooks of merge rules may be sent to beside the public internet, such "
            "as `10.1.0.0/16,127.0.0.1`"
        ),
    ] = ()
    public: Annotated[
        bool,
        SettingDoc("Whether webhooks of merge rules may be sent to the public internet"),
    ] = True


class Merges(SettingsGroup, frozen=True, kw_only=True):
    """Merges and their rules."""

    webhook: MergeWebhooks = MergeWebhooks()
