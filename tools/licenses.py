#!/usr/bin/env python3
"""Writes into licenses/ what of others is in a wheel: the licenses of the kernel's crates and of
the page's packages, and the bill of materials of the page. Maturin writes that of the kernel.

    make licenses

It needs the page (`make web`) and cargo. Wheels and source distributions contain these files, which
are kept in git so that a source distribution needs neither Node nor a network for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from distribution.kernel_layout import bundled_crates

FOLDER = Path("licenses")
PACKAGES = Path("src/anabranch/web/static/packages.json")
NODE_MODULES = Path("web/node_modules")
LICENSE_FILE = re.compile(r"(?i)(un)?licen[cs]e|copying|notice")
INTRODUCTION = "Anabranch's {} contains code of these packages, under their licenses.\n"


class Package(NamedTuple):
    """A package whose code is bundled."""

    name: str
    version: str
    license: str
    folder: Path


def main() -> None:
    """Writes the files."""
    page = [
        Package(each["name"], each["version"], each["license"], NODE_MODULES / each["name"])
        for each in json.loads(PACKAGES.read_text("utf-8"))
    ]
    kernel = [Package(*crate) for crate in bundled_crates()]
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "kernel.txt").write_text(texts("kernel", kernel), "utf-8")
    (FOLDER / "page.txt").write_text(texts("page", page), "utf-8")
    (FOLDER / "page.cyclonedx.json").write_text(bill_of_materials(page), "utf-8")


def texts(part: str, packages: Iterable[Package]) -> str:
    """Returns the list of packages, then each license once, below the packages that have it."""
    packages = list(packages)
    owners: dict[str, list[str]] = {}
    wording: dict[str, str] = {}
    for package in packages:
        for text in license_texts(package):
            key = " ".join(text.split())
            wording.setdefault(key, text)
            owners.setdefault(key, []).append(f"{package.name} {package.version}")
    lines = [INTRODUCTION.format(part)]
    lines += [f"{each.name} {each.version}: {each.license}" for each in packages]
    for key, names in owners.items():
        lines += ["", "-" * 79, *names, "-" * 79, "", wording[key]]
    return "\n".join(lines) + "\n"


def license_texts(package: Package) -> Iterator[str]:
    """Yields the texts of a package's licenses and notices; a package without any is a fault."""
    files = [each for each in package.folder.iterdir() if LICENSE_FILE.match(each.name)]
    if not files:
        raise SystemExit(f"{package.name} {package.version} has no file with its license")
    for file in sorted(files):
        lines = file.read_text("utf-8").splitlines()
        yield "\n".join(line.rstrip() for line in lines).strip("\n")


def bill_of_materials(packages: Iterable[Package]) -> str:
    """Returns the page's packages as CycloneDX 1.5, without a time, so that it is reproducible."""
    components = [
        {
            "type": "library",
            "bom-ref": (reference := f"pkg:npm/{quote(each.name)}@{each.version}"),
            "name": each.name,
            "version": each.version,
            "purl": reference,
            "licenses": [{"expression": each.license.strip("()")}],
        }
        for each in packages
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "anabranch-web"}},
        "components": components,
    }
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    main()
