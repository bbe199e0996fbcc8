"""Changes with hooks: the one way in which changes of repositories run hooks.

    change = changes.begin("commit", repository, Subject(branch="main"), at_branch(stored))
    change.prepare()
    move = BranchChange(..., examination=change.examination, extra_writes=[*extra, change])
    change.end()

Before a branch moves, the examination runs hooks on the commit that it would move to; for other
changes, `before` runs them. As one of the extra writes, the change queues the hooks after it in
the step of the change itself, so that none is lost, and names the commit in the run of the hooks
before.

A repository without action files has NO_HOOKS, whose functions do nothing.
"""

from __future__ import annotations

from anabranch.actions.change import NO_HOOKS, STAGED_WITHOUT_HOOKS, Change, Kind, Subject, name_of
from anabranch.actions.engine import Engine
from anabranch.actions.hooked_change import HookedChange
from anabranch.actions.loops import require_no_loop
from anabranch.brevity import about_to_take_long
from anabranch.model.caller import current_caller
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["Changes"]


class Changes:
    """Makes changes with hooks."""

    def __init__(self, core: Core, engine: Engine) -> None:
        self._core = core
        self._engine = engine

    def begin(
        self,
        kind: Kind,
        repository: Repository,
        subject: Subject,
        *places: Resolved,
        with_tree: bool = False,
    ) -> Change:
        """Returns the hooks of a change, whose action files are read at `places`. Raises Conflict
        (kind hook_loop) if a hook makes the change that has run it. A commit `with_tree` has a tree
        that the caller has made, rather than staged changes.
        """
        caller = current_caller()
        if caller.chain:
            require_no_loop(caller, name_of(repository, subject))
        if not self._engine.settings.enabled or repository.read_only:
            return NO_HOOKS
        look = self._engine.files.look(repository, *places)
        if not look.exist:
            return STAGED_WITHOUT_HOOKS if look.staged else NO_HOOKS
        about_to_take_long()
        return HookedChange(
            self._core, self._engine, kind, repository, subject, places, with_tree=with_tree
        )
