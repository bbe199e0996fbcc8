"""Rules of the repository's model test that change histories and move objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, multiple, rule

from anabranch.errors import (
    AnabranchError,
    DirtyBranch,
    MergeConflict,
    NoChanges,
    ProtectedBranch,
)
from anabranch.testing.model_repository import ModelBranch, ModelCommit, ModelRepository
from anabranch.versioning.objects.sealed_trees import MANY_CHANGES

__all__ = ["PATHS", "REPOSITORY", "HistoryRules"]

PATHS = st.sampled_from(["a", "a/b", "a/b/c", "a/c", "a//c", "b", "b/ü", "b/✓", "z" * 40])
REPOSITORY = "sea"


class HistoryRules(RuleBasedStateMachine):
    """Reverts, cherry-picks, rebases and moves in a lake and its model. `required` has the numbers
    of approvals that branches require, `model_pulls` the pull requests by id.
    """

    branches: Bundle[str] = Bundle("branches")
    commits: Bundle[str] = Bundle("commits")
    lake: Any
    clock: Any
    model: ModelRepository
    required: dict[str, int]
    model_pulls: dict[str, Any]

    @rule(branch=branches)
    def seal(self, branch: str) -> None:
        """Builds the tree that pages read when a branch has many staged changes."""
        if branch in self.model.branches:
            core = self.lake.core
            repository = core.repositories.get(REPOSITORY)
            resolved = core.references.resolve(repository, branch)
            core.sealed_trees.ask(repository, resolved, MANY_CHANGES + 1)
            core.sealed_trees.build()

    @rule(target=commits, branch=branches, reference=st.one_of(branches, commits))
    def revert(self, branch: str, reference: str) -> Any:
        """Undoes a commit with one parent: merges its parent, with the commit as base."""
        if branch not in self.model.branches or not self.model.knows(reference):
            return multiple()
        undone, ours = self.model.resolve(reference), self.model.branches[branch]
        if len(undone.parents) != 1:
            return multiple()
        parent = self.model.commits[undone.parents[0]]

        def act() -> Any:
            made = self.lake.branches.revert(REPOSITORY, branch, undone.id, committer="c")
            return made[0].id

        return self.applied(branch, act, ours, parent, undone)

    @rule(target=commits, branch=branches, reference=st.one_of(branches, commits))
    def cherry_pick(self, branch: str, reference: str) -> Any:
        """Applies a commit with one parent: merges it, with its parent as base."""
        if branch not in self.model.branches or not self.model.knows(reference):
            return multiple()
        picked, ours = self.model.resolve(reference), self.model.branches[branch]
        if len(picked.parents) != 1:
            return multiple()
        parent = self.model.commits[picked.parents[0]]

        def act() -> Any:
            return self.lake.branches.cherry_pick(REPOSITORY, branch, picked.id, committer="c").id

        return self.applied(branch, act, ours, picked, parent, picks=True)

    def applied(
        self,
        branch: str,
        act: Callable[[], str],
        ours: ModelBranch,
        theirs: ModelCommit,
        base: ModelCommit,
        *,
        picks: bool = False,
    ) -> Any:
        """Merges the changes from `base` to `theirs` into a branch by one commit, as `act` does."""
        self.clock.advance(1)
        objects, conflicts = self.model.merged(ours.head, theirs, base, "")
        empty = theirs.objects == base.objects if picks else objects == ours.head.objects
        refused = None
        try:
            made = act()
        except ProtectedBranch:
            assert self.required[branch]
        except DirtyBranch:
            assert ours.dirty
        except NoChanges:
            assert empty
        except MergeConflict as error:
            refused = error
        else:
            assert not self.required.get(branch)
            assert not ours.dirty
            assert not conflicts
            # two trees without objects may have different ids
            assert not (empty and theirs.objects and base.objects)
            self.model.add(branch, ModelCommit(made, objects, (ours.head.id,)))
            return made
        if refused is not None:
            assert list(refused.paths) == sorted(conflicts, key=str.encode)
        return multiple()

    @rule(target=commits, branch=branches, onto=st.one_of(branches, commits))
    def rebase(self, branch: str, onto: str) -> Any:
        """Replays the commits that the branch has and the other reference lacks."""
        if branch not in self.model.branches or not self.model.knows(onto):
            return multiple()
        self.clock.advance(1)
        ours, base = self.model.branches[branch], self.model.resolve(onto)
        own = self.own_commits(ours.head, base)
        if own is None:
            return multiple()  # merges among them: compared with git in test_rebase
        tip, expected, conflicts = self.replay(own, base)
        refused = None
        try:
            rebased = self.lake.rebase.rebase(REPOSITORY, branch, base.id, committer="c")
        except ProtectedBranch:
            assert self.required[branch]
        except DirtyBranch:
            assert ours.dirty
        except MergeConflict as error:
            refused = error
        else:
            assert not ours.dirty
            assert not conflicts
            assert rebased.replayed == len(expected)
            self.merge_contained_pulls(branch, ours.head, base, rebased.head.id)
            return self.replayed(branch, rebased.head.id, tip, expected)
        if refused is not None:
            assert list(refused.paths) == sorted(conflicts, key=str.encode)
        return multiple()

    def merge_contained_pulls(
        self,
        branch: str,
        before: ModelCommit,
        gained: ModelCommit,
        merged: str,
        except_id: str = "",
    ) -> None:
        """Merges the open pull requests into a branch whose source it contains from now on."""
        contained = self.model.ancestors(gained) - self.model.ancestors(before)
        for pull_id, pull in self.model_pulls.items():
            source = self.model.branches.get(pull.source)
            is_open = pull.status == "open" and pull_id != except_id
            if is_open and pull.destination == branch and source and source.head.id in contained:
                pull.status, pull.merged = "merged", merged

    def replay(
        self, own: list[ModelCommit], tip: ModelCommit
    ) -> tuple[ModelCommit, list[ModelCommit], set[str]]:
        """Returns the new head, the commits that are made and, if there are any, the paths in
        conflict.
        """
        made: list[ModelCommit] = []
        for commit in own:
            parent = self.model.commits[commit.parents[0]]
            if commit.parents == (tip.id,):
                tip = commit
                continue
            objects, conflicts = self.model.merged(tip, commit, parent, "")
            if conflicts:
                return tip, made, conflicts
            if objects != tip.objects or commit.objects == parent.objects:
                tip = ModelCommit(f"replayed {commit.id}", objects, (tip.id,))
                made.append(tip)
        return tip, made, set()

    def own_commits(self, head: ModelCommit, base: ModelCommit) -> list[ModelCommit] | None:
        """Returns the commits that only `head` has, oldest first; None if there are merges."""
        known, own = self.model.ancestors(base), []
        while head.id not in known:
            if len(head.parents) != 1:
                return None
            own.append(head)
            head = self.model.commits[head.parents[0]]
        return own[::-1]

    def replayed(
        self, branch: str, head: str, tip: ModelCommit, expected: list[ModelCommit]
    ) -> Any:
        """Adds the replayed commits to the model, whose ids are those in the log."""
        log = self.lake.commits.log(REPOSITORY, head, amount=len(expected) or 1).items
        ids = [commit.id for commit in reversed(log[: len(expected)])]
        for made, commit in zip(ids, expected, strict=True):
            parents = self.lake.commits.get(REPOSITORY, made).parents
            self.model.add(branch, ModelCommit(made, commit.objects, parents))
        if not expected:
            self.model.branches[branch] = ModelBranch(self.model.commits[head])
            assert head == tip.id
            return multiple()
        return head

    @rule(branch=branches, source=PATHS, destination=PATHS, force=st.booleans())
    def move(self, branch: str, source: str, destination: str, force: bool) -> None:
        if branch not in self.model.branches:
            return
        model = self.model.branches[branch]
        self.clock.advance(1)
        expected = None
        if source == destination:
            expected = "move_into_itself"
        elif source not in model.objects:
            expected = "object_not_found"
        elif destination in model.objects and not force:
            expected = "destination_exists"
        refused = None
        try:
            self.lake.transfers.move(REPOSITORY, branch, source, destination, force=force)
        except AnabranchError as error:
            refused = error.kind
        assert refused == expected
        if expected is None:
            model.put(destination, model.objects[source])
            model.delete(source)
