"""Names of the resources for which permissions are checked, read from the call."""

from __future__ import annotations

from typing import Any

from anabranch.access.policies.permissions import (
    ANY,
    AllBelow,
    branch_arn,
    external_principal_arn,
    group_arn,
    image_arn,
    namespace_arn,
    object_arn,
    policy_arn,
    reference_arn,
    repository_arn,
    tag_arn,
    user_arn,
)
from anabranch.brevity import about_to_take_long
from anabranch.errors import Invalid, NotFound
from anabranch.patterns.path_patterns import path_pattern
from anabranch.rest.protocol.call import Call
from anabranch.versioning.strategies.registry import PATH_STRATEGIES

__all__ = [
    "on_all_objects",
    "on_anything",
    "on_branch",
    "on_commented_object",
    "on_copied_object",
    "on_destination_branch",
    "on_external_principal",
    "on_group",
    "on_image",
    "on_import_sources",
    "on_linked_source",
    "on_logged_paths",
    "on_named_namespace",
    "on_namespace",
    "on_namespace_of_deleted",
    "on_namespace_of_repository",
    "on_new_branch",
    "on_new_group",
    "on_new_policy",
    "on_new_repository",
    "on_new_tag",
    "on_new_user",
    "on_object",
    "on_objects",
    "on_policy",
    "on_pull_destination",
    "on_ref",
    "on_repository",
    "on_resolved_content",
    "on_resolved_objects",
    "on_resolved_sources",
    "on_staged_source",
    "on_tag",
    "on_triggered_branch",
    "on_user",
    "on_workspace",
    "triggered_branch",
]

_Call = Call[Any, Any]


def on_anything(_: _Call) -> str:
    """Any resource."""
    return ANY


def on_repository(call: _Call) -> str:
    """The repository of the path."""
    return repository_arn(call.params.repository)


def on_new_repository(call: _Call) -> str:
    """The repository that the body names."""
    return repository_arn(call.body.name)


def on_namespace(call: _Call) -> list[str]:
    """The storage namespace in the body, in all spellings that policies may use."""
    return _namespace_arns(call, call.body.storage_namespace)


def on_named_namespace(call: _Call) -> list[str]:
    """The storage namespace in the query, in all spellings that policies may use."""
    return _namespace_arns(call, call.params.storage_namespace)


def on_namespace_of_repository(call: _Call) -> list[str]:
    """The storage namespace of the repository of the path, likewise. Raises NotFound."""
    repository = call.services.catalog.repositories.get(call.params.repository)
    return _namespace_arns(call, repository.shown_namespace)


def on_namespace_of_deleted(call: _Call) -> list[str]:
    """The storage namespace of the deleted repository of path and body, likewise. Raises
    NotFound.
    """
    deleted = call.services.catalog.repositories.deletion(
        call.params.repository, instance_uid=call.body.instance_uid
    )
    return _namespace_arns(call, deleted.repository.shown_namespace)


def _namespace_arns(call: _Call, namespace: str) -> list[str]:
    spellings = call.services.catalog.repositories.equivalent_namespaces(namespace)
    return [namespace_arn(spelling) for spelling in spellings]


def on_branch(call: _Call) -> str:
    """The branch of the path."""
    return branch_arn(call.params.repository, call.params.branch)


def on_workspace(call: _Call) -> str:
    """The branch of the workspace of the path."""
    return branch_arn(call.params.repository, call.params.workspace)


def on_ref(call: _Call) -> str:
    """The reference of the path, as a branch: that with which an expression begins."""
    return reference_arn(call.params.repository, call.params.ref)


def on_new_branch(call: _Call) -> str:
    """The branch that the body names."""
    return branch_arn(call.params.repository, call.body.name)


def on_destination_branch(call: _Call) -> str:
    """The destination of a merge."""
    return branch_arn(call.params.repository, call.params.destination_branch)


def on_pull_destination(call: _Call) -> str:
    """The destination of a pull request. Raises NotFound for one that does not exist."""
    repository = call.params.repository
    pull = call.services.catalog.pulls.get(repository, call.params.pull_request)
    return branch_arn(repository, pull.destination)


def on_triggered_branch(call: _Call) -> str:
    """The branch on which hooks run by hand, or the reference that stands for it."""
    reference = call.body.branch or call.body.ref
    return reference_arn(call.params.repository, reference)


def triggered_branch(call: _Call) -> str:
    """The branch on which hooks run by hand, empty for a tag or a commit, which many may have."""
    name = call.body.branch or call.body.ref
    try:
        return str(call.services.catalog.branches.get(call.params.repository, name).id)
    except (Invalid, NotFound):
        return ""


def on_logged_paths(call: _Call) -> list[str]:
    """The objects and prefixes to which a log is limited; empty for a log of all changes."""
    repository, params = call.params.repository, call.params
    if params.objects or params.prefixes:
        about_to_take_long()  # a client may name thousands, and the right to each is decided
    return [
        *(object_arn(repository, path) for path in params.objects),
        *(AllBelow(object_arn(repository, prefix)) for prefix in params.prefixes),
    ]


