"""Makes a conda environment with py-rattler. The agent carries this program and runs it in a virtual environment that has py-rattler.

Reads one JSON object from standard input: prefix, platform, channels, specs, cache, alias, and for a lock `explicit`, a list of {name, url, sha256, channel}.
Writes lines for the build's log. The last line of a failure says why; Explain (src/environment/explain.cc) knows the ones that begin with "ferry: ".
"""
import asyncio
import datetime
import hashlib
import json
import os
import shutil
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import rattler
import rattler.package_streaming

# All channels together get this long to show that they are there.
PATIENCE_S = 20
CONNECT_S = 8


class Failure(Exception):
    pass


def say(text):
    print(text, flush=True)


def shown(url):
    """The address without user and password."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def make_channels(names, alias):
    config = rattler.ChannelConfig(channel_alias=alias) if alias else rattler.ChannelConfig()
    channels = []
    for name in names:
        # What conda calls "defaults" are several channels.
        for one in ["main", "r"] if name == "defaults" else [name]:
            channels.append(rattler.Channel(one, config))
    return channels


def why_not(url, platform):
    """None when something answers at the channel's address, else the reason."""
    reason = None
    for folder in ("noarch", platform):
        address = url.rstrip("/") + "/" + folder + "/repodata.json"
        parts = urllib.parse.urlsplit(address)
        if parts.scheme == "file":
            path = urllib.request.url2pathname(parts.path)
            if os.path.exists(path) or os.path.exists(path + ".zst"):
                return None
            reason = "there is no such folder"
            continue
        try:
            urllib.request.urlopen(urllib.request.Request(address + ".zst", method="HEAD"), timeout=CONNECT_S).close()
            return None
        except urllib.error.HTTPError as error:
            # Something answers. A gateway that cannot reach the channel does so in its stead.
            if error.code not in (502, 503, 504):
                return None
            reason = f"HTTP status {error.code}"
        except (OSError, ValueError) as error:
            return str(getattr(error, "reason", error)) or type(error).__name__
    return reason


def check_channels(channels, platform):
    reasons = {}

    def ask(channel):
        reasons[channel.base_url] = why_not(channel.base_url, platform)

    threads = [threading.Thread(target=ask, args=(channel,), daemon=True) for channel in channels]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    silent = []
    for channel in channels:
        reason = reasons.get(channel.base_url, f"no answer within {PATIENCE_S} s")
        if reason:
            silent.append(f"{shown(channel.base_url)} ({reason})")
    if silent and len(silent) == len(channels):
        raise Failure("ferry: no channel answers: " + ", ".join(silent))
    if silent:
        raise Failure("ferry: unreachable: the channel does not answer: " + ", ".join(silent))


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def fetch(url, folder):
    path = os.path.join(folder, os.path.basename(urllib.parse.urlsplit(url).path))
    request = urllib.request.Request(url, headers={"User-Agent": "ferry"})
    with urllib.request.urlopen(request, timeout=60) as response, open(path, "wb") as file:
        shutil.copyfileobj(response, file, 1 << 20)
    return path


def mismatch(name, expected, got):
    return Failure(f"ferry: hash mismatch: the hash of '{name}' is not the one it should have: expected sha256 {expected}, got {got}")


def hex_of(value):
    return value.hex() if isinstance(value, (bytes, bytearray)) else str(value or "")


def liar(records, only_files):
    """A failure for the first record whose package has another hash than the channel says."""
    for record in records:
        expected = hex_of(record.sha256)
        if not expected or (only_files and not record.url.startswith("file:")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                got = sha256_of(fetch(record.url, folder))
            except OSError:
                continue
        if got != expected:
            return mismatch(os.path.basename(urllib.parse.urlsplit(record.url).path), expected, got)
    return None


async def install(records, request):
    await rattler.install(records, target_prefix=request["prefix"], cache_dir=os.path.join(request["cache"], "packages"), show_progress=False)


async def solved(request):
    channels = make_channels(request["channels"], request["alias"])
    check_channels(channels, request["platform"])
    say("Solving with py-rattler " + getattr(rattler, "__version__", "") + ": " + ", ".join(shown(channel.base_url) for channel in channels))
    records = await rattler.solve(
        channels,
        # Lenient, as conda reads them: "numpy=1.20=py38_0" is good.
        [rattler.MatchSpec(spec, strict=False) for spec in request["specs"]],
        gateway=rattler.Gateway(cache_dir=os.path.join(request["cache"], "repodata")),
        platforms=[request["platform"], "noarch"],
        virtual_packages=rattler.VirtualPackage.detect(),
        timeout=datetime.timedelta(minutes=20),
    )
    for record in sorted(records, key=lambda one: one.name.normalized):
        say(f"  {record.name.normalized} {record.version} {record.build} {shown(record.channel)}")
    say(f"Installing {len(records)} packages")
    # py-rattler compares the hashes of what it fetches, but not of what lies on the disk.
    if lie := liar(records, only_files=True):
        raise lie
    try:
        await install(records, request)
    except Exception as error:
        raise liar(records, only_files=False) or error


async def explicit(request):
    """Installs exactly these packages: what they are is read from the packages themselves."""
    say(f"Installing {len(request['explicit'])} locked packages")
    records, origins = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for number, package in enumerate(request["explicit"]):
            own = os.path.join(folder, str(number))
            os.mkdir(own)
            try:
                path = fetch(package["url"], own)
            except OSError as error:
                raise Failure(f"ferry: unreachable: the locked package {shown(package['url'])} cannot be fetched: {getattr(error, 'reason', error)}")
            got = sha256_of(path)
            if package["sha256"] and package["sha256"] != got:
                raise mismatch(package["name"], package["sha256"], got)
            extracted = os.path.join(own, "content")
            rattler.package_streaming.extract(path, extracted)
            index = os.path.join(extracted, "info", "index.json")
            record = rattler.PackageRecord.from_index_json(index, size=os.path.getsize(path), sha256=got)
            shutil.rmtree(extracted)
            name = os.path.basename(path)
            records.append(rattler.RepoDataRecord(record, name, "file://" + urllib.request.pathname2url(path), package["channel"] or package["url"]))
            origins[record.name.normalized] = package
            say(f"  {record.name.normalized} {record.version} {record.build}")
        await install(records, request)
    # The records name the files they were installed from; they came from elsewhere.
    meta = os.path.join(request["prefix"], "conda-meta")
    for name in os.listdir(meta):
        path = os.path.join(meta, name)
        if not name.endswith(".json"):
            continue
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        origin = origins.get(record.get("name"))
        if origin:
            record.update(url=origin["url"], channel=origin["channel"])
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump(record, file, indent=2)
            os.replace(path + ".new", path)


async def work(request):
    status = 1
    try:
        await (explicit(request) if "explicit" in request else solved(request))
        status = 0
    except Failure as failure:
        say(str(failure))
    except Exception as error:
        for line in str(error).splitlines() or [type(error).__name__]:
            say(line)
        say(f"ferry: failed: {type(error).__name__}: " + " ".join(str(error).split()))
    # Threads of py-rattler may still run, and a Python that ends under them crashes.
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    socket.setdefaulttimeout(60)
    asyncio.run(work(json.load(sys.stdin)))
