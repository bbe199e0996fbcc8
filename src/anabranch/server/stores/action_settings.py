"""The settings of actions, for the engine that runs their hooks."""

from __future__ import annotations

from anabranch.actions.hooks.contract import HookSettings
from anabranch.actions.runs.settings import ActionSettings
from anabranch.errors import Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.server.config.actions import Actions
from anabranch.versioning.proposals import MAX_EXAMINATION_SECONDS

__all__ = ["action_settings"]


def action_settings(actions: Actions) -> ActionSettings:
    """Returns the settings of actions. Raises Invalid for networks that are none."""
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
            webhook_allow=actions.webhook.allow,
            lua_net_http_enabled=actions.lua.net_http_enabled,
        ),
    )
