"""Validation of ID tokens (OpenID Connect Core 1.0, sections 2 and 3.1.3.7).

Only signatures of asymmetric algorithms are accepted, made with a key that the provider publishes
for signatures of that algorithm. Keys and URLs of keys in a token's own header are ignored.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, Key, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from anabranch.access.oidc.login_errors import invalid_token

__all__ = ["LEEWAY", "SigningKeys", "TokenHeader", "parse_header", "validate_claims", "verify"]

LEEWAY = 60
"""How far the clocks of provider and server may differ, in seconds."""

_KEY_TYPES: Mapping[str, tuple[str, ...]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256", "ES384", "ES512"),
    "OKP": ("EdDSA", "Ed25519"),
}
_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_EDWARDS_CURVES = ("Ed25519", "Ed448")
_ALGORITHMS = tuple(name for names in _KEY_TYPES.values() for name in names)
_MIN_RSA_BITS = 2048
_MAX_KEYS = 100
_MAX_TOKEN_LENGTH = 1 << 16
_MAX_SUBJECT_LENGTH = 255  # OpenID Connect Core, section 2


class TokenHeader(msgspec.Struct, frozen=True):
    """What is read of a token's header: the algorithm and the key's id. Critical extensions are
    unknown here, so a token that has any is not valid.
    """

    alg: str
    kid: str | None = None
    crit: Any = None


_DECODER = msgspec.json.Decoder(TokenHeader)


class _Registry(JWSRegistry):
    max_header_length = 8192  # with certificates, which are ignored
    max_payload_length = _MAX_TOKEN_LENGTH


_registry = _Registry(algorithms=_ALGORITHMS, strict_check_header=False)


class SigningKeys:
    """Keys of a provider that may sign ID tokens."""

    def __init__(self, documents: Iterable[object]) -> None:
        self._keys = [key for key in map(_import_key, list(documents)[:_MAX_KEYS]) if key]

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, header: TokenHeader) -> Key | None:
        """Returns the key of a header; without a key id the only key of its type, None if there is
        none or more than one.
        """
        keys = [
            key
            for key in self._keys
            if _fits(key, header.alg) and (header.kid is None or key.kid == header.kid)
        ]
        return keys[0] if len(keys) == 1 else None


def parse_header(token: str) -> TokenHeader:
    """Returns the header of a token, which is not to be trusted yet. Raises Unauthenticated for one
    that cannot be read, or of another algorithm.
    """
    if len(token) > _MAX_TOKEN_LENGTH or not token.isascii() or token.count(".") != 2:  # noqa: PLR2004
        raise invalid_token("it is not a signed token")
    try:
        encoded = token.partition(".")[0]
        header = _DECODER.decode(urlsafe_b64decode(encoded + "=="))
    except (ValueError, RecursionError):
        raise invalid_token("its header cannot be read") from None
    if header.alg not in _ALGORITHMS:
        raise invalid_token("its signature is of an algorithm that is not accepted")
    if header.crit is not None:
        raise invalid_token("it has critical extensions")
    return header


def verify(token: str, key: Key, header: TokenHeader) -> dict[str, Any]:
    """Returns the claims of a token that is signed with a key; raises Unauthenticated."""
    try:
        decoded = jwt.decode(token, key, algorithms=[header.alg], registry=_registry)
    except (JoseError, ValueError, TypeError, RecursionError):
        raise invalid_token("its signature is wrong") from None
    return decoded.claims


def validate_claims(
    claims: Mapping[str, Any], *, issuer: str, client_id: str, nonce: str | None, now: float
) -> None:
    """Raises Unauthenticated unless the claims are of this issuer, for this client and this login,
    and hold `now`, in seconds since 1970. A `nonce` of None is not checked.
    """
    if claims.get("iss") != issuer:
        raise invalid_token("it is of another issuer")
    _check_audience(claims, client_id)
    _check_times(claims, now)
    if nonce is not None:
        _check_nonce(claims.get("nonce"), nonce)
    subject = claims.get("sub")
    if not (
        isinstance(subject, str)
        and 0 < len(subject) <= _MAX_SUBJECT_LENGTH
        and subject.isprintable()  # JSON can escape what cannot be encoded
    ):
        raise invalid_token("it names no subject")


def _check_nonce(given: object, nonce: str) -> None:
    if not isinstance(given, str) or not given.isascii() or not hmac.compare_digest(given, nonce):
        raise invalid_token("it is of another login")


def _check_audience(claims: Mapping[str, Any], client_id: str) -> None:
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if client_id not in audiences:
        raise invalid_token("it is for another client")
    authorized = claims.get("azp")
    if authorized is None and len(audiences) > 1:
        raise invalid_token("it is for several clients and names none as authorized")
    if authorized is not None and authorized != client_id:
        raise invalid_token("it was issued to another client")


def _check_times(claims: Mapping[str, Any], now: float) -> None:
    expires_at, issued_at = claims.get("exp"), claims.get("iat")
    not_before = claims.get("nbf", 0)
    if not (_is_time(expires_at) and _is_time(issued_at) and _is_time(not_before)):
        raise invalid_token("its times are missing or no numbers")
    if now >= expires_at + LEEWAY:
        raise invalid_token("it has expired; are the clocks right?")
    if max(issued_at, not_before) > now + LEEWAY:
        raise invalid_token("it is of the future; are the clocks right?")


def _is_time(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _import_key(document: object) -> Key | None:
    """Returns a key of a key set, None for one that cannot verify signatures of ID tokens."""
    if not isinstance(document, dict) or document.get("use", "sig") != "sig":
        return None
    if document.get("kty") not in list(_KEY_TYPES):  # a list: the value may be anything
        return None
    try:
        key = JWKRegistry.import_key(document)
        if isinstance(key, RSAKey):
            return key if key.public_key.key_size >= _MIN_RSA_BITS else None
        return key if isinstance(key, ECKey | OKPKey) else None
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _fits(key: Key, algorithm: str) -> bool:
    if algorithm not in _KEY_TYPES[key.key_type] or key.alg not in (None, algorithm):
        return False
    if isinstance(key, ECKey):
        return key.curve_name == _CURVES[algorithm]
    if isinstance(key, OKPKey):
        return key.curve_name in _EDWARDS_CURVES
    return True
