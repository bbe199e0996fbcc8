"""Keys of the records of access control.

    basicAuth  users/superAdmin                            the user whom setup created
               uCredentials/superAdmin/credentials/KEY     a key pair of that user
    auth       users/USER                                  any other user
               uCredentials/USER/credentials/KEY           a key pair of another user
               groups/GROUP                                a group
               policies/POLICY                             a policy
               gUsers/GROUP/users/USER                     a membership
               gPolicies/GROUP/policies/POLICY             a policy attached to a group
               uPolicies/USER/policies/POLICY              a policy attached to a user
    access     version                                     the number of changes, in decimal
               defaults                                    set once the default groups are stored
               keys/KEY                                    the name of the key's user
               externalIds/ID                              the name of the user with that identity
               inactive/USER                               set while a user is deactivated
               revoked/EXPIRY/DIGEST                       a token that was revoked by logging out
               provisioned/ID                              a user whom SCIM created with that id
               principals/…, userPrincipals/…              principals; see `ExternalPrincipals`
               logins/EXPIRY/DIGEST                        a login that was used; see `SingleUse`
               links/EXPIRY/DIGEST                         a link to sign in; see `SignInLinks`

The keys of `basicAuth` and `auth` are lakeFS's; the partition `access` is our own. Names occur in
keys as they are, so a name with a slash, which would make two relations share a key, is invalid.
"""

from __future__ import annotations

from anabranch.errors import Invalid

__all__ = [
    "DEFAULTS_KEY",
    "EXTERNAL_IDS",
    "GROUPS",
    "INACTIVE",
    "KEY_OWNERS",
    "OWN_PARTITION",
    "PARTITION",
    "POLICIES",
    "PRINCIPALS",
    "SETUP_CREDENTIALS",
    "SETUP_PARTITION",
    "SETUP_USER_KEY",
    "SIMILAR_NAMES",
    "USERS",
    "USER_PRINCIPALS",
    "VERSION_KEY",
    "check_name",
    "credentials_prefix",
    "external_id_key",
    "group_key",
    "group_policies_prefix",
    "inactive_key",
    "key_owner_key",
    "members_prefix",
    "policy_key",
    "user_key",
    "user_policies_prefix",
]

SETUP_PARTITION = "basicAuth"
SETUP_USER_KEY = b"users/superAdmin"
SETUP_CREDENTIALS = b"uCredentials/superAdmin/credentials/"
PARTITION = "auth"
OWN_PARTITION = "access"
VERSION_KEY = b"version"
DEFAULTS_KEY = b"defaults"
INACTIVE = b"inactive/"
KEY_OWNERS, EXTERNAL_IDS = b"keys/", b"externalIds/"
SIMILAR_NAMES = b"similarNames"
PRINCIPALS, USER_PRINCIPALS = b"principals/", b"userPrincipals/"
USERS, GROUPS, POLICIES = b"users/", b"groups/", b"policies/"

_MAX_NAME_BYTES = 512


def check_name(name: str, noun: str) -> None:
    """Raises Invalid unless the text can name a user, a group or a policy (the `noun`)."""
    kind = f"invalid_{noun}_name"
    if not name:
        raise Invalid(f"{noun} name cannot be empty", kind=kind)
    if "%" in name:
        raise Invalid(f"{noun.capitalize()} name cannot contain '%'", kind=kind)
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise Invalid(f"{noun} name is not valid Unicode", kind=kind) from None
    if size > _MAX_NAME_BYTES:
        raise Invalid(f"{noun} name is longer than {_MAX_NAME_BYTES} bytes", kind=kind)
    if any(ord(character) < ord(" ") or character == "\x7f" for character in name):
        raise Invalid(f"{noun} name cannot contain control characters", kind=kind)
    if "/" in name:
        raise Invalid(
            f"{noun} name cannot contain '/'",
            kind=kind,
            hint="Names are segments of the API's paths and of the keys of records.",
        )


def user_key(username: str) -> bytes:
    """Returns the key of a user."""
    return USERS + username.encode()


def credentials_prefix(username: str) -> bytes:
    """Returns the prefix of the keys of a user's key pairs in PARTITION."""
    return b"uCredentials/%b/credentials/" % username.encode()


def key_owner_key(access_key_id: str) -> bytes:
    """Returns the key, in OWN_PARTITION, of the name of an access key's user."""
    return KEY_OWNERS + access_key_id.encode()


def external_id_key(external_id: str) -> bytes:
    """Returns the key, in OWN_PARTITION, of the name of the user with an identity elsewhere."""
    return EXTERNAL_IDS + external_id.encode()


def inactive_key(username: str) -> bytes:
    """Returns the key, in OWN_PARTITION, that is set while a user is deactivated."""
    return INACTIVE + username.encode()


def group_key(group: str) -> bytes:
    """Returns the key of a group."""
    return GROUPS + group.encode()


def policy_key(policy: str) -> bytes:
    """Returns the key of a policy."""
    return POLICIES + policy.encode()


def members_prefix(group: str) -> bytes:
    """Returns the prefix of the keys of a group's memberships."""
    return b"gUsers/%b/users/" % group.encode()


def group_policies_prefix(group: str) -> bytes:
    """Returns the prefix of the keys of the policies attached to a group."""
    return b"gPolicies/%b/policies/" % group.encode()


def user_policies_prefix(username: str) -> bytes:
    """Returns the prefix of the keys of the policies attached to a user."""
    return b"uPolicies/%b/policies/" % username.encode()
