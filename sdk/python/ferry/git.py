"""What git says of a folder, as properties of a run."""

from __future__ import annotations

import os
from typing import Any


def git_facts(folder: Any) -> dict[str, str]:
    """Git facts of a folder under Azure's and MLflow's property names; the variables AZUREML_GIT_* win. Empty outside a repository."""
    get = os.environ.get
    address, branch = _without_credentials(get("AZUREML_GIT_REPOSITORY_URI", "")), get("AZUREML_GIT_BRANCH", "")
    commit, dirty = get("AZUREML_GIT_COMMIT", ""), get("AZUREML_GIT_DIRTY", "")
    if not (address and branch and commit and dirty) and _in_repository(folder):
        status = _git(folder, "--no-optional-locks", "status", "--porcelain=v2", "--branch", "--no-ahead-behind", ".")
        if status is not None:
            lines = status.splitlines()
            heads = {line.split(" ", 2)[1]: line.split(" ", 2)[2] for line in lines if line.startswith("# branch.") and line.count(" ") >= 2}
            oid, head = heads.get("branch.oid", ""), heads.get("branch.head", "")
            commit = commit or ("" if oid == "(initial)" else oid)
            branch = branch or ("" if head == "(detached)" else head)
            dirty = dirty or str(any(line and not line.startswith("#") for line in lines))
            if not address:
                told = (_git(folder, "ls-remote", "--get-url") or "").strip()
                address = "" if told == "origin" else _without_credentials(told)
    facts = {"azureml.git.repository_uri": address, "mlflow.source.git.repoURL": address, "azureml.git.branch": branch,
             "mlflow.source.git.branch": branch, "azureml.git.commit": commit, "mlflow.source.git.commit": commit,
             "azureml.git.dirty": dirty, "azureml.git.build_id": get("AZUREML_GIT_BUILD_ID", ""),
             "azureml.git.build_uri": get("AZUREML_GIT_BUILD_URI", "")}
    return {name: value for name, value in facts.items() if value}


def _in_repository(folder: Any) -> bool:
    if os.environ.get("GIT_DIR"):
        return True
    at = os.path.realpath(os.fsdecode(os.fspath(folder)))
    while True:
        if os.path.exists(os.path.join(at, ".git")):
            return True
        above = os.path.dirname(at)
        if above == at:
            return False
        at = above


def _git(folder: Any, *words: str) -> str | None:
    import subprocess

    try:
        done = subprocess.run(["git", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _without_credentials(address: str) -> str:
    scheme, found, rest = address.partition("://")
    if not found:
        return address
    end = min((at for at in (rest.find(c) for c in "/?#") if at >= 0), default=len(rest))
    authority, tail = rest[:end], rest[end:]
    user, at, host = authority.rpartition("@")
    if not at:
        return address
    # The name in "ssh://git@host" is part of the address; anywhere else it may be a token.
    kept = user.partition(":")[0] + "@" if scheme in ("ssh", "git+ssh") else ""
    return f"{scheme}://{kept}{host}{tail}"
