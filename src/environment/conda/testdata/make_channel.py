"""Makes a small conda channel for tests: make_channel.py FOLDER. Needs py-rattler, for its index.

python          this machine's /usr/bin/python3, in a prefix of its own
pip             Debian's wheel of pip
six-noarch      a noarch Python package in the versions 1.0 and 2.0, with a command
builds          version 1.0 as the builds plain_0 and special_1, with files that hold their prefix
needs-old       needs six-noarch <1.5
liar            its hash is not the one that the channel says
"""
import asyncio
import glob
import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
import zipfile

from rattler.index import index_fs

PLACEHOLDER = "/placeholder" + "_placehold" * 24
SUBDIR = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}[platform.machine()]


def package(channel, name, version, build="0", number=0, subdir=SUBDIR, depends=(), noarch=None, files=(), links=(), entry_points=()):
    """`files`: {path: bytes or (bytes, "text" or "binary")}, `links`: {path: target}."""
    paths, members = [], []
    for path, content in dict(files).items():
        content, mode = content if isinstance(content, tuple) else (content, None)
        record = {"_path": path, "path_type": "hardlink", "sha256": hashlib.sha256(content).hexdigest(), "size_in_bytes": len(content)}
        if mode:
            record.update(prefix_placeholder=PLACEHOLDER, file_mode=mode)
        paths.append(record)
        members.append((path, content))
    for path, target in dict(links).items():
        paths.append({"_path": path, "path_type": "softlink", "sha256": hashlib.sha256(b"").hexdigest(), "size_in_bytes": 0})
    index = {"name": name, "version": version, "build": build, "build_number": number, "depends": list(depends), "subdir": subdir}
    if noarch:
        index["noarch"] = noarch
        link = {"noarch": {"type": noarch, "entry_points": list(entry_points)}, "package_metadata_version": 1}
        members.append(("info/link.json", json.dumps(link).encode()))
    members.append(("info/index.json", json.dumps(index).encode()))
    members.append(("info/paths.json", json.dumps({"paths": paths, "paths_version": 1}).encode()))
    members.append(("info/files", "".join(one["_path"] + "\n" for one in paths).encode()))
    folder = os.path.join(channel, subdir)
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(os.path.join(folder, f"{name}-{version}-{build}.tar.bz2"), "w:bz2") as archive:
        for path, content in members:
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(content))
        for path, target in dict(links).items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)


def python_package(channel):
    version = subprocess.check_output(["/usr/bin/python3", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], text=True).strip()
    minor = ".".join(version.split(".")[:2])
    real = os.path.realpath("/usr/bin/python3")
    # With this file beside its link the machine's interpreter takes the prefix for its own.
    files = {"pyvenv.cfg": f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}\n".encode(), f"lib/python{minor}/site-packages/.keep": b""}
    links = {f"bin/python{minor}": real, "bin/python3": f"python{minor}", "bin/python": f"python{minor}"}
    package(channel, "python", version, "0_wrapped", files=files, links=links)


def pip_package(channel):
    wheel = glob.glob("/usr/share/python-wheels/pip-*.whl")[0]
    with zipfile.ZipFile(wheel) as archive:
        files = {"site-packages/" + name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    version = os.path.basename(wheel).split("-")[1]
    package(channel, "pip", version, "py_0", subdir="noarch", noarch="python", depends=["python"], files=files)


def metadata(name, version):
    folder = f"site-packages/{name.replace('-', '_')}-{version}.dist-info"
    return {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(), f"{folder}/INSTALLER": b"conda\n"}


def main(channel):
    python_package(channel)
    pip_package(channel)
    for version in ("1.0", "2.0"):
        module = f"version = {version!r}\ndef main():\n    print('six-noarch', version)\n".encode()
        package(channel, "six-noarch", version, "py_0", subdir="noarch", noarch="python", depends=["python"], entry_points=["six-noarch = six_noarch:main"],
                files={"site-packages/six_noarch.py": module, **metadata("six-noarch", version)})
    for number, build in enumerate(["plain_0", "special_1"]):
        program = b"\x7fELF\0" + PLACEHOLDER.encode() + b"/share/builds\0\0\0end"
        package(channel, "builds", "1.0", build, number,
                files={"share/builds/which": build.encode(), "share/builds/prefix": (PLACEHOLDER.encode() + b"/share\n", "text"), "share/builds/program": (program, "binary")})
    package(channel, "needs-old", "1.0", depends=["six-noarch <1.5"])
    package(channel, "liar", "1.0", files={"share/liar": b"something else\n"})
    asyncio.run(index_fs(channel, write_zst=False, write_shards=False))
    repodata = os.path.join(channel, SUBDIR, "repodata.json")
    with open(repodata) as file:
        index = json.load(file)
    index["packages"]["liar-1.0-0.tar.bz2"]["sha256"] = "0" * 64
    with open(repodata, "w") as file:
        json.dump(index, file)


if __name__ == "__main__":
    main(sys.argv[1])
