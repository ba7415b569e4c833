"""The arguments of the commands, read in one way."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from deska_host._commands.interrupts import interrupted_later
from deska_sdk.text import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence


class Arguments(argparse.ArgumentParser):
    """A command's parser.

    Options may stand before, between and behind what they belong to: ``deska call nook --task .
    add_note`` is as good as any other order. What is wrong is told without a control of the
    terminal in it (K-13).
    """

    def read(self, argv: Sequence[str]) -> argparse.Namespace:
        """What ``argv`` says.

        :raises SystemExit: it says too little or too much, which was told; or it asked for help.
        :raises KeyboardInterrupt: Ctrl-C.
        """
        # What argparse changes meanwhile, and puts back, it puts back only when it came so far.
        with interrupted_later():
            return self.parse_intermixed_args(argv)

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong, and end with status 2."""
        super().error(escape_invisible(message))
