"""Ctrl-C where it must not come in between."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def interrupted_later() -> Generator[None]:
    """Ctrl-C in this block comes at its end. For blocks that end soon by themselves.

    :raises KeyboardInterrupt: at the end, if it came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield None  # no other thread is interrupted
        return
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        pressed = True

    before = signal.signal(signal.SIGINT, press)
    try:
        yield None
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
