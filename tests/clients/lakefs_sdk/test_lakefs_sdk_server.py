"""lakefs-sdk: the server's own: health, configuration, setup, credentials."""

from __future__ import annotations

import lakefs_sdk
import pytest
from lakefs_sdk.exceptions import ApiException

from anabranch.testing.server import USER_NAME


def test_the_server_is_healthy_for_anybody(make_sdk):
    make_sdk().health_check_api.health_check()


def test_configuration_describes_the_store(sdk, server):
    config = sdk.config_api.get_config()
    storage = config.storage_config
    scheme = "s3" if server.storage.startswith("s3:") else "local"
    assert storage.blockstore_type == scheme
    assert storage.blockstore_namespace_validity_regex == f"^{scheme}://"
    assert storage.blockstore_namespace_example.startswith(f"{scheme}://")
    assert storage.pre_sign_support is (scheme == "s3")
    assert config.storage_config_list == []
    # lakefs-spec takes it apart as numbers
    assert config.version_config.version == "1.84.0"
    assert config.version_config.version_context in (None, "lakeFS")
    assert config.capabilities_config == {}
    assert sdk.internal_api.get_storage_config() == storage
    assert sdk.internal_api.get_lake_fs_version().version == config.version_config.version
    assert sdk.internal_api.get_garbage_collection_config().grace_period == 86400


def test_the_usage_report_counts_requests(sdk, repo):
    def total():
        report = sdk.internal_api.get_usage_report_summary()
        assert report.installation_id
        assert all(1 <= month.month <= 12 for month in report.reports)
        return sum(month.count for month in report.reports)

    before = total()
    for number in range(5):
        repo.put(f"{number}")
    repo.sdk.commits_api.get_commit(repo.id, "main")
    assert total() >= before + 6


def test_the_server_is_set_up_already(make_sdk):
    internal = make_sdk().internal_api
    state = internal.get_setup_state()
    assert state.state == "initialized"
    with pytest.raises(ApiException) as caught:
        internal.setup(lakefs_sdk.Setup(username="somebody"))
    assert caught.value.status == 409
    assert "already initialized" in caught.value.body


def test_preferences_of_communication_are_accepted_from_anybody(make_sdk):
    preferences = lakefs_sdk.CommPrefsInput(feature_updates=True, security_updates=False)
    assert make_sdk().internal_api.setup_comm_prefs(preferences) is None


def test_current_user_is_returned(sdk, make_sdk):
    assert sdk.auth_api.get_current_user().user.id == USER_NAME
    assert make_sdk().auth_api.get_current_user().user.id == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"username": "AKIAJUNKNOWNUNKNOWNQ", "password": "secret"},
        {"username": "the key", "password": "wrong"},
        {"access_token": "not.a.token"},
    ],
)
def test_unknown_credentials_are_rejected(make_sdk, server, refused, repo, wrong):
    if wrong.get("username") == "the key":
        wrong = {"username": server.access_key_id, "password": "wrong"}
    stranger = make_sdk(**wrong)
    for call in (
        stranger.repositories_api.list_repositories,
        lambda: stranger.objects_api.list_objects(repo.id, "main"),
        lambda: stranger.repositories_api.delete_repository(repo.id),
    ):
        with refused(401, "error authenticating request"):
            call()
    assert repo.paths() == []


def test_a_login_gives_a_token_that_lets_in(make_sdk, server, refused):
    login = lakefs_sdk.LoginInformation(
        access_key_id=server.access_key_id, secret_access_key=server.secret_access_key
    )
    token = make_sdk().auth_api.login(login)
    assert token.token_expiration > 0
    known = make_sdk(access_token=token.token)
    assert known.auth_api.get_current_user().user.id == USER_NAME
    known.repositories_api.list_repositories()
    wrong = lakefs_sdk.LoginInformation(
        access_key_id=server.access_key_id, secret_access_key="wrong"
    )
    with refused(401):
        make_sdk().auth_api.login(wrong)


def test_events_are_validated_and_discarded(sdk):
    event = lakefs_sdk.StatsEvent(**{"class": "test", "name": "count"}, count=1)
    sdk.internal_api.post_stats_events(lakefs_sdk.StatsEventsList(events=[event]))
