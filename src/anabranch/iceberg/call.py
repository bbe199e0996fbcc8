"""A call of an operation: the request, what it is about, and its authenticated caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.access.actors.readable_records import ReadableRecords
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    branch_arn,
    repository_arn,
)
from anabranch.access.policies.table_permissions import (
    creation_permission,
    listing_permission,
    record_permission,
)
from anabranch.catalog.tables.iceberg.changes import Writing
from anabranch.catalog.tables.iceberg.identifiers import (
    NAMESPACE_FILE,
    TABLE_FILE,
    Identifier,
    Namespace,
    namespace_path,
    namespace_prefix,
    record_path,
)
from anabranch.catalog.tables.iceberg.places import Place
from anabranch.catalog.tables.iceberg.tables import FoundTable
from anabranch.errors import Invalid
from anabranch.http.request_head import RequestHead
from anabranch.iceberg.idempotency import Repetition
from anabranch.iceberg.scopes import Scope, parse_namespace
from anabranch.iceberg.services import Services

__all__ = ["Call"]

T = TypeVar("T")

_MODE, _STAGED, _AUTO = "anabranch.commit", "staged", "auto"


class Call:
    """A request with an authenticated caller. `names` are the parts of its path, decoded."""

    def __init__(
        self,
        services: Services,
        head: RequestHead,
        scope: Scope,
        names: Mapping[str, str],
        content: bytes,
        actor: Actor,
    ) -> None:
        self.services = services
        self.head = head
        self.scope = scope
        self.content = content
        self.actor = actor
        self.query = dict(parse_qsl(head.query, keep_blank_values=True))
        self.repetition: Repetition | None = None
        self._names = names
        self._bodies: dict[msgspec.json.Decoder[Any], Any] = {}

    def body(self, decoder: msgspec.json.Decoder[T]) -> T:
        """Returns the body as a structure, which is decoded once: permissions need it, too. Raises
        Invalid for one of another form.
        """
        if decoder not in self._bodies:
            try:
                self._bodies[decoder] = decoder.decode(self.content or b"{}")
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
                raise Invalid(f"the body: {error}", kind="invalid_body") from error
        body: T = self._bodies[decoder]
        return body

    @property
    def named(self) -> Namespace:
        """The namespace in the path, as the client names it."""
        return parse_namespace(self._names["namespace"])

    @property
    def full(self) -> tuple[str, ...]:
        """The namespace in the path, with its repository and its reference, as far as given."""
        return self.scope.full(self.named if "namespace" in self._names else ())

    @property
    def place(self) -> Place:
        """The repository and the reference of the namespace in the path."""
        return self.scope.place(self.named if "namespace" in self._names else ())

    @property
    def namespace(self) -> Namespace:
        """The namespace in the path, within the reference."""
        return self.scope.inner(self.named)

    @property
    def identifier(self) -> Identifier:
        """The table or the view in the path."""
        return Identifier(self.namespace, self._names.get("table") or self._names["view"])

    def header(self, name: str) -> str:
        """Returns a header's value, an empty string if it is absent."""
        return self.head.headers.get(name, "")

    def on_path(self, action: Action, path: str, place: Place | None = None) -> Permission:
        """Returns the permission to read, write or delete what has its record at a path."""
        repository, reference = place or self.place
        return record_permission(action, repository, path, reference)

    def creating(self, path: str, place: Place | None = None) -> Permission:
        """Returns the permission to create what has its record at a path."""
        repository, reference = place or self.place
        return creation_permission(repository, path, reference)

    def on_table(self, action: Action, file: str = TABLE_FILE) -> Permission:
        """Returns a permission on the record of the table or the view in the path."""
        return self.on_path(action, record_path(self.identifier, file))

    def on_namespace(self, action: Action) -> Permission:
        """Returns a permission on the record of the namespace in the path."""
        inner = self.namespace
        return self.on_path(action, namespace_path(inner) if inner else NAMESPACE_FILE)

    def listing(self, action: Action, full: Namespace) -> Permission:
        """Returns the permission to list what is in a namespace, or to be told that it is there,
        given with its repository and its reference; of a repository alone, to list objects.
        """
        inner = full[2:]
        if not full[1:]:
            return Permission(Action.LIST_OBJECTS, repository_arn(full[0]))
        folder = namespace_prefix(inner).rstrip("/") if inner else ""
        return listing_permission(action, full[0], folder)

    def readable(self, place: Place) -> ReadablePaths | None:
        """Returns the records that the caller may read, None for all."""
        if self.actor.is_unlimited:
            return None
        return ReadableRecords(self.actor, place.repository)

    def authorize_area(self, found: FoundTable, *actions: Action) -> FoundTable:
        """Returns a table if the caller has the rights to the path that its area was made for,
        which is another one after a rename. Raises Denied.
        """
        if found.area.path != found.path:
            self.authorize_at(self.place, found.area.path, *actions)
        return found

    def authorize_at(self, place: Place, path: str, *actions: Action) -> None:
        """Raises Denied unless the caller has the rights to the object at a path."""
        authorize(self.actor, [self.on_path(each, path, place) for each in actions])

    def writing(self, place: Place, *changed: Iterable[object]) -> Writing:
        """Returns how what has these properties is changed together: it is staged if all of it is,
        else a commit. Raises Denied unless the caller may commit, if it is a commit.
        """
        staged = all(_is_staged(properties) for properties in changed)
        if not staged:
            branch = branch_arn(*place)
            authorize(self.actor, [Permission(Action.CREATE_COMMIT, branch)])
        extra = () if self.repetition is None else (self.repetition,)
        return Writing(committer=self.actor.committer, staged=staged, extra_writes=extra)

    def check_mode(self, properties: object) -> None:
        """Raises Invalid for new properties that say no way in which changes are made."""
        mode = properties.get(_MODE, _AUTO) if isinstance(properties, Mapping) else _AUTO
        if mode not in (_AUTO, _STAGED):
            raise Invalid(f"{_MODE} is {mode!r}: use auto or staged", kind="invalid_commit_mode")

    def check_new_modes(self, updates: Iterable[Mapping[str, Any]]) -> None:
        """Raises Invalid if updates set a property that says no way in which changes are made."""
        for update in updates:
            if update.get("action") == "set-properties":
                self.check_mode(update.get("updates"))

    def namespace_properties(self, place: Place, namespace: Namespace) -> Mapping[str, str]:
        """Returns the properties of a namespace; none if it does not exist."""
        namespaces = self.services.catalog.iceberg.namespaces
        return namespaces.stored_properties(place, namespace)


def _is_staged(properties: Iterable[object]) -> bool:
    """Returns whether the first of the properties that says how a change is made says `staged`;
    anything else is a commit, so that it can be mended.
    """
    named = (each.get(_MODE) for each in properties if isinstance(each, Mapping))
    return next((each for each in named if each is not None), _AUTO) == _STAGED