def on_tag(call: _Call) -> str:
    """The tag of the path."""
    return tag_arn(call.params.repository, call.params.tag)


def on_new_tag(call: _Call) -> str:
    """The tag that the body names."""
    return tag_arn(call.params.repository, call.body.id)


def on_image(call: _Call) -> str:
    """The image of the path."""
    return image_arn(call.params.tag)


def on_object(call: _Call) -> str:
    """The object of the query."""
    return object_arn(call.params.repository, call.params.path)


def on_commented_object(call: _Call) -> list[str]:
    """The object that a comment is on, nothing for one on the whole pull request."""
    path = call.body.path
    return [object_arn(call.params.repository, path)] if path else []


def on_all_objects(call: _Call) -> str:
    """All objects of the repository."""
    return AllBelow(object_arn(call.params.repository, ""))


def on_objects(call: _Call) -> list[str]:
    """All objects in the body."""
    return [object_arn(call.params.repository, path) for path in call.body.paths]


def on_resolved_objects(call: _Call) -> list[str]:
    """The paths for which the body's resolutions name an object."""
    repository = call.params.repository
    return [object_arn(repository, path) for path, _ in _resolved_objects(call)]


def on_resolved_content(call: _Call) -> list[str]:
    """The objects, or all that begin like a pattern, whose content the strategies of the body's
    resolutions read: conflicts tell it, and webhooks are sent it.
    """
    repository = call.params.repository
    resolutions = () if call.body is None else call.body.resolutions
    found = []
    for each in resolutions:
        path, strategy = each.get("path"), each.get("strategy")
        is_read = isinstance(strategy, str) and strategy and strategy not in PATH_STRATEGIES
        if isinstance(path, str) and is_read:
            literal = path_pattern(path).literal
            name = object_arn(repository, literal)
            found.append(name if literal == path else AllBelow(name))
    return found


def on_resolved_sources(call: _Call) -> list[str]:
    """The addresses that the body's resolutions name, unless they have a token of their path."""
    resolved = _resolved_objects(call)
    branch = call.changed_branch if resolved else ""
    return [
        name for path, address in resolved for name in _staged_source(call, branch, path, address)
    ]


def _resolved_objects(call: _Call) -> list[tuple[str, str]]:
    """Returns path and address of the resolutions that name an object; wrong ones are reported when
    they are read.
    """
    resolutions = () if call.body is None else call.body.resolutions
    named = [(each.get("path"), each.get("physical_address")) for each in resolutions]
    return [
        (path, address)
        for path, address in named
        if isinstance(path, str) and isinstance(address, str) and address
    ]


def on_copied_object(call: _Call) -> str:
    """The source of a copy."""
    repository = call.body.src_repository or call.params.repository
    return object_arn(repository, call.body.src_path)


def on_import_sources(call: _Call) -> list[str]:
    """All addresses to import from, in all spellings that policies may use."""
    names = []
    for source in call.body.paths:
        call.record_address(source.path)
        spellings = call.services.catalog.repositories.equivalent_sources(source.path)
        names += [namespace_arn(spelling) for spelling in spellings]
    return names


def on_staged_source(call: _Call) -> list[str]:
    """The staged address, unless it has a token of the object's path: staging an object makes it
    readable, like importing it.
    """
    params = call.params
    return _staged_source(call, params.branch, params.path, call.body.physical_address)


def on_linked_source(call: _Call) -> list[str]:
    """The linked address, unless it is in the repository's data, where it needs a token. Raises
    Invalid for a wrong one.
    """
    params, address = call.params, call.body.staging.physical_address
    if not address:
        return []  # reported by the handler
    call.record_address(address)
    staging = call.services.catalog.staging
    sources = staging.link_sources(params.repository, params.branch, params.path, address)
    return [namespace_arn(source) for source in sources]


def _staged_source(call: _Call, branch: str, path: str, address: str) -> list[str]:
    call.record_address(address)
    staging = call.services.catalog.staging
    sources = staging.stage_sources(call.params.repository, branch, path, address)
    return [namespace_arn(source) for source in sources]


def on_user(call: _Call) -> str:
    """The user of the path."""
    return user_arn(call.params.user_id)


def on_new_user(call: _Call) -> str:
    """The user that the body names."""
    return user_arn(call.body.id)


def on_group(call: _Call) -> str:
    """The group of the path."""
    return group_arn(call.params.group_id)


def on_new_group(call: _Call) -> str:
    """The group that the body names."""
    return group_arn(call.body.id)


def on_new_policy(call: _Call) -> str:
    """The policy that the body names."""
    return policy_arn(call.body.id)


def on_policy(call: _Call) -> str:
    """The policy of the path."""
    return policy_arn(call.params.policy_id)


def on_external_principal(call: _Call) -> str:
    """The principal of another system that the query names."""
    return external_principal_arn(call.params.principal_id)
