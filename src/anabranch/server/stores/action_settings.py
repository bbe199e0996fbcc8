"""The settings of actions, for the engine that runs their hooks."""

from __future__ import annotations

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.runs.settings import ActionSettings
from anabranch.errors import Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.patterns.glob import glob
from anabranch.server.config.actions import Actions
from anabranch.versioning.commits.proposals import MAX_EXAMINATION_SECONDS

__all__ = ["action_settings"]


def action_settings(actions: Actions) -> ActionSettings:
    """Returns the settings of actions. Raises Invalid for networks that are none,
    and for wrong patterns.
    """
    try:
        AddressGuard(actions.webhook.allow)
    except Invalid as error:
        reason = f"actions.webhook.allow: {error.message}"
        raise Invalid(reason, kind=error.kind, hint=error.hint) from error
    return ActionSettings(
        enabled=actions.enabled,
        concurrency=max(1, actions.concurrency),
        parallel_actions=max(1, actions.parallel),
        timeout=min(float(actions.timeout), MAX_EXAMINATION_SECONDS),
        output_bytes=max(0, actions.output_bytes),
        hooks=HookSettings(
            environment_enabled=actions.env.enabled,
            environment_branches=_check(actions.env.branches),
            trusts_authors=actions.trust_authors,
            webhook_allow=actions.webhook.allow,
            lua_net_http_enabled=actions.lua.net_http_enabled,
        ),
    )


def _check(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Returns patterns of branches. Raises Invalid for a wrong one."""
    for pattern in patterns:
        repository, slash, branch = pattern.partition("/")
        if not (repository and slash and branch):
            raise Invalid(
                f"actions.env.branches: {pattern!r} is not a pattern of REPOSITORY/BRANCH",
                kind="invalid_pattern",
                hint="For example flights/main; flights/* for all branches of flights.",
            )
        try:
            glob(repository)
            glob(branch)
        except Invalid as error:
            reason = f"actions.env.branches: {error.message}"
            raise Invalid(reason, kind=error.kind, hint=error.hint) from error
    return patterns
