"""The checks before a release, and what belongs to its files: hashes, a list of components, twine's opinion.

`check` needs a clean checkout whose version has a section in the changelog. `finish` writes SHA256SUMS and the list of
components (CycloneDX) beside the sdist and the wheels in dist/. `make release` runs both, with all tests between them.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import re
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wheels import ROOT, date_of_the_source, environment, run

CORE = Path("LICENCES-core.md")
VENDOR = Path("src/tbq/server/static/vendor")
#: What a wheel contains -> the pinned tool that links it in.
LINKED = {"nanobind": "nanobind", "LLVM's libc++, libc++abi and libunwind": "ziglang"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("check", "finish"))
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    args = parser.parse_args()
    if args.step == "finish":
        finish(args.dist)
        return
    changes = run("git", "status", "--porcelain").splitlines()
    problems = [f"not committed: {change[3:]}" for change in changes]
    problems += problems_of(ROOT)
    if problems:
        sys.exit("\n".join(f"release: {problem}" for problem in problems))
    print(f"tbq {version(ROOT)} can be released")


def version(root: Path) -> str:
    """The version of the package: src/tbq/__init__.py is its only place."""
    found = re.search(
        r'^__version__ = "(.+)"$', (root / "src/tbq/__init__.py").read_text("utf-8"), re.MULTILINE
    )
    assert found, "src/tbq/__init__.py has no __version__"
    return found[1]


def problems_of(root: Path) -> list[str]:
    """Why this checkout cannot be released."""
    problems = [*licence_problems(root)]
    ours = version(root)
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", ours):
        problems.append(f"src/tbq/__init__.py: version {ours}, want MAJOR.MINOR.PATCH")
    headings = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    newest = headings[0] if headings else "none"
    if not re.fullmatch(rf"{re.escape(ours)} \(\d{{4}}-\d\d-\d\d\)", newest):
        problems.append(f"CHANGELOG.md: the newest section is '{newest}', want '{ours} (YYYY-MM-DD)'")
    return problems


def licence_problems(root: Path) -> Iterator[str]:
    """What the lists of licences lack, or say of another version than the one that is linked in."""
    pins = _pins(root)
    versions = {row["library"]: row["version of the wheels"] for row in rows(root / CORE)}
    for library, tool in LINKED.items():
        if pins[tool] not in versions.get(library, ""):
            yield f"{CORE}: {library} of '{versions.get(library)}', but wheels are built with {tool} {pins[tool]}"
    listed = {row["file"].strip("`") for row in rows(root / VENDOR / "LICENCES.md")}
    there = {path.name for path in (root / VENDOR).iterdir()} - {"LICENCES.md"}
    yield from (f"{VENDOR / 'LICENCES.md'}: {name} is not listed" for name in sorted(there - listed))
    yield from (f"{VENDOR / 'LICENCES.md'}: {name} does not exist" for name in sorted(listed - there))


def _project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


def _pins(root: Path) -> dict[str, str]:
    pinned = _project(root)["dependency-groups"]["release"]
    return {name.partition("[")[0]: pin for need in pinned for name, pin in [need.split("==")]}


def rows(page: Path) -> list[dict[str, str]]:
    """The rows of the first table of a Markdown page."""
    lines = [
        line for line in page.read_text("utf-8").split("\n\n## ")[0].splitlines() if line.startswith("|")
    ]
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, cells, strict=True)) for cells in body]


def components(root: Path) -> list[dict[str, Any]]:
    """What is inside a wheel, then what pip installs beside it."""
    pins = _pins(root)
    inside = {
        row["library"]: {"version": pins[LINKED[row["library"]]]} if row["library"] in LINKED else {}
        for row in rows(root / CORE)
    }
    inside["nanobind"]["purl"] = f"pkg:pypi/nanobind@{pins['nanobind']}"
    for row in rows(root / VENDOR / "LICENCES.md"):
        name = row["package"]
        inside[name] = {
            "version": row["version"],
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{row['version']}",
        }
    licences = {row["library"]: row["licence"] for row in rows(root / CORE)}
    licences |= {row["package"]: row["licence"] for row in rows(root / VENDOR / "LICENCES.md")}
    found: list[dict[str, Any]] = [
        {
            "type": "library",
            "bom-ref": name,
            "name": name,
            "scope": "required",
            "licenses": [
                {"expression": licences[name].split(",")[0].replace(" with the LLVM exception", _LLVM)}
            ],
            **facts,
        }
        for name, facts in inside.items()
    ]
    project = _project(root)["project"]
    needs = [("required", need) for need in project["dependencies"]]
    for extra, wanted in project["optional-dependencies"].items():
        needs += [("optional", need) for need in wanted if extra != "all" and not need.startswith("tbq[")]
    for scope, need in needs:
        name = re.split(r"[\[<>=]", need)[0].lower().replace("_", "-")
        if name not in {each["name"] for each in found}:
            found.append(
                {
                    "type": "library",
                    "bom-ref": name,
                    "name": name,
                    "scope": scope,
                    "purl": f"pkg:pypi/{name}",
                    "properties": [{"name": "requirement", "value": need}],
                }
            )
    return found


_LLVM = " WITH LLVM-exception"


def bill_of_materials(root: Path, files: list[Path], seconds: int) -> dict[str, Any]:
    """The list of components in CycloneDX's form: the same files give the same list."""
    name, ours = "tbq", version(root)
    hashes = {path.name: digest(path) for path in files}
    parts = components(root)
    when = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([ours, hashes]))}",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": name,
                "name": name,
                "version": ours,
                "purl": f"pkg:pypi/{name}@{ours}",
                "licenses": [{"expression": _project(root)["project"]["license"]}],
                "components": [
                    {"type": "file", "name": file, "hashes": [{"alg": "SHA-256", "content": content}]}
                    for file, content in hashes.items()
                ],
            },
        },
        "components": parts,
        "dependencies": [{"ref": name, "dependsOn": [each["bom-ref"] for each in parts]}],
    }


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def finish(dist: Path) -> None:
    """Check the files with twine, and write their hashes and their components beside them."""
    ours = version(ROOT)
    files = sorted([*dist.glob("*.tar.gz"), *dist.glob("*.whl")])
    others = [path.name for path in files if not re.match(rf"tbq-{re.escape(ours)}[.-]", path.name)]
    if others or not files:
        sys.exit(f"release: {dist} has {', '.join(others) or 'no files'}, want files of tbq {ours} only")
    python = environment(Path(sys.executable))
    run(python, "-m", "twine", "check", "--strict", *files)
    bill = dist / f"tbq-{ours}.cdx.json"
    content = bill_of_materials(ROOT, files, int(date_of_the_source()))
    bill.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    _validate(python, bill)
    lines = [f"{digest(path)}  {path.name}\n" for path in [*files, bill]]
    (dist / "SHA256SUMS").write_text("".join(lines), "utf-8")
    print("".join(lines), end="")
    print(
        f"twine agrees; {bill.name} is valid. To publish: push the tag v{ours} (.github/workflows/wheels.yml)."
    )


def _validate(python: Path, bill: Path) -> None:
    """Compare the list with CycloneDX's schema, by the library of its authors."""
    code = (
        "import sys\nfrom cyclonedx.schema import SchemaVersion\n"
        "from cyclonedx.validation.json import JsonStrictValidator\n"
        "wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1], encoding='utf-8').read())\n"
        "sys.exit(str(wrong) if wrong else 0)"
    )
    done = subprocess.run([python, "-c", code, bill], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"release: {bill.name} is not valid: {done.stderr[:2000]}")


if __name__ == "__main__":
    main()
