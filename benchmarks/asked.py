"""What has to be asked of a process of its own: how much memory something takes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parents[1]


class Asked:
    """A process that runs a module of the benchmarks and prints one line of JSON."""

    def __init__(self, module: str, *words: str) -> None:
        self._process = subprocess.Popen(
            (sys.executable, "-m", module, *words), cwd=_ROOT, stdout=subprocess.PIPE
        )

    def answer(self) -> Any:
        """Wait for it, and give what it printed.

        :raises RuntimeError: it failed; what it said is on standard error.
        """
        said, _ = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError("a process of the benchmarks failed")
        return json.loads(said)
