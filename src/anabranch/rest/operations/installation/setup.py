"""First setup of an installation, and the configuration of the login page."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from anabranch.access.credentials.credentials import KeyPair
from anabranch.access.sessions.tokens import SESSION_COOKIE
from anabranch.http.execution import Execution
from anabranch.model.secret import Secret
from anabranch.rest.operations.logins.single_sign_on import LOGIN_PATH
from anabranch.rest.protocol.body import Body, Ignored
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation
from anabranch.rest.schemas.credentials import CredentialsWithSecret, credentials_with_secret

__all__ = ["OPERATIONS"]

_NonEmpty = Annotated[str, Meta(min_length=1)]


class AccessKeyCredentials(Body, frozen=True, kw_only=True):
    """A key pair to use instead of a new one."""

    access_key_id: _NonEmpty
    secret_access_key: _NonEmpty


class Setup(Body, frozen=True, kw_only=True):
    """The administrator to create."""

    username: str
    key: AccessKeyCredentials | None = None
    email: Ignored = None
    first_name: Ignored = field(name="firstName", default=None)
    last_name: Ignored = field(name="lastName", default=None)
    company_name: Ignored = field(name="companyName", default=None)
    country: Ignored = None
    feature_updates: Ignored = field(name="featureUpdates", default=None)
    security_updates: Ignored = field(name="securityUpdates", default=None)


class CommPrefsInput(Body, frozen=True, kw_only=True, rename="camel"):
    """Communication preferences; accepted and ignored."""

    email: str = ""
    feature_updates: bool
    security_updates: bool
    first_name: Ignored = None
    last_name: Ignored = None
    company_name: Ignored = None
    country: Ignored = None


class LoginConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration of the login page. `internal` shows the pages of users, groups and policies."""

    access_control: str = field(name="RBAC", default="internal")
    login_cookie_names: list[str] = field(default_factory=lambda: [SESSION_COOKIE])
    login_failed_message: str = "The credentials don't match."
    login_url: str = ""
    login_url_method: Literal["none", "redirect", "select"] = "none"
    logout_url: str = "/logout"


class SetupState(msgspec.Struct, frozen=True, kw_only=True):
    """State of the setup."""

    comm_prefs_missing: bool = False
    login_config: LoginConfig = LoginConfig()
    state: Literal["initialized", "not_initialized"]


def get_setup_state(call: Call[None, None]) -> SetupState:
    """Returns whether the installation was set up."""
    done = call.services.access.setup.is_done()
    return SetupState(
        state="initialized" if done else "not_initialized", login_config=_login_config(call)
    )


def _login_config(call: Call[None, None]) -> LoginConfig:
    single_sign_on = call.services.single_sign_on
    if single_sign_on is None:
        return LoginConfig()
    method: Literal["redirect", "select"] = "redirect" if single_sign_on.is_default else "select"
    return LoginConfig(login_url=LOGIN_PATH, login_url_method=method)


def setup(call: Call[None, Setup]) -> CredentialsWithSecret:
    """Creates the administrator; only this response contains the secret."""
    key = call.body.key
    pair = None if key is None else KeyPair(key.access_key_id, Secret(key.secret_access_key))
    return credentials_with_secret(call.services.access.setup.run(call.body.username, pair))


def setup_comm_prefs(_: Call[None, CommPrefsInput]) -> None:
    """Does nothing."""


OPERATIONS = (
    Operation(
        id="getSetupState",
        tag="internal",
        method="GET",
        path="/setup_lakefs",
        summary="check if the lakeFS installation is already set up",
        permission=Access.NO_AUTH,
        response=SetupState,
        execution=Execution.INLINE,
        handler=get_setup_state,
    ),
    Operation(
        id="setup",
        tag="internal",
        method="POST",
        path="/setup_lakefs",
        summary="setup lakeFS and create a first user",
        permission=Access.NO_AUTH,
        body=Setup,
        response=CredentialsWithSecret,
        handler=setup,
    ),
    Operation(
        id="setupCommPrefs",
        tag="internal",
        method="POST",
        path="/setup_comm_prefs",
        summary="setup communications preferences",
        permission=Access.NO_AUTH,
        body=CommPrefsInput,
        handler=setup_comm_prefs,
    ),
)
