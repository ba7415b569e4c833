"""How a command comes by the person's yes to a sheet (K-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TextIO

import anyio
from attrs import frozen

from deska_host._commands.place import Stop

if TYPE_CHECKING:
    from deska_host._commands.terminal import Terminal
    from deska_sdk.panels.consent import Sheet


class Consent(Protocol):
    """Says whether the person agrees to a sheet that they have not agreed to before."""

    async def agrees(self, sheet: Sheet) -> bool:
        """True if they do, false if they said no.

        :raises Stop: they cannot be asked.
        """
        ...


@frozen
class Given:
    """``--yes``: the person has agreed beforehand to whatever the sheets say."""

    out: Terminal

    async def agrees(self, sheet: Sheet) -> bool:
        """Yes, and what that was said to."""
        names = ", ".join(action.name for action in sheet.actions)
        self.out.line(f"--yes agrees to “{sheet.name}” ({sheet.panel}) with {names}.")
        return True


@frozen
class Asked:
    """The person at the terminal is shown the sheet and asked.

    :param note: what the person has to know besides, where the command was told to do other than
        the sheet says.
    """

    out: Terminal
    stdin: TextIO
    note: str = ""

    async def agrees(self, sheet: Sheet) -> bool:
        """Whether they answered ``y`` or ``yes``; no answer is no."""
        self.out.sheet(sheet.text)
        if self.note:
            self.out.line(self.note, style="warn")
        self.out.ask(f"Connect {sheet.panel}? Type y for yes, anything else for no:")
        # Not in a thread: a person who gives up with Ctrl-C need not press Enter first.
        try:
            await anyio.wait_readable(self.stdin)
        except anyio.get_cancelled_exc_class():
            self.out.line()  # whatever comes next has its own line
            raise
        return self.stdin.readline().strip().lower() in ("y", "yes")


@frozen
class NotAsked:
    """Nobody can be asked; ``how`` says how the yes can be given all the same."""

    how: str

    async def agrees(self, sheet: Sheet) -> bool:
        """Never.

        :raises Stop: always.
        """
        raise Stop(
            f"the person has not agreed to what the panel {sheet.panel} offers now, and cannot be "
            f"asked here; {self.how}"
        )


def consent_of(
    *, yes: bool, out: Terminal, shown: TextIO, stdin: TextIO | None, how: str, note: str = ""
) -> Consent:
    """What a command asks for the person's yes.

    :param yes: whether ``--yes`` was given.
    :param shown: the stream of ``out``.
    :param stdin: where an answer can come from; ``None`` where it is used for something else.
    :param how: what to do where the person cannot be asked.
    """
    if yes:
        return Given(out)
    if stdin is not None and stdin.isatty() and shown.isatty():
        return Asked(out, stdin, note)
    return NotAsked(how)
