"""The papers of a release: its parts (CycloneDX), how it was built (in-toto, SLSA), and its hashes."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import uuid
from datetime import UTC, datetime
from email.parser import HeaderParser
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from release.building import Built
from release.contents import members
from release.running import run

#: Names what follows from a distribution's name, for the identifiers of a bill.
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_OID, "coldfork")
BUILD_TYPE = "urn:coldfork:dev-release:1"


def write(work: Path, checkout: Path, built: Built, version: str, resolved: dict[str, str]) -> list[Path]:
    """Write the papers of a release and return their files."""
    commit, moment = run(["git", "log", "-1", "--format=%H %ct"], checkout).split()
    made = datetime.fromtimestamp(int(moment), UTC).isoformat().replace("+00:00", "Z")
    tools = {name: version_of(name) for name in ("hatchling", "auditwheel")}
    papers = {
        f"coldfork-{version}.cdx.json": bill(built.universal, version, resolved, made),
        f"coldfork-{version}.intoto.json": provenance(built.all, commit, tools),
    }
    written = []
    for name, document in papers.items():
        path = work / name
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        written.append(path)
    sums = work / "SHA256SUMS"
    lines = [f"{sha256(path)}  {path.name}\n" for path in [*built.all, *written]]
    sums.write_text("".join(lines), encoding="utf-8")
    return [*written, sums]


def bill(wheel: Path, version: str, resolved: dict[str, str], made: str) -> dict[str, Any]:
    """A software bill of materials (CycloneDX 1.6): coldfork, and what pip installed with it."""
    metadata = metadata_of(wheel)
    needed = sorted(
        _normal(match[0])
        for line in metadata.get_all("Requires-Dist") or []
        if "extra ==" not in line and (match := re.match(r"[A-Za-z0-9._-]+", line))
    )
    own = f"pkg:pypi/coldfork@{version}"
    parts = {_normal(name): f"pkg:pypi/{_normal(name)}@{number}" for name, number in resolved.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, sha256(wheel))}",
        "version": 1,
        "metadata": {
            "timestamp": made,
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "coldfork",
                "version": version,
                "description": metadata["Summary"],
                "licenses": [{"license": {"id": metadata["License-Expression"]}}],
                "purl": own,
                "hashes": [{"alg": "SHA-256", "content": sha256(wheel)}],
            },
        },
        "components": [
            {"type": "library", "bom-ref": url, "name": name, "version": url.rpartition("@")[2], "purl": url}
            for name, url in parts.items()
        ],
        # Of what a dependency needs itself the bill says nothing, which is not the same as nothing.
        "dependencies": [{"ref": own, "dependsOn": [parts[name] for name in needed]}],
        "compositions": [{"aggregate": "complete", "assemblies": [own]}],
    }


def provenance(artifacts: list[Path], commit: str, tools: dict[str, str]) -> dict[str, Any]:
    """How the artifacts were built, as an in-toto statement. Who publishes them signs it."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": {"sha256": sha256(path)}} for path in artifacts],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"command": "./dev release"},
                "internalParameters": {"system": platform.system(), "machine": platform.machine()},
                "resolvedDependencies": [
                    {"name": "coldfork", "digest": {"gitCommit": commit}},
                    *({"uri": f"pkg:pypi/{name}@{number}"} for name, number in tools.items()),
                ],
            },
            "runDetails": {"builder": {"id": f"{BUILD_TYPE}:maintainer"}},
        },
    }


def metadata_of(wheel: Path) -> Any:
    """The metadata of a wheel, by their names."""
    text = next(data for name, data in members(wheel) if name.endswith(".dist-info/METADATA"))
    return HeaderParser().parsestr(text.decode())


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
