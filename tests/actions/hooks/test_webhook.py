"""Webhooks: what is sent, and servers that misbehave."""

import json
import time

import pytest
from support.hooks.hook_runs import EVENT, HERE, hook_context
from support.hooks.misbehaving_webhook import misbehaving_webhook
from support.services.certificates import self_signed_tls

from anabranch.actions.hooks.contract import HookEvent, HookSettings
from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed, Invalid

SECRET = 'p&ss "w0rd"/é'


@pytest.fixture(scope="module")
def server():
    with misbehaving_webhook() as server:
        yield server


def run(url, *, context=None, **properties):
    """Runs a webhook and returns its output."""
    context = context or hook_context()
    make_hook("webhook", {"url": url, **properties}).run(context)
    return context.output.text()


def fails(url, *, context=None, **properties):
    """Runs a webhook that fails and returns the reason and the output."""
    context = context or hook_context()
    with pytest.raises(HookFailed) as failed:
        run(url, context=context, **properties)
    return failed.value.message, context.output.text()


def test_the_event_is_sent_as_lakefs_sends_it(server):
    run(server.url("/ok?a=1"), query_params={"b": ["2", "3"], "c": "é"}, headers={"X-Own": "x"})
    method, target, headers, body = server.requests[-1]
    assert (method, target) == ("POST", "/ok?a=1&b=2&b=3&c=%C3%A9")
    assert (headers["content-type"], headers["x-own"]) == ("application/json", "x")
    assert json.loads(body) == {
        "event_type": "pre-merge",
        "event_time": "2026-01-02T03:04:05Z",
        "action_name": "checks of main",
        "hook_id": "first",
        "repository_id": "flights",
        "branch_id": "main",
        "source_ref": "dev",
        "commit_message": "add May",
        "committer": "ada",
        "commit_metadata": {"ticket": "FL-7"},
        "event_id": "event-1",
        "run_id": "run-1",
        "merged_ref": "merged-1",
    }


def test_the_output_has_the_request_and_the_response(server):
    written = run(server.url("/ok"), headers={"X-Own": "x", "Authorization": "Bearer abc"})
    for part in (f"POST {server.url('/ok')}", "X-Own: x", '"hook_id":"first"', "200", "thank you"):
        assert part in written
    assert "Bearer" not in written


@pytest.mark.parametrize("status", ["200", "201", "202", "299"])
def test_statuses_of_2xx_are_success(server, status):
    assert "the reason" in run(server.url(f"/status/{status}"))


@pytest.mark.parametrize("status", ["300", "400", "404", "412", "500", "503"])
def test_other_statuses_fail_with_their_text(server, status):
    reason, _ = fails(server.url(f"/status/{status}"))
    assert reason == f"webhook request failed (status code: {status}): the reason"


def test_a_temporary_failure_is_retried_as_often_as_the_hook_says(server):
    server.counts.clear()
    pauses = []
    hook = make_hook("webhook", {"url": server.url("/flaky/2"), "retries": 2})
    context = hook_context()
    type(hook)(url=hook.url, retries=2, wait=pauses.append).run(context)
    assert server.counts["flaky"] == 3
    assert pauses == [0.5, 1.0]
    assert context.output.text().count("not yet") == 2


def test_without_retries_there_is_one_request(server):
    server.counts.clear()
    fails(server.url("/flaky/1"))
    assert server.counts["flaky"] == 1


def test_refusals_are_not_retried(server):
    server.counts.clear()
    fails(server.url("/status/400"), retries=3)
    assert server.counts["status"] == 1


@pytest.mark.sample(1)
@pytest.mark.parametrize("path", ["/hang", "/stream", "/head"])
def test_a_server_that_never_ends_is_given_up_after_the_timeout(server, path):
    start = time.monotonic()
    reason, _ = fails(server.url(path), timeout="500ms")
    assert "no whole response in time" in reason
    assert time.monotonic() - start < 30


def test_the_time_of_all_hooks_ends_a_webhook_earlier_than_its_timeout(server):
    start = time.monotonic()
    fails(server.url("/hang"), context=hook_context(deadline=start + 0.5), timeout="1h", retries=5)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("path", ["/cut", "/nonsense", "/close"])
def test_broken_responses_fail(server, path):
    reason, written = fails(server.url(path))
    named, _, cause = reason.partition(f'Post "{server.url(path)}": ')
    assert (named, bool(cause)) == ("", True)
    assert cause in written


def test_megabytes_are_cut_off(server):
    assert len(run(server.url("/megabytes"))) < 100_000


@pytest.mark.parametrize(
    "target",
    ["http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[::1]:9/"],
)
def test_redirects_to_addresses_that_are_not_allowed_are_refused(server, target):
    reason, _ = fails(server.url(f"/redirect/307?to={target}"))
    assert "is not permitted" in reason


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/"])
def test_this_machine_is_not_reached_unless_the_settings_allow_it(url):
    with pytest.raises(HookFailed, match="is not permitted") as failed:
        run(url, context=hook_context(settings=HookSettings()))
    assert "actions.webhook.allow" in failed.value.hint


@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_lose_the_event_is_a_failure(server, status):
    server.counts.clear()
    reason, _ = fails(server.url(f"/redirect/{status}?to={server.url('/ok')}"))
    assert f"status code: {status}" in reason
    assert server.counts["ok"] == 0


def test_a_redirect_that_keeps_the_event_is_followed(server):
    run(server.url(f"/redirect/308?to={server.url('/ok')}"))
    assert server.requests[-1].method == "POST"
    assert json.loads(server.requests[-1].body)["hook_id"] == "first"


