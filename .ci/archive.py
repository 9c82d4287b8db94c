"""Packs the program for release: the binary, the licences of everything in it, and a list of its components.

    python3 .ci/archive.py BINARY OUT.tar.gz      packs (cargo metadata is read from the current folder)
    python3 .ci/archive.py --licences CRATE OUT   writes the licence texts of what is linked into a crate
    python3 .ci/archive.py --check                checks that every dependency has a licence text and a valid entry

The same sources give the same bytes: entries are sorted, and have no times or owners.
"""

import gzip
import io
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

TEXTS = ("license", "licence", "copying", "notice", "unlicense")


def packages(root: str = "tamis-cli") -> list[dict]:
    """The packages that are linked into the program, by name and version; the program itself is the first."""
    host = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = next(line.split()[1] for line in host.splitlines() if line.startswith("host:"))
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    by_id = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    first = next(package["id"] for package in metadata["packages"] if package["name"] == root)
    found, open_ids = {first}, [first]
    while open_ids:
        for dependency in nodes[open_ids.pop()]["deps"]:
            is_linked = any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])
            if is_linked and dependency["pkg"] not in found:
                found.add(dependency["pkg"])
                open_ids.append(dependency["pkg"])
    rest = sorted((by_id[one] for one in found - {first}), key=lambda one: (one["name"], one["version"]))
    return [by_id[first], *rest]


def licence_files(package: dict) -> list[Path]:
    """The licence texts of a package, in its folder."""
    folder = Path(package["manifest_path"]).parent
    files = [path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(TEXTS)]
    return sorted(files)


def is_foreign(package: dict) -> bool:
    return package["source"] is not None


def licences(all_packages: list[dict]) -> str:
    """The licence texts of all dependencies; equal texts stand once."""
    holders: dict[str, list[str]] = {}
    for package in filter(is_foreign, all_packages):
        name = f"{package['name']} {package['version']} ({package['license'] or 'see its text'})"
        texts = [path.read_text("utf-8", "replace").strip() for path in licence_files(package)]
        for text in texts or [f"No text is in the package. Authors: {', '.join(package['authors']) or 'see its repository'}."]:
            holders.setdefault(text, []).append(name)
    parts = ["\n".join(names) + "\n\n" + text for text, names in holders.items()]
    return ("\n\n" + "-" * 80 + "\n\n").join(parts) + "\n"


def components(all_packages: list[dict]) -> str:
    """The software bill of materials, as CycloneDX JSON."""

    def component(package: dict, kind: str) -> dict:
        found = {
            "type": kind,
            "name": package["name"],
            "version": package["version"],
            "purl": f"pkg:cargo/{package['name']}@{package['version']}",
        }
        if package["license"]:
            found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        return found

    program, *rest = all_packages
    listed = [component(package, "library") for package in rest]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(program, "application")},
        "components": listed,
    }
    return json.dumps(bill, indent=1, sort_keys=True) + "\n"


def check_bill(bill: dict) -> None:
    """The rules of CycloneDX 1.5 for what the bill holds: required fields, known kinds, no entry twice."""
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5") and bill["version"] >= 1
    listed = [bill["metadata"]["component"], *bill["components"]]
    for one in listed:
        assert one["type"] in ("application", "library") and one["name"] and one["version"], one
        assert one["purl"] == f"pkg:cargo/{one['name']}@{one['version']}", one
        (licence,) = one["licenses"]
        # An SPDX expression: identifiers, joined by operators and in brackets that match.
        words = licence["expression"].replace("(", " ( ").replace(")", " ) ").split()
        operators = ("AND", "OR", "WITH", "(", ")")
        assert all(word in operators or re.fullmatch(r"[A-Za-z0-9.+-]+", word) for word in words), licence
        assert words.count("(") == words.count(")") and words[-1] not in operators[:4], licence
    assert len({one["purl"] for one in listed}) == len(listed), "a component comes twice"


def contents(binary: Path | None) -> dict[str, bytes]:
    all_packages = packages()
    texts = {
        "THIRD-PARTY-LICENSES.txt": licences(all_packages),
        "sbom.cdx.json": components(all_packages),
        **{name: Path(name).read_text("utf-8") for name in ("LICENSE-MIT", "LICENSE-APACHE", "README.md", "SECURITY.md")},
    }
    files = {name: text.encode() for name, text in texts.items()}
    if binary is not None:
        files["tamis"] = binary.read_bytes()
    return files


def pack(binary: Path, out: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(contents(binary).items()):
            entry = tarfile.TarInfo(f"tamis/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o755 if name == "tamis" else 0o644, 0
            archive.addfile(entry, io.BytesIO(content))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def check() -> None:
    all_packages = packages()
    foreign = [package for package in all_packages if is_foreign(package)]
    assert len(foreign) > 50, "the program has dependencies"
    unlicensed = [package["name"] for package in foreign if not (package["license"] or licence_files(package))]
    assert not unlicensed, f"without a licence: {unlicensed}"
    bill = json.loads(components(all_packages))
    check_bill(bill)
    names = {one["name"] for one in bill["components"]}
    missing = [package["name"] for package in foreign if package["name"] not in names]
    assert not missing, f"not in the list of components: {missing}"
    text = licences(all_packages)
    unnamed = [package["name"] for package in foreign if f"{package['name']} {package['version']} (" not in text]
    assert not unnamed, f"without a licence text or authors: {unnamed}"
    assert contents(None) == contents(None), "the same sources give the same bytes"
    print(f"{len(foreign)} dependencies: licence texts and components are complete")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--licences", crate, out]:
            Path(out).write_text(licences(packages(crate)), "utf-8")
        case ["--check"]:
            check()
        case [binary, out]:
            pack(Path(binary), Path(out))
        case _:
            sys.exit(__doc__)
