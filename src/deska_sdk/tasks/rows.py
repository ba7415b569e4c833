"""The host's sentences in a task's rows (S-2, S-6). Panel names come in folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def joined(names: Sequence[str]) -> str:
    """``A``, ``A and B``, ``A, B and C``."""
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def paused(names: Sequence[str]) -> str:
    """Content of these panels is in the turn (S-2)."""
    return (
        f"{joined(names)} sent content into this turn, "
        "so this task is in Supervised until the turn ends."
    )


def back(names: Sequence[str], mode: str) -> str:
    """The turn is over and the mode from before is back (S-2)."""
    return (
        f"The turn is over, so this task is back to {mode}. The content {joined(names)} sent is "
        "still in this conversation, and later turns can read it."
    )


def stays(mode: str) -> str:
    """The mode from before could not be put back (S-1)."""
    return f"This task could not be put back to {mode}, so it stays in Supervised."


def unsure(mode: str) -> str:
    """A switch to Supervised was cut short, and could not be taken back (S-1)."""
    return (
        f"This task was about to be put into Supervised, and could not be put back to {mode}. "
        "It counts as Supervised now, but check its mode before you go on."
    )


def restarted() -> str:
    """The host ended, or only the task left, while it was paused (S-6)."""
    return (
        "This task was paused for a panel's content when it was last here, "
        "so it stays in Supervised until you change it."
    )


def not_recovered() -> str:
    """A task that was paused when it was last here could not be put into Supervised (S-6)."""
    return (
        "This task was paused for a panel's content when it was last here, and it could not be "
        "put into Supervised again. Check its mode before you go on."
    )


def not_sent(name: str) -> str:
    """A panel's message could not start its turn (S-1, O-4)."""
    return (
        f"What {name} sent is still waiting: this task could not be put into Supervised first. "
        "It is tried again when the next turn ends."
    )
