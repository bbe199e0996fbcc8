"""Where webhooks of merges may lead, by the settings."""

import pytest

from anabranch.errors import Invalid
from anabranch.server.config.loader import load_settings
from anabranch.server.stores.merge_webhooks import merge_webhook_guard


def guard(tmp_path, **environment):
    environment = {f"ANABRANCH_{name}": value for name, value in environment.items()}
    settings = load_settings({"data": str(tmp_path)}, environment, None).settings
    return merge_webhook_guard(settings.merges.webhook)


def test_networks_of_merges_are_not_those_of_hooks(tmp_path):
    hooks = guard(tmp_path, ACTIONS_WEBHOOK_ALLOW="127.0.0.1")
    assert not hooks.permits("127.0.0.1")
    merges = guard(tmp_path, MERGES_WEBHOOK_ALLOW="127.0.0.1,10.1.0.0/16")
    assert merges.permits("127.0.0.1")
    assert merges.permits("10.1.2.3")
    assert merges.permits("1.1.1.1")
    assert not merges.permits("10.2.0.1")


def test_the_public_internet_can_be_refused(tmp_path):
    closed = guard(tmp_path, MERGES_WEBHOOK_PUBLIC="false", MERGES_WEBHOOK_ALLOW="10.1.0.0/16")
    assert closed.permits("10.1.2.3")
    assert not closed.permits("1.1.1.1")


def test_what_is_no_network_names_the_setting(tmp_path):
    with pytest.raises(Invalid, match=r"merges\.webhook\.allow"):
        guard(tmp_path, MERGES_WEBHOOK_ALLOW="10.0.0.0/99")
