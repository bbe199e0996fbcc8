"""Parser for the small XML documents in requests.

S3 documents have no document type declaration, so documents with one are rejected, and with them
all entity declarations. The size, the number of elements and their depth are limited, which bounds
the cost of a document. Elements have S3's namespace or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from anabranch.s3.protocol.errors import S3Error
from anabranch.s3.protocol.xml_writer import NAMESPACE

__all__ = ["MAX_DOCUMENT_BYTES", "Element", "read_xml"]

MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
"""The maximum size of a document, in bytes."""

_MAX_ELEMENTS = 100_000
_MAX_DEPTH = 16
_SEPARATOR = " "
_NAMESPACES = frozenset({"", NAMESPACE, NAMESPACE.rstrip("/")})


class Element:
    """An element: its name without namespace, its text and its child elements."""

    __slots__ = ("children", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.children: list[Element] = []

    def all(self, name: str) -> Iterator[Element]:
        """Yields the child elements with a name."""
        return (child for child in self.children if child.name == name)

    def child_text(self, name: str) -> str | None:
        """Returns the text of the first child element with a name, None if there is none."""
        child = next(self.all(name), None)
        return None if child is None else child.text


def read_xml(body: bytes, root: str) -> Element:
    """Returns a document's root element. Raises S3Error: MalformedXML if its name is not `root`, or
    if the body is not a valid document.
    """
    builder = _Builder()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError):  # an unknown encoding is a LookupError
        raise S3Error("MalformedXML") from None
    if builder.root is None or builder.root.name != root:
        raise S3Error("MalformedXML")
    return builder.root


class _Builder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._texts: list[str] = []
        self._count = 0

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MAX_ELEMENTS or len(self._open) >= _MAX_DEPTH:
            raise S3Error("MalformedXML")
        namespace, _, local = name.rpartition(_SEPARATOR)
        if namespace not in _NAMESPACES:
            raise S3Error("MalformedXML")
        element = Element(local)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._texts.clear()

    def text(self, text: str) -> None:
        self._texts.append(text)

    def end(self, _: str) -> None:
        element = self._open.pop()
        if not element.children:
            element.text = "".join(self._texts)
        self._texts.clear()

    def refuse(self, *_: object) -> None:
        raise S3Error("MalformedXML")
