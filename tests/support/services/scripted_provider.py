"""An OpenID Connect provider for tests that does what it should, or whatever a test wants.

    with running_provider() as provider:
        provider.claims["email"] = "jane@example.com"       # in the ID tokens to come
        provider.claims["aud"] = "another client"           # a lie
        provider.replace("/token", 500, b"nonsense")        # a response that breaks the protocol

Each client of its authorization endpoint is logged in as `provider.claims["sub"]` at once. Codes
are bound to the request's nonce and challenge, expire at their first use, and the client must
authenticate, all as OpenID Connect Core 1.0 and RFC 7636 say.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

__all__ = ["CLIENT_ID", "CLIENT_SECRET", "ScriptedProvider", "running_provider"]

CLIENT_ID = "lake & sea"
"""With characters that are escaped in HTTP's Basic authentication of OAuth 2.0."""
CLIENT_SECRET = "a secret: 100%"


class _Code(NamedTuple):
    nonce: str | None
    challenge: str
    redirect_uri: str


class ScriptedProvider:
    """A provider on 127.0.0.1. Tests change its attributes: `claims` are added to ID tokens, a
    value of None leaves a claim out; `userinfo` are those of the userinfo endpoint; `algorithm`,
    `signing_key` and `key_id` sign tokens, `published` are the keys of its key set; `make_token`
    replaces the making of tokens.
    """

    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"
        self.claims: dict[str, Any] = {"sub": "248289761001"}
        self.userinfo: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.algorithm = "RS256"
        self.keys = _KEYS
        self.signing_key: Key = _KEYS["RS256"]
        self.key_id: str | None = "RS256"
        self.published: list[dict[str, Any]] = [
            {**key.as_dict(private=False), "kid": name, "use": "sig"}
            for name, key in _KEYS.items()
            if name != "other"
        ]
        self.make_token: Callable[[dict[str, Any]], str] = self.sign
        self.requests: list[str] = []
        self.stalled = threading.Event()
        self._codes: dict[str, _Code] = {}
        self._replaced: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}

    def replace(self, path: str, status: int, body: bytes, **headers: str) -> None:
        """Sets the response of a path."""

        def respond(handler: BaseHTTPRequestHandler) -> None:
            _send(handler, status, body, headers)

        self._replaced[path] = respond

    def stall(self, path: str) -> None:
        """Lets a path send one byte of its response, then nothing until the test ends."""

        def respond(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"H")
            handler.wfile.flush()
            self.stalled.wait(60)

        self._replaced[path] = respond

    def drip(self, path: str) -> None:
        """Lets a path send a body byte by byte, which never ends."""

        def respond(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not self.stalled.wait(0.05):
                handler.wfile.write(b" ")

        self._replaced[path] = respond

    def restore(self, path: str) -> None:
        """Lets a path respond as it should again."""
        del self._replaced[path]

    def sign(self, claims: dict[str, Any]) -> str:
        """Returns a token with these claims."""
        header = {"alg": self.algorithm, "typ": "JWT"}
        if self.key_id is not None:
            header["kid"] = self.key_id
        payload = json.dumps(claims).encode()
        return jws.serialize_compact(header, payload, self.signing_key, [self.algorithm])

    def authorize(self, url: str) -> dict[str, str]:
        """Returns the parameters of the redirection that its authorization endpoint responds with
        to a browser.
        """
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert query["response_type"] == "code"
        assert query["client_id"] == CLIENT_ID
        assert "openid" in query["scope"].split()
        assert query["code_challenge_method"] == "S256"
        code = self.issue_code(
            query["redirect_uri"], nonce=query.get("nonce"), challenge=query["code_challenge"]
        )
        return {"code": code, "state": query["state"]}

    def issue_code(
        self, redirect_uri: str, *, nonce: str | None = None, challenge: str = ""
    ) -> str:
        """Returns a code for a redirect URI, requested without PKCE if there is no challenge."""
        code = secrets.token_urlsafe()
        self._codes[code] = _Code(nonce, challenge, redirect_uri)
        return code

    def respond(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """Responds to a request."""
        path = urlsplit(handler.path).path
        self.requests.append(path)
        if path in self._replaced:
            self._replaced[path](handler)
        elif path == "/authorize":
            redirect = parse_qs(urlsplit(handler.path).query)["redirect_uri"][0]
            place = f"{redirect}?{urlencode(self.authorize(handler.path))}"
            _send(handler, 302, b"", {"Location": place})
        else:
            status, document = self._document(path, handler, body)
            _send(handler, status, json.dumps(document).encode())

    def _document(
        self, path: str, handler: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, dict[str, Any]]:
        if path == "/.well-known/openid-configuration":
            endpoints = {
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
            }
            return 200, {"issuer": self.issuer, **endpoints, **self.metadata}
        if path == "/keys":
            return 200, {"keys": self.published}
        if path == "/token":
            return self._token(handler, body)
        if path == "/userinfo":
            if handler.headers["Authorization"] != "Bearer an-access-token":
                return 401, {"error": "invalid_token"}
            return 200, {"sub": self.claims["sub"], **self.userinfo}
        return 404, {"error": "not_found"}

    def _token(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, Any]]:
        form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        if not _is_client(handler.headers.get("Authorization", ""), form):
            return 401, {"error": "invalid_client"}
        code = self._codes.pop(form.get("code", ""), None)
        challenge = ""
        if "code_verifier" in form:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if code is None or (code.challenge, code.redirect_uri) != (challenge, form["redirect_uri"]):
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": code.nonce,
            **self.claims,
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        token = self.make_token(claims)
        return 200, {"access_token": "an-access-token", "token_type": "Bearer", "id_token": token}


def _is_client(authorization: str, form: dict[str, str]) -> bool:
    if authorization.startswith("Basic "):
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        client, _, secret = pair.partition(":")
        return (unquote_plus(client), unquote_plus(secret)) == (CLIENT_ID, CLIENT_SECRET)
    return (form.get("client_id"), form.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


_KEYS: dict[str, Key] = {
    "RS256": RSAKey.generate_key(2048),
    "ES256": ECKey.generate_key("P-256"),
    "EdDSA": OKPKey.generate_key("Ed25519"),
    "other": RSAKey.generate_key(2048),
}


@contextmanager
def running_provider() -> Iterator[ScriptedProvider]:
    """Runs a provider on a free port, and stops it afterwards."""
    provider: ScriptedProvider

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.respond(self, b"")

        def do_POST(self) -> None:
            provider.respond(self, self.rfile.read(int(self.headers["Content-Length"])))

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = ScriptedProvider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        provider.stalled.set()
        server.shutdown()
        server.server_close()
        thread.join()
