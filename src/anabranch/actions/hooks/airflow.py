"""Airflow: an event starts a run of a DAG, and may wait for its end.

The properties are lakeFS's: `url`, `dag_id`, `username`, `password`, `dag_conf`, `wait_for_dag`,
`timeout`. The requests are those of Airflow's stable REST API, version 1.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.http_exchange import exchange, is_success
from anabranch.actions.hooks.properties import Properties
from anabranch.actions.hooks.secrets import check_names, reveal
from anabranch.actions.hooks.webhook import check_address
from anabranch.errors import HookFailed
from anabranch.outbound.http_request import HttpResponse

__all__ = ["Airflow", "airflow"]

_TIMEOUT_SECONDS = 60.0
_REQUEST_SECONDS = 5.0
_POLL_SECONDS = 5.0
_POLL_RETRIES = 2
_EVENT = "lakeFS_event"


class Airflow(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a DAG for each event. `timeout` is the time in seconds to wait for its end."""

    url: str
    dag_id: str
    username: str
    password: str
    dag_conf: dict[str, Any] = {}
    wait_for_dag: bool = False
    timeout: float = _TIMEOUT_SECONDS
    poll_seconds: float = _POLL_SECONDS
    wait: Callable[[float], object] = time.sleep

    def run(self, context: HookContext) -> None:
        """Starts the DAG. Raises HookFailed, also if its run fails or does not end in time."""
        event = context.event
        run_id = f"lakeFS_hook_{event.hook_id}_{event.run_id}"
        dag_conf, _, _ = self._reveal(context)
        conf = {**dag_conf, _EVENT: event}
        body = msgspec.json.encode({"dag_run_id": run_id, "conf": conf})
        started = self._request(context, "POST", "", body)
        if not is_success(started):
            raise HookFailed(f"airflow hook request failed (status code: {started.status})")
        if self.wait_for_dag:
            context.output.write("Waiting for the DAG to end\n\n")
            self._wait_for_end(context, run_id)

    def _wait_for_end(self, context: HookContext, run_id: str) -> None:
        deadline = min(context.deadline, time.monotonic() + self.timeout)
        while True:
            self.wait(max(0.0, min(self.poll_seconds, deadline - time.monotonic())))
            if time.monotonic() >= deadline:
                raise HookFailed(f"the run {run_id} of the DAG {self.dag_id} did not end in time")
            response = self._request(context, "GET", f"/{quote(run_id, safe='')}")
            if not is_success(response):
                raise HookFailed(f"airflow hook request failed (status code: {response.status})")
            state = _state(response)
            if state == "success":
                return
            if state == "failed":
                raise HookFailed(f"the run {run_id} of the DAG {self.dag_id} failed")

    def _reveal(self, context: HookContext) -> Any:
        """Returns `dag_conf`, the user and the password: all at once, since the texts together have
        a limited length.
        """
        return reveal([self.dag_conf, self.username, self.password], context)

    def _request(
        self, context: HookContext, method: str, rest: str, body: bytes = b""
    ) -> HttpResponse:
        parts = urlsplit(self.url)
        runs = f"{parts.path.rstrip('/')}/api/v1/dags/{quote(self.dag_id, safe='')}/dagRuns"
        url = urlunsplit(parts._replace(path=runs + rest))
        _, username, password = self._reveal(context)
        pair = base64.b64encode(f"{username}:{password}".encode()).decode()
        context.output.conceal(password)
        context.output.conceal(pair)
        try:
            return exchange(
                context,
                method,
                url,
                shown_url=url,
                headers={"Authorization": f"Basic {pair}", "Content-Type": "application/json"},
                body=body,
                timeout=_REQUEST_SECONDS,
                retries=_POLL_RETRIES if method == "GET" else 0,
                wait=self.wait,
            )
        except HookFailed as error:
            reason = f"failed executing airflow request: {error.message}"
            raise HookFailed(reason, hint=error.hint) from error


def airflow(values: Mapping[str, Any]) -> Airflow:
    """Returns the hook with these properties. Raises Invalid (kind invalid_hook)."""
    properties = Properties(values)
    texts = {name: properties.text(name) for name in ("url", "dag_id", "username", "password")}
    conf = properties.mapping("dag_conf")
    for name, value in {**texts, "dag_conf": conf}.items():
        check_names(properties, name, value)
    check_address(properties, texts["url"])
    made = Airflow(
        url=texts["url"],
        dag_id=texts["dag_id"],
        username=texts["username"],
        password=texts["password"],
        dag_conf=dict(conf),
        wait_for_dag=properties.flag("wait_for_dag", default=False),
        timeout=properties.duration("timeout", _TIMEOUT_SECONDS),
    )
    properties.refuse_others()
    return made


def _state(response: HttpResponse) -> str:
    try:
        return str(msgspec.json.decode(response.body)["state"])
    except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise HookFailed("Airflow's response is not the state of a run") from error
