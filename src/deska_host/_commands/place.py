"""Which files a command works with: the task's folder, and the desk that goes with it (K-1).

::

    place = find_place(Path("work/garden"), None)
    place.desk   # ~/.local/state/deska/desks/3f0c….db

What a desk keeps decides what an agent may do: to which panels the person agreed, what pages keep.
So it stands outside the task's folder, in which the agent may write.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

from attrs import frozen

from deska_sdk.errors import DeskaError


class Stop(DeskaError):
    """A command cannot do what it was asked for; ``sentence`` says why, and what to do."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        super().__init__(sentence)


@frozen
class Place:
    """Where a command works."""

    #: The task's folder, without links in its path.
    folder: Path
    #: The task's id on the desk: one desk may be used for several folders.
    task: str
    #: The file that keeps everything.
    desk: Path
    #: Where the history of ``deska try`` may stand; ``None`` where nowhere is right.
    state: Path | None


def find_place(task: Path, desk: Path | None) -> Place:
    """Where to work for the task in the folder ``task``, with the desk in the file ``desk``.

    Without one it is a file of the user's state folder, which is made where it is missing.

    :raises Stop: there is no such folder, or the desk cannot stand where it would.
    """
    folder = _folder(task)
    name = sha256(os.fsencode(folder)).hexdigest()[:32]
    state = _state_folder()
    if desk is not None:
        file = Path(os.path.realpath(desk.absolute().parent)) / desk.name
        if not file.parent.is_dir():
            raise Stop(f"{desk}: there is no such folder for the desk's file")
    elif state is None:
        raise Stop("there is no home folder to keep the desk in; choose a file with --desk FILE")
    else:
        file = state / "desks" / f"{name}.db"
    if is_inside(file.parent, folder):
        raise Stop(
            f"{file}: the desk's file cannot stand inside the task's folder, where the task's "
            "agent could write to it; choose another with --desk FILE"
        )
    if desk is None and state is not None:
        _make(state)
        _make(file.parent)
    outside = state if state is not None and not is_inside(state, folder) else None
    return Place(folder, f"task-{name}", file, outside)


def _folder(task: Path) -> Path:
    try:
        folder = task.resolve(strict=True)
    except (OSError, RuntimeError):
        folder = None
    if folder is None or not folder.is_dir():
        raise Stop(f"{task}: there is no such folder for the task")
    return folder


def _state_folder() -> Path | None:
    """``deska`` in the user's state folder, whether it is there or not; its path has no links."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # A relative path is to be ignored, says who made this variable up.
    if os.path.isabs(given):  # noqa: PTH117 - the text itself, also where it is no path
        base = Path(given)
    else:
        try:
            home = Path.home()
        except RuntimeError:
            return None
        # Of an empty HOME Python makes the root; a relative one is another place for each folder.
        if not home.is_absolute() or os.environ.get("HOME") == "":
            return None
        base = home / ".local" / "state"
    return Path(os.path.realpath(base / "deska"))


def is_inside(path: Path, folder: Path) -> bool:
    """Whether ``path``, which need not be there yet, is the folder or stands below it.

    Compared by what the folders are, not by how they are called: a file system may know one
    folder by several names.
    """
    return any(above.exists() and above.samefile(folder) for above in (path, *path.parents))


def _make(folder: Path) -> None:
    problem = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        problem = error.strerror
    if problem is not None:
        raise Stop(
            f"{folder}: the folder for desks cannot be made ({problem}); "
            "choose a file with --desk FILE"
        )
