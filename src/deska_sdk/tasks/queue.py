"""What waits for a task, in order. A panel's message is nobody's to change (O-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, field, frozen

from deska_sdk._words import Word
from deska_sdk.errors import PersonCode

if TYPE_CHECKING:
    from deska_sdk.handles import ImageHandle


class Sender(Word):
    """Whose message it is."""

    PERSON = "person"
    PANEL = "panel"
    OTHER = "other"


@frozen
class Message:
    """A message that starts a turn. A panel's is fenced already, and marked as the panel's."""

    id: str
    text: str = field(repr=False)
    sender: Sender = Sender.PERSON
    images: tuple[ImageHandle, ...] = ()
    #: The panel's id and folded name, for a panel's message.
    panel: str = ""
    panel_name: str = field(default="", repr=False)


class Queue:
    """The waiting messages of one task."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def __len__(self) -> int:
        return len(self._messages)

    def messages(self) -> tuple[Message, ...]:
        """All that wait, the next first."""
        return tuple(self._messages)

    @property
    def front(self) -> Message | None:
        """The message whose turn is next."""
        return self._messages[0] if self._messages else None

    def append(self, message: Message) -> None:
        """Let a message wait behind all others."""
        self._messages.append(message)

    def push_front(self, message: Message) -> None:
        """Let a message be the next."""
        self._messages.insert(0, message)

    def find(self, message_id: str) -> Message | None:
        """The waiting message with this id."""
        return next((one for one in self._messages if one.id == message_id), None)

    def take(self, message_id: str) -> Message | None:
        """Take a message out."""
        message = self.find(message_id)
        if message is not None:
            self._messages.remove(message)
        return message

    def may_change(self, message_id: str) -> PersonCode | None:
        """Why the person may not steer or edit this message, if so (O-4)."""
        message = self.find(message_id)
        if message is None:
            return PersonCode.UNKNOWN_MESSAGE
        return PersonCode.PANEL_MESSAGE if message.sender is Sender.PANEL else None

    def edit(self, message_id: str, text: str) -> PersonCode | None:
        """Let a message say ``text``; the code is why not."""
        refused = self.may_change(message_id)
        if refused is None:
            self._messages = [
                evolve(one, text=text) if one.id == message_id else one for one in self._messages
            ]
        return refused

    def clear(self) -> tuple[Message, ...]:
        """Take everything out."""
        messages, self._messages = self.messages(), []
        return messages
