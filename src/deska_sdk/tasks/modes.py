"""The modes a task can run in, in order: how much an agent may do without asking (S-5)."""

from __future__ import annotations

from attrs import field, frozen


@frozen
class Mode:
    """One mode: an id for programs, and the label that rows show."""

    id: str
    label: str


def _are_modes(_instance: object, _attribute: object, modes: tuple[Mode, ...]) -> None:
    if not modes or len({mode.id for mode in modes}) != len(modes):
        raise ValueError("there is at least one mode, and each has an id of its own")


@frozen
class Modes:
    """The modes of an embedding, strictest first. The first is Supervised: the agent asks.

    :raises ValueError: there is none, or two have the same id.
    """

    modes: tuple[Mode, ...] = field(validator=_are_modes)

    @property
    def supervised(self) -> str:
        """The id of the strictest mode."""
        return self.modes[0].id

    def __contains__(self, mode: object) -> bool:
        return any(known.id == mode for known in self.modes)

    def looser(self, mode: str, other: str) -> bool:
        """Whether ``mode`` asks less than ``other``."""
        ids = [known.id for known in self.modes]
        return ids.index(mode) > ids.index(other)

    def label(self, mode: str) -> str:
        """What rows call the mode."""
        return next(known.label for known in self.modes if known.id == mode)


DEFAULT_MODES = Modes(
    (
        Mode("supervised", "Supervised"),
        Mode("accept_edits", "Accept edits"),
        Mode("automatic", "Automatic"),
    )
)
