"""Settings of the web interface."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import PageUrl, SettingDoc, SettingsGroup

__all__ = ["Pages"]


class Pages(SettingsGroup, frozen=True, kw_only=True):
    """The web interface."""

    documentation_url: Annotated[
        PageUrl,
        SettingDoc(
            "Address of the documentation, to which the menu of pages leads, such as that of the "
            "site that `make docs` builds; without one, the menu has no such entry"
        ),
    ] = PageUrl("")
