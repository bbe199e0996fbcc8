"""The addresses in a store that a user may import: what trees that clients write may refer to."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, AllBelow, Permission, namespace_arn
from anabranch.blocks.admitted_addresses import is_source, spellings
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Invalid

__all__ = ["ImportableAddresses"]


class ImportableAddresses:
    """The addresses that the statements on `fs:ImportFromStorage` allow a user. Decisions on them
    are recorded as those on other permissions are; `record` receives what was admitted.
    """

    def __init__(self, actor: Actor, blocks: BlockStore, record: Callable[[str], None]) -> None:
        self._actor = actor
        self._blocks = blocks
        self._record = record
        self._admitted: list[str] = []
        self._recorded = ""

    def admit_below(self, folder: str) -> bool:
        """Returns whether all addresses below a folder, written without its last slash, may be
        imported. One decision is recorded for the widest folder around it of which that is true.
        """
        if not any(f"{folder}/".startswith(admitted) for admitted in self._admitted):
            widest = ""
            above = folder
            while above and not above.endswith("/") and self._may_below(above):
                widest, above = above, above.rpartition("/")[0]
            if not widest:
                return False
            authorize(self._actor, self._below(widest))
            self._admitted.append(f"{widest}/")
        if folder != self._recorded:
            self._record(f"{folder}/")
            self._recorded = folder
        return True

    def require(self, address: str) -> None:
        """Raises Denied (kind insufficient_permissions) unless an address may be imported."""
        authorize(
            self._actor,
            [
                Permission(Action.IMPORT_FROM_STORAGE, namespace_arn(spelling))
                for spelling in self._spellings(address)
            ],
        )
        self._record(address)

    def _may_below(self, folder: str) -> bool:
        try:
            permissions = self._below(folder)
        except Invalid:
            return False
        return all(self._actor.may(permission) for permission in permissions)

    def _below(self, folder: str) -> list[Permission]:
        return [
            Permission(Action.IMPORT_FROM_STORAGE, AllBelow(namespace_arn(spelling[:-1])))
            for spelling in self._spellings(f"{folder}/x")
        ]

    def _spellings(self, address: str) -> list[str]:
        if is_source(self._blocks, address):
            return [address]
        return spellings(self._blocks, address)
