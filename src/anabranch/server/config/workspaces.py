"""Settings of workspaces."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import SettingDoc, SettingsGroup

__all__ = ["WorkspaceSettings"]


class WorkspaceSettings(SettingsGroup, frozen=True, kw_only=True):
    """Branches with keys that reach nothing else."""

    auto_merge: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Patterns of branches into which the keys of a workspace may merge its proposal, such "
            "as `staging-*`, or `main=schema+counts` if the actions `schema` and `counts` run "
            "before merges into it"
        ),
    ] = ()
