"""Messages for errors of a server."""

from __future__ import annotations

import pytest

from anabranch.cli.client.server_errors import refusal
from anabranch.client.error_responses import ErrorResponse


@pytest.mark.parametrize(
    ("status", "message", "kind", "hint"),
    [
        (400, "commit: no changes", "no_changes", "--allow-empty-commit"),
        (400, "uncommitted changes (dirty branch)", "dirty_branch", "branch reset"),
        (401, "error authenticating request", "unauthenticated", "anabranch login"),
        (401, "insufficient permissions", "denied", "administrator"),
        (403, "cannot write to protected branch", "protected_branch", "merge"),
        (403, "read-only repository", "read_only_repository", ""),
        (403, "cannot delete repository default branch", "denied", "default branch"),
        (403, "1 of 2 required approvals is missing", "approvals_missing", ""),
        (
            403,
            "cannot change protected branch x without a pull request",
            "pull_request_required",
            "",
        ),
        (404, "branch not found", "not_found", ""),
        (409, "branch already exists: not unique", "already_exists", "another"),
        (410, "repository in deletion", "gone", "being deleted"),
        (412, "pre-commit hook aborted", "precondition_failed", "hook"),
        (418, "teapot", "error", ""),
        (429, "Too many attempts, try again later", "busy", "later"),
        (500, "oops", "server_error", "log"),
    ],
)
def test_messages_are_kept_and_explained(status, message, kind, hint):
    failure = refusal(ErrorResponse(status, message), "GET http://x/y")
    assert (failure.message, failure.kind, failure.status) == (message, kind, status)
    assert hint in failure.hint
    assert failure.where == f"GET http://x/y (HTTP {status})"
    assert failure.exit_code == 1


def test_the_hint_of_the_server_counts_where_there_is_no_other():
    replaced = ErrorResponse(410, "the object was replaced", hint="Build a new image.")
    gone = refusal(replaced, "GET x")
    assert (gone.kind, gone.hint) == ("gone", "Build a new image.")
    deleted = refusal(ErrorResponse(410, "repository in deletion", hint="Other."), "GET x")
    assert "being deleted" in deleted.hint


def test_a_denial_names_the_permission_that_is_missing():
    needed = "ada needs fs:WriteObject on arn:lakefs:fs:::repository/lake/object/a."
    denied = refusal(ErrorResponse(401, "insufficient permissions", hint=needed), "PUT x")
    assert denied.hint == f"{needed} Ask an administrator for the permission."


def test_the_reason_of_a_failed_condition_is_not_replaced_by_a_general_one():
    failed = refusal(ErrorResponse(412, "hook failed", hint="See run 7."), "POST x")
    assert failed.hint == "See run 7."


def test_a_change_that_may_have_been_made_is_not_called_busy():
    unknown = ErrorResponse(503, "the connection was lost", kind="outcome_unknown")
    failure = refusal(unknown, "POST x")
    assert failure.kind == "outcome_unknown"
    assert "before you try again" in failure.hint
    assert refusal(ErrorResponse(503, "full", kind="busy"), "POST x").kind == "busy"


def test_a_failed_login_says_once_what_to_check():
    failed = refusal(ErrorResponse(401, "no", hint="Check the access key and its secret."), "GET x")
    assert failed.hint.count("Check the access key and its secret") == 1
    assert "`anabranch login`" in failed.hint
    locked = refusal(ErrorResponse(401, "no", hint="Log in again."), "GET x")
    assert locked.hint.startswith("Log in again. Check")
