"""The images of a reply, saved to files for a person or a script (K-5)."""

from __future__ import annotations

import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from deska_host._commands.place import Stop
from deska_sdk import images

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deska_host.blobs import Image


@frozen
class Saved:
    """An image that was saved."""

    path: Path
    width: int
    height: int
    bytes: int

    def __str__(self) -> str:
        return f"{self.path} ({self.width} × {self.height} pixels, {self.bytes:,} bytes)"


class ImageFolder:
    """Saves images under new names; no file that is there is written to.

    :param path: the folder, made when the first image comes; ``None`` for a new temporary one.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._ready: Path | None = None

    def make(self) -> None:
        """Have the folder ready before anything is called.

        :raises Stop: there can be no such folder.
        """
        problem = ""
        try:
            self._folder()
        except OSError as error:
            problem = error.strerror or "it cannot be made"
        if problem:
            raise Stop(f"{self._path}: the folder for images cannot be made: {problem}")

    def save(self, replied: Iterable[Image], hear: Callable[[Saved], object]) -> None:
        """Save these, in their order, and tell ``hear`` of each as soon as it is.

        :raises Stop: one cannot be written. Those before it are there, and half of it is not.
        """
        problem = ""
        try:
            for image in replied:
                hear(self._save(image.data))
        except OSError as error:
            problem = error.strerror or "it cannot be written"
        if problem:
            where = self._path or tempfile.gettempdir()
            raise Stop(f"{where}: an image was not saved: {problem}")

    def _save(self, data: bytes) -> Saved:
        info = images.sniff(data)
        folder = self._folder()
        for number in count(1):
            path = folder / f"image-{number}.png"
            try:
                file = path.open("xb")
            except FileExistsError:
                continue
            try:
                with file:
                    file.write(data)
            except OSError:
                path.unlink(missing_ok=True)
                raise
            return Saved(path, info.width, info.height, len(data))
        raise AssertionError("there are always more numbers")

    def _folder(self) -> Path:
        if self._ready is None:
            if self._path is None:
                self._ready = Path(tempfile.mkdtemp(prefix="deska-images-"))
            else:
                self._path.mkdir(parents=True, exist_ok=True)
                self._ready = self._path
        return self._ready
