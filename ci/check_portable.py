"""Refuses packages that need a newer C library than they claim, other libraries, or that name folders of this machine. Called by ci/package.

Jars in wheels are looked into, and so are the libraries in them."""

import argparse
import io
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

from elftools.elf.elffile import ELFFile

# Each distribution has these (the list of manylinux, as far as we need it).
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# The newest symbols of the C++ library, which Arrow needs: also of that list.
GLIBCXX = (3, 4, 24)
ARCHITECTURES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


def members(name, content):
    """The files in an archive, and in those in it, with the path to each; what is no archive is itself."""
    if not name.endswith((".whl", ".jar")):
        yield name, content
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield from members(f"{name}: {member.filename}", archive.read(member))


class Check:
    def __init__(self, options):
        self.glibc = numbers(options.glibc)
        self.version = options.version
        self.forbidden = [str(folder).encode() for folder in options.forbidden]
        self.faults = []
        self.newest = (0,)
        self.seen = 0

    def file(self, name, content):
        self.seen += 1
        for folder in self.forbidden:
            at = content.find(folder)
            if at >= 0:
                self.faults.append(f"{name} names a folder of this machine: {content[at:at + 120].split(bytes(1))[0]!r}")
        if content[:4] == b"\x7fELF":
            self.library(name, ELFFile(io.BytesIO(content)))
        if name.endswith(".dist-info/METADATA"):
            self.metadata(name, Parser().parsestr(content.decode()))

    def library(self, name, elf):
        wheel = name.partition(".whl")[0]
        if wheel != name and not wheel.endswith(ARCHITECTURES.get(elf["e_machine"], "another architecture")):
            # Arrow brings its library for other systems, too, in a folder that says so.
            return
        dynamic = elf.get_section_by_name(".dynamic")
        if dynamic is None:
            self.faults.append(f"{name} is linked statically")
            return
        for tag in dynamic.iter_tags():
            if tag.entry.d_tag == "DT_NEEDED" and tag.needed not in LIBRARIES:
                self.faults.append(f"{name} needs {tag.needed}")
            if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                self.faults.append(f"{name} looks for libraries in folders of its own")
        needs = elf.get_section_by_name(".gnu.version_r")
        for needed, versions in needs.iter_versions() if needs else ():
            for version in versions:
                library, _, number = version.name.partition("_")
                if library == "GLIBC":
                    self.newest = max(self.newest, numbers(number))
                limit = {"GLIBC": self.glibc, "GLIBCXX": GLIBCXX}.get(library)
                if limit and numbers(number) > limit:
                    self.faults.append(f"{name} needs {version.name} of {needed.name}")

    def metadata(self, name, fields):
        if fields["Version"] != self.version:
            self.faults.append(f"{name}: version {fields['Version']}, not {self.version}")
        for requirement in fields.get_all("Requires-Dist", []):
            if requirement.startswith("fulgurite-spark") and not requirement.startswith(f"fulgurite-spark=={self.version}"):
                self.faults.append(f"{name}: {requirement}")


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--glibc", required=True, help="the newest version that may be needed")
    parser.add_argument("--version", required=True, help="of the packages")
    parser.add_argument("--forbidden", action="append", type=Path, default=[], help="a folder that may not be named")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    check = Check(options)
    for path in options.files:
        for name, content in members(path.name, path.read_bytes()):
            check.file(name, content)
    if check.faults:
        sys.exit("\n".join(check.faults))
    print(f"{check.seen} files: they need glibc {'.'.join(map(str, check.newest))} and name no folder of this machine")


if __name__ == "__main__":
    main()
