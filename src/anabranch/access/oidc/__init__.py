"""Single sign-on: logins at an OpenID Connect provider, with the authorization code flow.

single_sign_on      the two steps of a login: to the provider, and back
  login_attempts    state, nonce and PKCE verifier of a login, in a cookie of the browser
  provider          the provider's documents and endpoints, and its keys
    id_tokens       validation of ID tokens
  identity          a person, from the claims of the provider
  provisioning      users and memberships, from identities
"""
