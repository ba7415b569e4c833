"""Files that the command line writes: whole or not at all, and on the disk when it says so."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path
from stat import S_IMODE


def write_whole(path: Path, data: bytes) -> None:
    """Put ``data`` into the file at ``path``; whoever reads it finds the old bytes or the new ones.

    A link is followed, and a file that is there keeps its permissions. What is no file, such as a
    device, is not replaced by one. When this returns, the new bytes outlive a crash of the machine.

    :raises OSError: it could not be written; what was there is still there.
    """
    place = Path(os.path.realpath(path))
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    if os.path.lexists(place) and not place.is_file():
        raise OSError(errno.EINVAL, "this is there, and is no file", str(path))
    mode = S_IMODE(place.stat().st_mode) if place.exists() else None
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                draft.chmod(mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    _sync_folder(place.parent)


def _sync_folder(folder: Path) -> None:
    """Make the name of a file durable too, where a folder can be opened for that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
