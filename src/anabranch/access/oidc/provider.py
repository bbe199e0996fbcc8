"""An OpenID Connect provider: its metadata and its keys, which are cached, and its endpoints.

Metadata are those of OpenID Connect Discovery 1.0, section 3. Keys are read again when a token
names a key that is not known, since providers replace their keys at any time.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from urllib.parse import quote_plus, urlencode, urlsplit

import msgspec

from anabranch.access.oidc.configuration import Client
from anabranch.access.oidc.id_tokens import SigningKeys, parse_header, validate_claims, verify
from anabranch.access.oidc.login_errors import bad_response, client_refused, invalid_token
from anabranch.access.oidc.provider_requests import ProviderRequests, ProviderResponse, decode
from anabranch.errors import Unauthenticated

__all__ = ["Metadata", "Provider", "Tokens"]

CACHE_SECONDS = 3600.0
KEY_REFRESH_SECONDS = 10.0
"""The least time between two reads of the keys for the sake of unknown ones, in seconds."""

_OK = 200
_CLIENT_ERRORS = frozenset({"invalid_client", "unauthorized_client", "unsupported_grant_type"})
_CODE_LENGTH = 60

T = TypeVar("T")


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """What is used of a provider's metadata."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] = []
    authorization_response_iss_parameter_supported: bool = False


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """The response of a token endpoint."""

    id_token: str
    access_token: str = ""


class _TokenError(msgspec.Struct, frozen=True):
    error: str = ""


class _KeySet(msgspec.Struct, frozen=True):
    keys: list[Any]


_METADATA_DECODER = msgspec.json.Decoder(Metadata)
_TOKENS_DECODER = msgspec.json.Decoder(Tokens)
_ERROR_DECODER = msgspec.json.Decoder(_TokenError)
_KEYS_DECODER = msgspec.json.Decoder(_KeySet)
_CLAIMS_DECODER = msgspec.json.Decoder(dict[str, Any])


class _Cached(Generic[T]):
    """A value that is read again when it is older than `CACHE_SECONDS`. Thread-safe; threads that
    need it at the same time may each read it.
    """

    def __init__(self, read: Callable[[], T], ticks: Callable[[], float]) -> None:
        self._read = read
        self._ticks = ticks
        self._entry: tuple[T, float] | None = None

    def get(self, max_age: float = CACHE_SECONDS) -> T:
        """Returns the value, at most `max_age` seconds old."""
        entry = self._entry
        if entry is None or self._ticks() - entry[1] >= max_age:
            began = self._ticks()
            entry = self._entry = self._read(), began
        return entry[0]