def test_secrets_are_sent_and_not_written_to_the_output(server):
    text = "Token {{ ENV.LAKEFSACTION_TOKEN }}!"
    context = hook_context(
        environment={"LAKEFSACTION_TOKEN": "s3cr3t-t0ken", "LAKEFSACTION_ODD": SECRET}
    )
    query = {"odd": "{{ENV.LAKEFSACTION_ODD}}"}
    written = run(server.url("/echo"), context=context, headers={"X-A": text}, query_params=query)
    assert server.requests[-1].headers["x-a"] == "Token s3cr3t-t0ken!"
    assert "odd=p%26ss+%22w0rd%22%2F%C3%A9" in server.requests[-1].target
    assert "s3cr3t" not in written
    assert "w0rd" not in written
    assert "X-A: Token ***!" in written
    assert "first" in written


def test_a_secret_does_not_reach_the_reason(server):
    context = hook_context(environment={"LAKEFSACTION_TOKEN": "the reason"})
    token = {"t": "{{ ENV.LAKEFSACTION_TOKEN }}"}
    reason, written = fails(server.url("/status/400"), context=context, query_params=token)
    assert reason.endswith(": ***")
    assert "the reason" not in written


def test_a_missing_secret_is_named(server):
    context = hook_context(environment={"LAKEFSACTION_OTHER": "x"})
    reason, _ = fails(
        server.url("/ok"), context=context, headers={"A": "{{ ENV.LAKEFSACTION_TOKEN }}"}
    )
    assert "the variable LAKEFSACTION_TOKEN is not set" in reason


def test_secrets_can_be_forbidden_by_the_settings(server):
    settings = HookSettings(webhook_allow=HERE.webhook_allow, environment_enabled=False)
    context = hook_context(environment={"LAKEFSACTION_TOKEN": "x"}, settings=settings)
    reason, _ = fails(
        server.url("/ok"), context=context, headers={"A": "{{ ENV.LAKEFSACTION_TOKEN }}"}
    )
    assert "settings do not let hooks use variables" in reason


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({}, "url"),
        ({"url": 5}, "url"),
        ({"url": ""}, "url"),
        ({"url": "ftp://host/"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://h/", "timeout": "soon"}, "timeout"),
        ({"url": "http://h/", "timeout": "-1s"}, "timeout"),
        ({"url": "http://h/", "timeout": "0s"}, "timeout"),
        ({"url": "http://h/", "timeout": "9999h"}, "timeout"),
        ({"url": "http://h/", "timeout": True}, "timeout"),
        ({"url": "http://h/", "retries": -1}, "retries"),
        ({"url": "http://h/", "retries": 11}, "retries"),
        ({"url": "http://h/", "headers": ["a"]}, "headers"),
        ({"url": "http://h/", "headers": {"A": 1}}, r"headers\.A"),
        ({"url": "http://h/", "headers": {"A": "{{ ENV.HOME }}"}}, r"headers\.A"),
        ({"url": "http://h/", "headers": {"A": "{{ENV.LAKEFS_KEY}}"}}, r"headers\.A"),
        ({"url": "http://h/", "query_params": {"q": [1]}}, r"query_params\.q"),
        ({"url": "http://h/", "timeuot": "1s"}, "timeuot"),
    ],
)
def test_wrong_properties_are_named(properties, named):
    with pytest.raises(Invalid, match=f"^property {named}: ") as refused:
        make_hook("webhook", properties)
    assert refused.value.kind == "invalid_hook"


@pytest.mark.parametrize(
    ("text", "expected"), [("1m30s", 90), ("500ms", 0.5), (5, 5), ("1.5h", 5400), ("1m", 60)]
)
def test_timeouts_are_written_as_in_go(text, expected):
    assert make_hook("webhook", {"url": "http://h/", "timeout": text}).timeout == expected


def test_unknown_types_of_hooks_are_refused():
    with pytest.raises(Invalid, match="unknown hook type 'webhok'") as refused:
        make_hook("webhok", {})
    assert "webhook" in refused.value.hint


def test_headers_that_would_change_the_request_fail(server):
    reason, _ = fails(server.url("/ok"), headers={"Host": "other"})
    assert "header 'Host'" in reason


def test_the_event_of_a_tag_has_no_empty_fields(server):
    kept = ("event_type", "event_time", "action_name", "hook_id", "repository_id")
    event = HookEvent(**{name: getattr(EVENT, name) for name in kept}, tag_id="v1")
    run(server.url("/ok"), context=hook_context(event=event))
    assert sorted(json.loads(server.requests[-1].body)) == sorted((*kept, "tag_id"))


@pytest.mark.parametrize("days", [2, -2])
def test_a_certificate_that_is_not_trusted_is_refused(tmp_path, days):
    with misbehaving_webhook(self_signed_tls(tmp_path, days=days)) as server:
        reason, _ = fails(server.url("/ok"))
        assert "certificate verify failed" in reason
        assert not any("q39" in request.target for request in server.requests)


def test_variables_that_make_a_request_too_long_fail_before_it_is_sent(server):
    context = hook_context(environment={"LAKEFSACTION_LONG": "x" * 30_000})
    query = {f"q{number}": "{{ ENV.LAKEFSACTION_LONG }}" for number in range(40)}
    reason, _ = fails(server.url("/echo"), context=context, query_params=query)
    assert "more than 1048576 characters" in reason
    assert not any("q39" in request.target for request in server.requests)
