"""`aws`: objects of S3, and tables and databases of Glue, with keys that the script has."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from xml.etree.ElementTree import Element

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.documents import parse_xml
from anabranch.actions.hooks.lua.libraries.outgoing import Outgoing
from anabranch.model.secret import Secret
from anabranch.outbound.http_request import HttpResponse
from anabranch.signing.encoding import encode_key
from anabranch.signing.sign import SigningCredentials, sign_request

__all__ = ["aws"]

_DEFAULT_REGION = "us-east-1"
_NOT_FOUND = 404
_REASON_BYTES = 1000
_GLUE_TYPE = "application/x-amz-json-1.1"


def aws(context: HookContext) -> Mapping[str, Any]:
    """Returns the library `aws`."""
    outgoing = Outgoing(context)

    def s3_client(
        key_id: str, secret: str, region: str = "", endpoint: str = ""
    ) -> Mapping[str, Any]:
        return _S3(_Signer(outgoing, key_id, secret, region, "s3"), endpoint).functions()

    def glue_client(
        key_id: str, secret: str, region: str = "", endpoint: str = ""
    ) -> Mapping[str, Any]:
        return _Glue(_Signer(outgoing, key_id, secret, region, "glue"), endpoint).functions()

    return {"s3_client": s3_client, "glue_client": glue_client}


class _Signer:
    """Sends signed requests to one service."""

    def __init__(
        self, outgoing: Outgoing, key_id: str, secret: str, region: str, service: str
    ) -> None:
        self.region = region or _DEFAULT_REGION
        self._outgoing = outgoing
        self._credentials = SigningCredentials(key_id, Secret(secret), self.region)
        self._service = service

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> HttpResponse:
        digest = hashlib.sha256(body).hexdigest()
        signed = sign_request(
            self._credentials,
            method,
            url,
            headers,
            time=time.time(),
            payload=digest,
            service=self._service,
        ).headers
        sent = {name: value for name, value in signed.items() if name != "Host"}
        return self._outgoing.send(method, url, sent, body)


class _S3:
    def __init__(self, signer: _Signer, endpoint: str) -> None:
        self._signer = signer
        self._endpoint = endpoint.rstrip("/")

    def functions(self) -> Mapping[str, Any]:
        """Returns the functions of the client."""

        def get_object(bucket: str, key: str) -> tuple[bytes, bool]:
            response = self._send("GET", bucket, key, missing=True)
            return (b"", False) if response.status == _NOT_FOUND else (response.body, True)

        def put_object(bucket: str, key: str, value: bytes) -> None:
            self._send("PUT", bucket, key, body=value)

        def delete_object(bucket: str, key: str) -> None:
            self._send("DELETE", bucket, key)

        def list_objects(
            bucket: str, prefix: str = "", continuation_token: str = "", delimiter: str = "/"
        ) -> Mapping[str, Any]:
            return self._page(bucket, prefix, continuation_token, delimiter)

        def delete_recursive(bucket: str, prefix: str) -> None:
            for key in list(self._keys(bucket, prefix)):
                self._send("DELETE", bucket, key)

        functions = (get_object, put_object, delete_object, list_objects, delete_recursive)
        return {each.__name__: each for each in functions}

    def _keys(self, bucket: str, prefix: str) -> Iterator[str]:
        token, more = "", True
        while more:
            page = self._page(bucket, prefix, token, "")
            yield from (item["key"] for item in page["results"])
            token, more = page["next_continuation_token"], page["is_truncated"]

    def _page(self, bucket: str, prefix: str, token: str, delimiter: str) -> Mapping[str, Any]:
        """Returns a page of a listing, with the last keys first, as lakeFS's."""
        query = {"list-type": "2", "prefix": prefix, "delimiter": delimiter}
        query |= {"continuation-token": token} if token else {}
        root = parse_xml(self._send("GET", bucket, "", query=query).body)
        results: list[Mapping[str, Any]] = [
            {"key": _text(each, "Prefix"), "type": "prefix"}
            for each in root.iterfind("{*}CommonPrefixes")
        ]
        results += [
            {
                "key": _text(each, "Key"),
                "type": "object",
                "etag": _text(each, "ETag"),
                "size": int(_text(each, "Size")),
                "last_modified": _text(each, "LastModified"),
            }
            for each in root.iterfind("{*}Contents")
        ]
        return {
            "is_truncated": _text(root, "IsTruncated") == "true",
            "next_continuation_token": _text(root, "NextContinuationToken"),
            "results": sorted(results, key=lambda each: str(each["key"]), reverse=True),
        }

    def _send(
        self,
        method: str,
        bucket: str,
        key: str,
        *,
        body: bytes = b"",
        query: Mapping[str, str] | None = None,
        missing: bool = False,
    ) -> HttpResponse:
        if self._endpoint:
            place = f"{self._endpoint}/{quote(bucket, safe='')}"
        else:
            place = f"https://{quote(bucket, safe='.')}.s3.{self._signer.region}.amazonaws.com"
        url = f"{place}/{encode_key(key)}"
        url += "?" + urlencode(query, quote_via=quote, safe="") if query else ""
        response = self._signer.send(method, url, {}, body)
        if response.status // 100 == 2 or (missing and response.status == _NOT_FOUND):  # noqa: PLR2004
            return response
        raise ValueError(f"{urlsplit(url).hostname}: {_reason(response)}")


