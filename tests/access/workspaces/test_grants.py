"""Keys of workspaces: valid while the branch lives, and its creator may do something."""

from __future__ import annotations

import base64

import pytest

from anabranch.access.access import Access
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.identities.users import User
from anabranch.errors import Unauthenticated
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.caller import Principal
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.model.secret import Secret
from anabranch.testing.lake import Clock, lake_in

KEY = Secret("a key of the installation")
HOUR = 3600
NO_KEY = Secret("")


class Installation:
    """A lake and its users, over one store."""

    def __init__(self, folder):
        self.clock, self.store = Clock(), MemoryStore()
        self.lake = lake_in(folder, self.clock, self.store)
        self.lake.repositories.create("sea", "local://sea")
        self.access = self.server(KEY)
        self.access.setup.run("admin")
        self.access.users.create(User(username="ann", created_at=int(self.clock())))

    def server(self, key, other=NO_KEY):
        return Access(self.store, key, clock=self.clock, ticks=self.clock, other_key=other)

    def workspace(self, name="ws-1", creator="ann"):
        """Returns the keys of a new workspace."""
        user = self.access.users.get(creator)
        keys = self.access.workspace_keys.issue()
        self.lake.workspaces.create(
            "sea",
            WorkspaceRequest(source="main", branch=name, seconds=HOUR, writable=["out/**"]),
            creator=Principal(user.username, user.created_at, record_id=user.record_id),
            access_key_id=keys.access_key_id,
            key_check=keys.check,
        )
        return keys


@pytest.fixture
def installation(tmp_path):
    installation = Installation(tmp_path)
    yield installation
    installation.lake.close()


def ways_in(access, keys):
    """Returns the actors by the token, by the pair as the API takes it, and by the key of S3."""
    found = []
    pair = f"{keys.access_key_id}:{keys.secret.reveal()}"
    for header in (
        f"Bearer {keys.token.reveal()}",
        f"Basic {base64.b64encode(pair.encode()).decode()}",
    ):
        try:
            found.append(access.authenticator.authenticate(header))
        except Unauthenticated:
            found.append(None)
    found.append(access.authenticator.find_actor_by_key(keys.access_key_id))
    return found


def assert_refused(access, keys):
    assert ways_in(access, keys) == [None, None, None]


def test_token_and_key_pair_are_a_confined_actor(installation):
    keys = installation.workspace()
    for actor in ways_in(installation.access, keys):
        assert isinstance(actor, ConfinedActor)
        assert actor.username == "ann"
        assert actor.confinement.writable == ("out/**",)
    credential = installation.access.authenticator.find_credential(keys.access_key_id)
    assert credential.secret.reveal() == keys.secret.reveal()


def test_keys_end_at_the_moment_of_expiry_without_any_task(installation):
    keys = installation.workspace()
    installation.clock.advance(HOUR - 1)
    assert all(ways_in(installation.access, keys))
    installation.clock.advance(1)
    assert_refused(installation.access, keys)


def test_keys_end_with_the_branch_at_once_on_all_servers(installation):
    keys, other = installation.workspace(), installation.server(KEY)
    assert all(ways_in(other, keys))
    installation.lake.branches.delete("sea", "ws-1")
    for access in (installation.access, other):
        assert_refused(access, keys)
        assert access.authenticator.find_credential(keys.access_key_id) is None


def test_a_later_branch_of_the_name_does_not_revive_the_keys(installation):
    keys = installation.workspace()
    installation.lake.branches.delete("sea", "ws-1")
    installation.lake.branches.create("sea", "ws-1", "main")
    assert_refused(installation.access, keys)
    installation.lake.branches.delete("sea", "ws-1")
    later = installation.workspace()
    assert_refused(installation.access, keys)
    assert all(ways_in(installation.access, later))


def test_keys_end_with_the_repository(installation):
    keys = installation.workspace()
    installation.lake.repositories.delete("sea")
    assert_refused(installation.access, keys)
    installation.lake.repositories.create("sea", "local://sea-2")
    assert_refused(installation.access, keys)


def test_more_time_is_more_time_for_the_keys(installation):
    keys = installation.workspace()
    later = int(installation.clock()) + 2 * HOUR
    installation.lake.branches.set_expiry("sea", "ws-1", later)
    installation.clock.advance(HOUR)
    assert all(ways_in(installation.access, keys))
    installation.clock.advance(HOUR)
    assert_refused(installation.access, keys)


def test_a_branch_that_stays_forever_does_not_let_its_keys_stay(installation):
    keys = installation.workspace()
    installation.lake.branches.set_expiry("sea", "ws-1", 0)
    assert_refused(installation.access, keys)


def test_keys_are_refused_without_their_creator(installation):
    keys = installation.workspace()
    assert all(ways_in(installation.access, keys))
    installation.access.users.delete("ann")
    assert_refused(installation.access, keys)
    installation.access.users.create(User(username="ann", created_at=int(installation.clock())))
    assert_refused(installation.access, keys)


def test_keys_are_refused_while_their_creator_is_deactivated(installation):
    keys = installation.workspace()
    installation.access.users.set_active("ann", active=False)
    assert_refused(installation.access, keys)
    installation.access.users.set_active("ann", active=True)
    assert all(ways_in(installation.access, keys))


def test_wrong_secrets_and_tokens_are_refused(installation):
    keys, other = installation.workspace(), installation.workspace("ws-2")
    token = keys.token.reveal()
    for wrong in (
        token[:-1],
        token + "x",
        token.replace(keys.access_key_id, other.access_key_id),
        "workspace-",
        "workspace--",
        f"workspace-{keys.access_key_id}-",
        f"workspace-{keys.access_key_id}-{keys.secret.reveal()}",
        f"workspace-{keys.access_key_id}-\ud800",
    ):
        with pytest.raises(Unauthenticated):
            installation.access.authenticator.authenticate(f"Bearer {wrong}")
    for wrong in ("", other.secret.reveal(), keys.secret.reveal()[:-1]):
        pair = base64.b64encode(f"{keys.access_key_id}:{wrong}".encode()).decode()
        with pytest.raises(Unauthenticated):
            installation.access.authenticator.authenticate(f"Basic {pair}")


def test_a_key_pair_of_a_workspace_does_not_log_in(installation):
    keys = installation.workspace()
    with pytest.raises(Unauthenticated):
        installation.access.authenticator.login(keys.access_key_id, keys.secret.reveal())


def test_keys_survive_the_rotation_of_the_installations_key_and_end_with_the_old_one(installation):
    keys = installation.workspace()
    new = Secret("another key of the installation")
    assert all(ways_in(installation.server(new, KEY), keys))
    assert_refused(installation.server(new), keys)


def test_the_store_holds_neither_secret_nor_token(installation):
    keys = installation.workspace()
    # both can have a hyphen in them
    code = keys.token.reveal().removeprefix(f"workspace-{keys.access_key_id}-")
    assert len(code) > 20
    for partition in ("anabranch-workspace-keys", *partitions(installation)):
        for _, value in installation.store.scan(partition):
            for secret in (keys.secret.reveal(), code):
                assert secret.encode() not in value


def partitions(installation):
    return [installation.lake.core.repositories.get("sea").partition]
