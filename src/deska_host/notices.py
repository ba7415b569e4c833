"""What an embedder is told about, without a word of an agent or a page (B-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deska_sdk.router import Notice, Notify

if TYPE_CHECKING:
    from collections.abc import Callable

    from deska_host.engine import Engine


class Notices:
    """Brings notices to who listens."""

    def __init__(self) -> None:
        #: By subscription: one function may be subscribed more than once.
        self._listeners: dict[object, Callable[[Notice], None]] = {}
        self._engine: Engine | None = None

    def connect(self, engine: Engine) -> None:
        """Take the engine's notices from now on."""
        self._engine = engine
        self._listening()
        engine.perform(Notify, lambda effect: self.publish(effect.notice))

    def subscribe(self, listener: Callable[[Notice], None]) -> Callable[[], None]:
        """Call ``listener`` with every notice; the returned function ends that."""
        subscription = object()
        self._listeners[subscription] = listener
        self._listening()

        def unsubscribe() -> None:
            self._listeners.pop(subscription, None)
            self._listening()

        return unsubscribe

    def _listening(self) -> None:
        if self._engine is not None:
            self._engine.router.notifying = bool(self._listeners)

    def publish(self, notice: Notice) -> None:
        """Tell everyone, once what the notice is about is done."""
        if self._engine is not None and self._listeners:
            self._engine.after(lambda: self._tell(notice))

    def _tell(self, notice: Notice) -> None:
        """Tell everyone.

        :raises Exception: what a listener raised, the first; all others were told.
        """
        failed: Exception | None = None
        for subscription, listener in tuple(self._listeners.items()):
            if subscription not in self._listeners:
                # Another listener ended it just now.
                continue
            try:
                listener(notice)
            except Exception as error:  # noqa: BLE001 - raised below, when all were told
                failed = failed or error
        if failed is not None:
            raise failed