class _Glue:
    def __init__(self, signer: _Signer, endpoint: str) -> None:
        self._signer = signer
        self._url = endpoint or f"https://glue.{signer.region}.amazonaws.com/"

    def functions(self) -> Mapping[str, Any]:
        """Returns the functions of the client; tables are given as JSON, as in lakeFS."""

        def get_table(database: str, table: str, catalog: str = "") -> tuple[Any, bool]:
            given = _given_options(DatabaseName=database, Name=table, CatalogId=catalog)
            found = self._call("GetTable", given, missing=True)
            return ("", False) if found is None else (found, True)

        def create_table(database: str, table: bytes, catalog: str = "") -> None:
            given = _given_options(DatabaseName=database, CatalogId=catalog)
            self._call("CreateTable", {**given, "TableInput": msgspec.json.decode(table)})

        def update_table(
            database: str,
            table: bytes,
            catalog: str = "",
            version: str = "",
            skip_archive: bool = False,
        ) -> None:
            given = _given_options(DatabaseName=database, CatalogId=catalog, VersionId=version)
            table_input = {"TableInput": msgspec.json.decode(table), "SkipArchive": skip_archive}
            self._call("UpdateTable", {**given, **table_input})

        def delete_table(database: str, table: str, catalog: str = "") -> None:
            given = _given_options(DatabaseName=database, Name=table, CatalogId=catalog)
            self._call("DeleteTable", given)

        def create_database(database: str) -> None:
            about = {"Name": database, "Description": "Created by a hook"}
            self._call("CreateDatabase", {"DatabaseInput": about})

        def delete_database(database: str) -> None:
            self._call("DeleteDatabase", {"Name": database})

        functions = (get_table, create_table, update_table, delete_table)
        return {each.__name__: each for each in (*functions, create_database, delete_database)}

    def _call(self, operation: str, given: Mapping[str, Any], *, missing: bool = False) -> Any:
        headers = {"X-Amz-Target": f"AWSGlue.{operation}", "Content-Type": _GLUE_TYPE}
        response = self._signer.send("POST", self._url, headers, msgspec.json.encode(given))
        if response.status // 100 == 2:  # noqa: PLR2004
            return msgspec.json.decode(response.body) if response.body else {}
        if missing and b"EntityNotFoundException" in response.body:
            return None
        raise ValueError(f"Glue {operation}: {_reason(response)}")


def _given_options(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _text(element: Element, name: str) -> str:
    return element.findtext(f"{{*}}{name}") or ""


def _reason(response: HttpResponse) -> str:
    text = " ".join(response.body[:_REASON_BYTES].decode("utf-8", "replace").split())
    return f"HTTP {response.status} {text}"
