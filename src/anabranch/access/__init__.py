"""Access control: who sends a request, and what that user may do.

    sessions/     proofs of identity: signatures, tokens, logins; `oidc/`: single sign-on
    actors/       who performs a request, and the one decision: `authorize()`
    credentials/  access keys and what encrypts their secrets
    identities/   users, groups, external principals, and policies attached to them
    policies/     documents, permissions, resources, and what statements decide
    records/      how all of these are stored

`access` composes them; `setup` and `recovery` make the first administrator.
"""
