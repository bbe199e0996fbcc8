"""Settings of merges."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import Seconds, SettingDoc, SettingsGroup

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
    timeout: Annotated[
        Seconds, SettingDoc("Time limit of the merge or comparison of one table")
    ] = Seconds(600)
    memory_bytes: Annotated[
        int, SettingDoc("Memory that the merge or comparison of a table may use, in bytes")
    ] = 3 << 30
