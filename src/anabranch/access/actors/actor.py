"""The authenticated user of a request, with the user's permissions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from anabranch.access.identities.session_binding import SessionBinding
from anabranch.access.policies.conditions import NO_CONTEXT, RequestContext
from anabranch.access.policies.decision import CompiledStatements
from anabranch.access.policies.explain import Explanation, explain
from anabranch.access.policies.permissions import Permission
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.access.policies.table_permissions import denying_permissions
from anabranch.model.caller import Caller

__all__ = ["Actor", "OnDecision"]

_NO_BINDING = SessionBinding()

OnDecision: TypeAlias = "Callable[[Actor, Permission, bool], None]"


class Actor:
    """An authenticated user and the policy statements that apply to the user.

    An actor is cached and serves many requests. `in_context` returns the same user for one request:
    for conditions on its address and time, and with a function that is called with each decision.
    `binding` is what a session that the actor opens depends on. `record_id` is the random id of the
    user's record, "" in records of earlier versions.
    """

    __slots__ = (
        "binding",
        "context",
        "created_at",
        "email",
        "granted",
        "on_decision",
        "policies",
        "record_id",
        "username",
    )

    def __init__(
        self,
        *,
        username: str,
        email: str = "",
        created_at: int = 0,
        record_id: str = "",
        statements: Iterable[Statement] = (),
        policies: tuple[Policy, ...] = (),
        binding: SessionBinding = _NO_BINDING,
    ) -> None:
        self.binding = binding
        self.username = username
        self.email = email
        self.created_at = created_at
        self.record_id = record_id
        self.policies = policies
        own = [statement for policy in policies for statement in policy.statements]
        self.granted = CompiledStatements([*statements, *own], username)
        self.context = NO_CONTEXT
        self.on_decision: OnDecision | None = None

    @classmethod
    def administrator(
        cls,
        username: str,
        email: str = "",
        created_at: int = 0,
        binding: SessionBinding = _NO_BINDING,
        record_id: str = "",
    ) -> Actor:
        """Returns a user who has all permissions."""
        return cls(
            username=username,
            email=email,
            created_at=created_at,
            record_id=record_id,
            statements=(ALLOW_ALL,),
            binding=binding,
        )

    def may(self, permission: Permission) -> bool:
        """Returns whether the user has a permission, or one that implies it."""
        compiled = self.granted
        if compiled.unlimited:
            return True
        if permission.objects:
            return self._may_with_table(permission)
        if compiled.allow(permission, self.context) and not (
            compiled.deny_tables and self._is_denied_table(permission)
        ):
            return True
        return any(compiled.allow(each, self.context) for each in permission.implied_by)

    def _may_with_table(self, permission: Permission) -> bool:
        """Returns whether the user has a permission on a table, or on the objects that stand for
        it, and none of these is denied.
        """
        own = self.granted.decide(permission, self.context)
        if own is Effect.DENY:
            return False
        others = {self.granted.decide(each, self.context) for each in permission.objects}
        return Effect.DENY not in others and (own is Effect.ALLOW or None not in others)

    def _is_denied_table(self, permission: Permission) -> bool:
        return any(
            self.granted.deny(each, self.context) for each in denying_permissions(permission)
        )

    def statements_naming(self, action: str) -> list[Statement]:
        """Returns the statements that name an action and whose conditions hold."""
        return self.granted.naming(action, self.context)

    @property
    def is_unlimited(self) -> bool:
        """Whether the user has all permissions, in any context."""
        return self.granted.unlimited

    @property
    def is_conditional(self) -> bool:
        """Whether permissions depend on the request."""
        return self.granted.conditional

    @property
    def depends_on_branch(self) -> bool:
        """Whether permissions depend on the branch that an action changes."""
        return self.granted.depend_on_branch

    @property
    def idempotency_owner(self) -> str:
        """The name under which the idempotency keys of the actor's requests are kept."""
        return self.username

    @property
    def creator(self) -> Actor:
        """The user whose credentials these are, without what confines them."""
        return self

    @property
    def opens_sessions(self) -> bool:
        """Whether the credentials of the request may be exchanged for others of the user."""
        return True

    @property
    def decides_long(self) -> bool:
        """Whether decisions may take long, because the user has many statements or long ones."""
        return self.granted.take_long

    def reaches(self, repository: str, reference: str) -> bool:  # noqa: ARG002  for confined actors
        """Returns whether the credentials of the request reach a reference at all."""
        return True

    def as_caller(self, action: str, request_id: str, chain: tuple[str, ...] = ()) -> Caller:
        """Returns the user as the caller of an operation by a request; `chain` is what hooks led to
        the request.
        """
        return Caller(
            *(self.username, chain, self.created_at),
            record_id=self.record_id,
            action=action,
            request_id=request_id,
        )

    def explain(self, permission: Permission) -> Explanation:
        """Returns which policy grants the user a permission, or denies it."""
        if not self.policies and self.granted.unlimited:
            return Explanation(True)
        return explain(self.policies, permission, self.username, self.context)

    def in_context(
        self, source_ip: str, time: float, on_decision: OnDecision | None = None
    ) -> Actor:
        """Returns the user as the actor of a request from an address, at a time in seconds since
        1970.
        """
        if not self.granted.conditional and on_decision is None:
            return self
        actor = self._copy()
        actor.on_decision = on_decision
        actor.context = RequestContext(
            source_ip=source_ip or None, username=self.username, time=time
        )
        return actor

    def in_session(self, binding: SessionBinding) -> Actor:
        """Returns the user as the actor of requests of a session."""
        actor = self._copy()
        actor.binding = binding
        return actor

    def _copy(self) -> Actor:
        actor = Actor.__new__(Actor)
        for name in Actor.__slots__:
            setattr(actor, name, getattr(self, name))
        return actor

    @property
    def committer(self) -> str:
        """The committer of the user's commits."""
        return self.email or self.username
