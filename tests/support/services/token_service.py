"""A token service as AWS has it: verifies signatures of GetCallerIdentity and names the caller.

Signatures are verified as AWS documents them (Signature Version 4, in the query), for the host that
clients sign for, wherever the service itself runs.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlsplit

__all__ = ["TokenService", "running_token_service"]

HOST = "sts.eu-central-1.amazonaws.com"
_RESPONSE = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <GetCallerIdentityResult><Arn>{arn}</Arn><UserId>AROA:x</UserId><Account>123456789012</Account>
  </GetCallerIdentityResult>
</GetCallerIdentityResponse>"""


class TokenService(ThreadingHTTPServer):
    """`callers` are ARNs and secrets by access key; `hostile` replaces all responses if it is set:
    a status and a body.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.callers: dict[str, tuple[str, str]] = {}
        self.hostile: tuple[int, bytes] | None = None
        self.requests = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def respond(self, method: str, target: str, headers: dict[str, str]) -> tuple[int, bytes]:
        """Returns the status and the body of the response to a request."""
        self.requests += 1
        if self.hostile is not None:
            return self.hostile
        query = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
        access_key_id, *scope = query["X-Amz-Credential"].split("/")
        arn, secret = self.callers.get(access_key_id, ("", ""))
        if not arn or query["X-Amz-Signature"] != _signature(method, query, headers, scope, secret):
            return (
                403,
                b"<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>",
            )
        return 200, _RESPONSE.format(arn=arn).encode()


def _signature(
    method: str, query: dict[str, str], headers: dict[str, str], scope: list[str], secret: str
) -> str:
    unsigned = sorted((name, value) for name, value in query.items() if name != "X-Amz-Signature")
    names = query["X-Amz-SignedHeaders"].split(";")
    values = {**headers, "host": HOST}
    canonical = "\n".join(
        [
            method,
            "/",
            "&".join(
                f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
                for name, value in unsigned
            ),
            *(f"{name}:{values.get(name, '').strip()}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    text = "\n".join(
        [
            "AWS4-HMAC-SHA256",
            query["X-Amz-Date"],
            "/".join(scope),
            hashlib.sha256(canonical.encode()).hexdigest(),
        ]
    )
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, text.encode(), "sha256").hexdigest()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        service = self.server
        assert isinstance(service, TokenService)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, body = service.respond("POST", self.path, headers)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Writes nothing."""


@contextmanager
def running_token_service() -> Iterator[TokenService]:
    """Runs a token service on this machine."""
    with TokenService() as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield service
        service.shutdown()
        thread.join()
