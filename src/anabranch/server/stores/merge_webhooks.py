"""The setting of where webhooks of merges may lead, for the strategies that send them."""

from __future__ import annotations

from anabranch.errors import Invalid
from anabranch.outbound.address_guard import AddressGuard
from anabranch.server.config.merges import MergeWebhooks

__all__ = ["merge_webhook_guard"]


def merge_webhook_guard(webhook: MergeWebhooks) -> AddressGuard:
    """Returns the guard of the requests. Raises Invalid for networks that are none."""
    try:
        return AddressGuard(webhook.allow, public=webhook.public)
    except Invalid as error:
        reason = f"merges.webhook.allow: {error.message}"
        raise Invalid(reason, kind=error.kind, hint=error.hint) from error
