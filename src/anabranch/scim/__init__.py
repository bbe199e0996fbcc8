"""SCIM 2.0 (RFC 7643, RFC 7644): identity providers create users and groups, deactivate and delete
them.

    gateway      requests: the token, the path, bodies and errors
    error_responses    responses for errors
    discovery    what the service says about itself
    users        users as resources, and their changes
    groups       groups as resources, and their changes
    documents    attributes that only clients of SCIM use
    resources    the models of resources

The id of a resource is the user's or the group's name, so names do not change. Imported only where
the setting `auth.scim.token` enables it, since it needs the extra `scim`.
"""
