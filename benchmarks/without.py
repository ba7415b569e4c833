"""What has to be asked of a process of its own, and of one without the libraries of ``[speed]``.

A host takes the quickest codec that is there, so what a whole call costs without the extra is asked
of a process in which its libraries cannot be imported, as most users' are. Peers are measured there
too, in the same rounds, so its ratios are of one run.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]
_SPEED: Final = ("msgspec", "orjson", "isal")


class Asked:
    """A process that runs a module of the benchmarks and prints one line of JSON."""

    def __init__(self, module: str, *words: str, speed: bool) -> None:
        starter = (module,) if speed else ("benchmarks.without", module)
        self._process = subprocess.Popen(
            (sys.executable, "-m", *starter, *words), cwd=_ROOT, stdout=subprocess.PIPE
        )

    def answer(self) -> Any:
        """Wait for it, and give what it printed.

        :raises RuntimeError: it failed; what it said is on standard error.
        """
        said, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError("a process of the benchmarks failed")
        return json.loads(said)


def main() -> None:
    """Run the module that the command line names, without the libraries."""
    for name in _SPEED:
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it is an ImportError
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