class Provider:
    """A provider as its client uses it. `ticks` is a monotonic clock in seconds."""

    def __init__(
        self,
        client: Client,
        requests: ProviderRequests,
        *,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._requests = requests
        self._metadata = _Cached(self._read_metadata, ticks)
        self._keys = _Cached(self._read_keys, ticks)

    def metadata(self) -> Metadata:
        """Returns the metadata. Raises Busy if the provider cannot be reached, or if they are not
        valid.
        """
        return self._metadata.get()

    def authorization_url(self, *, state: str, nonce: str, challenge: str) -> str:
        """Returns the URL at which a user logs in; `challenge` is PKCE's, of method S256. Raises
        Busy as `metadata` does.
        """
        parameters = {
            **dict(self._client.authorization_parameters),
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.redirect_uri,
            "scope": " ".join(self._client.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        endpoint = self.metadata().authorization_endpoint
        separator = "&" if urlsplit(endpoint).query else "?"
        return f"{endpoint}{separator}{urlencode(parameters)}"

    def exchange(self, code: str, verifier: str, redirect_uri: str = "") -> Tokens:
        """Returns the tokens for an authorization code and PKCE's verifier, empty if the code was
        requested without PKCE. `redirect_uri` is that of the request, by default the client's.
        Raises Unauthenticated if the provider refuses the code, AnabranchError if it refuses this
        client, and Busy.
        """
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri or self._client.redirect_uri,
        }
        if verifier:
            fields["code_verifier"] = verifier
        metadata = self.metadata()
        headers = {}
        secret = self._client.secret.reveal()
        methods = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
        if secret and "client_secret_basic" in methods:
            pair = f"{quote_plus(self._client.id)}:{quote_plus(secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            fields["client_id"] = self._client.id
            if secret:
                fields["client_secret"] = secret
        response = self._requests.post_form(metadata.token_endpoint, fields, headers)
        if response.status != _OK:
            raise _token_error(response)
        return decode(response.body, _TOKENS_DECODER, "token response")

    def validate(self, token: str, *, nonce: str | None, now: float) -> dict[str, Any]:
        """Returns the claims of an ID token, which is valid `now`, in seconds since 1970. Without a
        `nonce`, that of the token is not checked. Raises Unauthenticated, and Busy.
        """
        header = parse_header(token)
        key = self._keys.get().find(header) or self._keys.get(KEY_REFRESH_SECONDS).find(header)
        if key is None:
            raise invalid_token("it is signed with a key that the provider does not publish")
        claims = verify(token, key, header)
        validate_claims(
            claims, issuer=self._client.issuer, client_id=self._client.id, nonce=nonce, now=now
        )
        return claims

    def count_keys(self) -> int:
        """Returns the number of published keys that may sign ID tokens. Raises Busy."""
        return len(self._keys.get())

    def userinfo(self, access_token: str, subject: str) -> dict[str, Any]:
        """Returns the claims of the userinfo endpoint for the subject of an ID token, none if there
        is no such endpoint. Raises Unauthenticated if they are of another subject, and Busy.
        """
        endpoint = self.metadata().userinfo_endpoint
        if not endpoint or not _is_token(access_token):
            return {}
        response = self._requests.get(endpoint, {"Authorization": f"Bearer {access_token}"})
        if response.status != _OK:
            raise bad_response(f"status {response.status} from its userinfo endpoint")
        claims = decode(response.body, _CLAIMS_DECODER, "userinfo")
        if claims.get("sub") != subject:  # OpenID Connect Core, section 5.3.2
            raise invalid_token("its userinfo is of another subject")
        return claims

    def _read_metadata(self) -> Metadata:
        issuer = self._client.issuer
        response = self._requests.get(issuer.rstrip("/") + "/.well-known/openid-configuration")
        if response.status != _OK:
            raise bad_response(f"status {response.status} for its metadata")
        metadata = decode(response.body, _METADATA_DECODER, "metadata")
        if metadata.issuer != issuer:
            raise bad_response(f"it calls itself {metadata.issuer!r}, auth.oidc.url is {issuer!r}")
        for url in (
            metadata.authorization_endpoint,
            metadata.token_endpoint,
            metadata.jwks_uri,
            metadata.userinfo_endpoint or metadata.token_endpoint,
        ):
            if not _is_endpoint(url, issuer):
                raise bad_response(f"an endpoint is {url!r}, no URL that begins with https://")
        return metadata

    def _read_keys(self) -> SigningKeys:
        response = self._requests.get(self.metadata().jwks_uri)
        if response.status != _OK:
            raise bad_response(f"status {response.status} for its keys")
        return SigningKeys(decode(response.body, _KEYS_DECODER, "keys").keys)


def _token_error(response: ProviderResponse) -> Exception:
    code = ""
    if response.status < 500:  # noqa: PLR2004  an error of this server or of the user
        code = decode(response.body, _ERROR_DECODER, "token response").error
    if code in _CLIENT_ERRORS:
        return client_refused(code)
    if code == "invalid_grant":
        return Unauthenticated(
            "the identity provider does not accept the login: it was used before, or too late",
            kind="login_refused",
            hint="Log in again.",
        )
    shown = f", {code[:_CODE_LENGTH]!r}" if code else ""
    return bad_response(f"status {response.status}{shown} from its token endpoint")


def _is_endpoint(url: str, issuer: str) -> bool:
    """Returns whether a URL may be an endpoint: without TLS only if the issuer's has none."""
    schemes = ("https", "http") if issuer.startswith("http:") else ("https",)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and " " not in url
    return plain and parts.scheme in schemes and bool(parts.hostname) and not parts.fragment


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable()
