"""The rules that a request has for a merge: its strategy, and its resolutions of conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.catalog.objects.staging import Staging
from anabranch.errors import Invalid, NotSupported
from anabranch.model.commits.conflict import Resolution
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.rules import MergeRules, Rule, Versions, check_strategy

__all__ = ["RequestedRules"]

_OBJECT_FIELDS = {"checksum", "size_bytes", "content_type", "user_metadata"}


class RequestedRules:
    """Reads the rules of requests. `default_rights` are those of a merge that names no caller."""

    def __init__(self, staging: Staging, default_rights: ContentRights) -> None:
        self._staging = staging
        self.default_rights = default_rights

    def read(
        self,
        repository: str,
        branch: str,
        strategy: str,
        resolutions: Sequence[Resolution],
        rights: ContentRights | None,
    ) -> MergeRules:
        """Returns the rules that a request has for a merge into a branch, with the rights of its
        caller. Raises Invalid for a strategy or a resolution that is wrong, with its number and
        field.
        """
        chosen = check_strategy(strategy)
        rules = []
        for number, resolution in enumerate(resolutions):
            try:
                rules.append(self._rule(repository, branch, resolution))
            except (Invalid, NotSupported) as error:
                error.message = f"resolutions[{number}]: {error.message}"
                error.args = (error.message,)
                raise
        return MergeRules(tuple(rules), chosen, rights or self.default_rights)

    def _rule(self, repository: str, branch: str, resolution: Resolution) -> Rule:
        options = dict(resolution)
        path = _text(options, "path")
        if not path:
            raise _invalid("path is missing")
        strategy, address = _text(options, "strategy"), _text(options, "physical_address")
        if bool(strategy) == bool(address):
            raise _invalid("needs either a strategy or a physical_address")
        if strategy:
            versions = _versions(options)
            return Rule.of(path, strategy, options, versions)
        unknown = sorted(options.keys() - _OBJECT_FIELDS)
        if unknown:
            raise _invalid(f"{unknown[0]} is unknown beside a physical_address")
        entry = self._staging.object_at(repository, branch, path, address, options)
        return Rule.for_object(path, entry)


def _text(options: dict[str, Any], name: str) -> str:
    value = options.pop(name, "")
    if not isinstance(value, str):
        raise _invalid(f"{name} must be text")
    return value


def _versions(options: dict[str, Any]) -> Versions | None:
    """Returns the versions that choices are for, None if the resolution does not name them."""
    if "versions" not in options:
        return None
    found = options.pop("versions")
    texts = found.values() if isinstance(found, dict) else [0]
    if not all(each is None or isinstance(each, str) for each in texts):
        raise _invalid("versions must have a text or null for each side, as the listing has them")
    return {str(side): text for side, text in found.items()}


def _invalid(reason: str) -> Invalid:
    return Invalid(
        reason,
        kind="invalid_resolution",
        hint='A resolution is {"path": path or pattern, "strategy": name} with the options of the '
        'strategy, or {"path": path, "physical_address": address}.',
    )
