"""``python -m deska_host`` is the command ``deska``."""

from __future__ import annotations

import sys

from deska_host.cli import main

sys.exit(main())
