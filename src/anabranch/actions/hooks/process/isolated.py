"""A hook that runs in a process of its own."""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.process.lake_calls import LakeCalls
from anabranch.actions.hooks.secrets import hook_environment, reveal
from anabranch.child_process.child import Child, ChildEnded, ChildHangs
from anabranch.child_process.limits import Limits
from anabranch.errors import HookFailed

__all__ = ["IsolatedHook"]

_MODULE = "anabranch.actions.hooks.process.hook_process"
_SPARE_SECONDS = 5


class IsolatedHook(msgspec.Struct, frozen=True, kw_only=True):
    """Runs what the HookFactory `factory`, as `module:name`, makes from `properties`, in which
    references to secrets are replaced, and from `plain_properties`. `name` is for messages.

    The process is killed after `timeout` seconds. It may use `memory_bytes` of address space, and
    has almost none of this process's environment. With `sees_environment`, the context has the
    variables that hooks may use.
    """

    name: str
    factory: str
    properties: dict[str, Any]
    timeout: float
    plain_properties: dict[str, Any] = {}
    memory_bytes: int | None = None
    sees_environment: bool = False

    def run(self, context: HookContext) -> None:
        """Raises HookFailed if the hook does, does not end in time, or crashes."""
        start = time.monotonic()
        deadline = min(context.deadline, start + self.timeout)
        request = self._request(context)
        try:
            with Child(_MODULE, deadline) as child:
                child.send({**request, "seconds": deadline - time.monotonic()})
                with LakeCalls(context.lake) as calls:
                    self._answer(child, calls, context)
        except ChildHangs:
            allowed = min(self.timeout, deadline - start)
            raise HookFailed(
                f"the hook {self.name} did not finish within {allowed:.3g} s",
                hint="Make it faster, or raise its property timeout.",
            ) from None
        except (ChildEnded, ValueError) as error:
            reason = context.output.redact(str(error))
            raise HookFailed(f"the hook {self.name} failed: {reason}") from None

    def _request(self, context: HookContext) -> dict[str, Any]:
        about = {
            name: getattr(context, name) for name in context.__struct_fields__ if name not in _OWN
        }
        environment = hook_environment(context) if self.sees_environment else {}
        return {
            "factory": self.factory,
            "properties": {**self.plain_properties, **reveal(self.properties, context)},
            "output_bytes": context.output.limit,
            "limits": Limits(memory_bytes=self.memory_bytes, cpu_seconds=self._cpu_seconds()),
            "context": {**about, "environment": environment},
        }

    def _cpu_seconds(self) -> int:
        """Returns what the process can use until it is killed: the limit is for the case that
        no process is left to kill it.
        """
        return (int(self.timeout) + _SPARE_SECONDS) * (os.cpu_count() or 1)

    def _answer(self, child: Child, calls: LakeCalls, context: HookContext) -> None:
        while True:
            message, data = child.receive()
            if "output" in message:
                context.output.write(str(message["output"]))
            elif "failed" in message:
                hint = str(message.get("hint", ""))
                raise HookFailed(context.output.redact(str(message["failed"])), hint=hint)
            elif "done" in message:
                return
            else:
                child.send(*calls.perform(message, data))


_OWN = frozenset(("lake", "code", "output", "deadline", "environment"))
"""Parts of the context that stay in this process."""
