"""Airflow: the requests that start and watch a run of a DAG, against a server of its API."""

import base64
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest
from support.hooks.hook_runs import hook_context
from support.hooks.misbehaving_webhook import misbehaving_webhook

from anabranch.actions.hooks.registry import make_hook
from anabranch.errors import HookFailed, Invalid

PROPERTIES = {
    "dag_id": "load flights",
    "username": "ana",
    "password": "{{ ENV.LAKEFSACTION_AIRFLOW }}",
    "dag_conf": {"table": "flights", "nested": {"token": ["{{ENV.LAKEFSACTION_TOKEN}}"]}},
}
ENVIRONMENT = {"LAKEFSACTION_AIRFLOW": "pa:ss w0rd", "LAKEFSACTION_TOKEN": "t0ken-of-dag"}


@contextmanager
def airflow_server(states):
    """Yields the port of a server that reports the states, one after another, and its requests."""
    requests, left = [], list(states)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append((self.command, self.path, self.headers["Authorization"], body))
            state = "queued" if self.command == "POST" else left.pop(0)
            self.send_response(503 if state == "unavailable" else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"state": state}).encode())

        do_GET = do_POST  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/base/", requests
        server.shutdown()


def run(url, *, context=None, **properties):
    hook = make_hook("airflow", {"url": url, **PROPERTIES, **properties})
    hook = msgspec.structs.replace(hook, poll_seconds=0.01)
    context = context or hook_context(environment=ENVIRONMENT)
    hook.run(context)
    return context.output.text()


def test_a_run_of_the_dag_is_started_as_lakefs_starts_it():
    with airflow_server([]) as (url, requests):
        written = run(url)
    ((method, path, authorization, body),) = requests
    assert (method, path) == ("POST", "/base/api/v1/dags/load%20flights/dagRuns")
    assert authorization == f"Basic {base64.b64encode(b'ana:pa:ss w0rd').decode()}"
    sent = json.loads(body)
    assert sent["dag_run_id"] == "lakeFS_hook_first_run-1"
    assert sent["conf"]["lakeFS_event"]["repository_id"] == "flights"
    assert sent["conf"]["nested"] == {"token": ["t0ken-of-dag"]}
    for secret in ("w0rd", "t0ken", authorization.split()[1]):
        assert secret not in written


def test_the_end_of_the_run_is_awaited():
    states = ["queued", "running", "unavailable", "running", "success"]
    with airflow_server(states) as (url, requests):
        run(url, wait_for_dag=True)
    assert [method for method, *_ in requests] == ["POST"] + ["GET"] * 5
    assert requests[-1][1] == ("/base/api/v1/dags/load%20flights/dagRuns/lakeFS_hook_first_run-1")


def test_a_run_that_fails_fails_the_hook():
    with (
        airflow_server(["running", "failed"]) as (url, _),
        pytest.raises(HookFailed, match=r"the run lakeFS_hook_first_run-1 of the DAG .* failed"),
    ):
        run(url, wait_for_dag=True)


def test_a_run_that_does_not_end_is_not_awaited_for_ever():
    start = time.monotonic()
    with (
        airflow_server(["running"] * 10_000) as (url, _),
        pytest.raises(HookFailed, match="did not end in time"),
    ):
        run(url, wait_for_dag=True, timeout="300ms")
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("path", ["status/404", "status/409", "close"])
def test_a_dag_that_cannot_be_started_fails_the_hook(path):
    with misbehaving_webhook() as server, pytest.raises(HookFailed):
        run(server.url(f"/{path}"), wait_for_dag=True)
    assert [request.method for request in server.requests] == ["POST"]


@pytest.mark.slow
def test_nonsense_for_a_state_fails_the_hook():
    with airflow_server([[]]) as (url, _), pytest.raises(HookFailed):
        run(url, wait_for_dag=True, timeout="300ms")


def test_a_missing_password_is_named_before_a_request():
    with airflow_server([]) as (url, requests):
        with pytest.raises(HookFailed, match="LAKEFSACTION_TOKEN is not set"):
            run(url, context=hook_context(environment={"LAKEFSACTION_AIRFLOW": "x"}))
        assert requests == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"dag_id": None}, "dag_id"),
        ({"username": 5}, "username"),
        ({"password": "{{ ENV.SECRET }}"}, "password"),
        ({"dag_conf": "x"}, "dag_conf"),
        ({"dag_conf": {"a": ["{{ ENV.SECRET }}"]}}, "dag_conf"),
        ({"wait_for_dag": "yes"}, "wait_for_dag"),
        ({"timeout": "later"}, "timeout"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"dags": 1}, "dags"),
    ],
)
def test_wrong_properties_are_named(changes, named):
    with pytest.raises(Invalid, match=f"^property {named}: "):
        make_hook("airflow", {"url": "http://h/", **PROPERTIES, **changes})
