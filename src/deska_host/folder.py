"""Reading a file inside a task's folder, and never one outside it (I-1).

Example::

    from deska_host.folder import TaskFolder

    with TaskFolder("/home/ada/garden") as folder:
        data = folder.read("photos/bed.png")

The folder is held open by its descriptor. A path is walked from there one name at a time, no
name is ever opened through a link, and links are followed by hand. So what is read is reached
from the held folder by going down only, also while somebody swaps files, folders and links.

What this does not hold: a hard link and a bind mount inside the folder are read like any file
there, and a read from a network file system can take as long as that file system likes.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from deska_sdk.errors import AgentCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from types import TracebackType

#: How many links one path may go through; the Linux kernel allows as many.
_LINKS = 40

#: How many names one path may look at, links and the ways back to a parent counted. A path of
#: 4,096 characters has at most 2,048 names; only a path made to cost time needs more than this.
_STEPS = 20_000

#: Bytes asked from the system at once.
_CHUNK = 1_048_576

#: I-1: "A task folder under /proc or /dev is refused". Names there lead to other processes'
#: folders and to devices, and the kernel follows some of them without a link to be seen.
_SYSTEM_FOLDERS: Final = frozenset({b"proc", b"dev"})

#: Whether this system can walk from a descriptor without following links.
_CAN_WALK: bool = (
    {os.open, os.stat, os.readlink} <= os.supports_dir_fd
    and os.stat in os.supports_follow_symlinks
    and all(hasattr(os, flag) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY"))
)

# O_PATH asks for no right to list the folder, as an ordinary look-up does not either.
_FOLDER_FLAGS: int = (
    getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_PATH", os.O_RDONLY)
)
# O_NONBLOCK: what turned into a FIFO after the look at it must not hang the host.
_FILE_FLAGS: int = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
)

#: The errors that say "this is no longer what it was a moment ago": a link where a folder or a
#: file was, or the other way round.
_SWAPPED = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EINVAL, errno.EMLINK})


class TaskFolder:
    """One task's folder, held open until :meth:`close`.

    :param path: the folder, as the embedder knows it. Absolute paths and link targets count as
        inside when they start with this path or with what it resolves to (I-1).
    :param limits: ``image_path`` and ``image_bytes`` hold here.
    :raises ValueError: when the path is no folder that can be opened, lies under ``/proc`` or
        ``/dev`` as given or as resolved, or changed while it was opened.
    """

    def __init__(self, path: str | os.PathLike[str], *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._descriptor: int | None
        # The folder's path as given and as resolved.
        self._bases: list[list[bytes]]
        opened = _open_root(os.fsencode(path))
        # Raised out here so that no error of the system, which names the path, is its context.
        if isinstance(opened, str):
            raise ValueError(opened)  # noqa: TRY004 - a sentence, not a type
        self._descriptor, *self._bases = opened

    def __enter__(self) -> TaskFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder. A read that is under way ends as if nothing happened."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def read(self, path: str) -> bytes:
        """The bytes of the file at ``path``, at most ``image_bytes`` of them (I-1).

        Blocks while it reads; several threads may read at once.

        :param path: relative to the folder, or absolute inside it.
        :raises Refused: and nothing else, with one of these codes.
            ``image_outside_folder``: the path, or a link in it, leaves the folder, even where it
            comes back or leads to nothing.
            ``image_not_found``: nothing is there or may be looked at; the path is empty, has a
            NUL, a lone surrogate or a trailing slash, is over ``image_path`` code points, or
            goes through more than 40 links.
            ``image_unsupported``: a folder, a FIFO, a socket or a device is there, or a file
            that cannot be read; the folder is closed; or this system cannot walk safely.
            ``image_too_large``: the file has more than ``image_bytes``.
        """
        outcome = self._read(path)
        # Raised out here so that no error of the system, which names the path, is its context.
        if isinstance(outcome, AgentCode):
            raise Refused(outcome)
        return outcome

    def _read(self, path: str) -> bytes | AgentCode:
        if not path or "\0" in path or path.endswith("/") or len(path) > self._limits.image_path:
            return AgentCode.IMAGE_NOT_FOUND
        try:
            wanted = path.encode()
        except UnicodeEncodeError:
            return AgentCode.IMAGE_NOT_FOUND
        with self._lock:
            # The walk gets a descriptor of its own: after close() the number could name
            # another folder.
            if self._descriptor is None or not _CAN_WALK:
                return AgentCode.IMAGE_UNSUPPORTED
            try:
                root = os.dup(self._descriptor)
            except OSError:
                return AgentCode.IMAGE_UNSUPPORTED
        try:
            walk = _Walk(root, self._bases)
            try:
                found = walk.find(wanted)
            finally:
                walk.leave()
        finally:
            os.close(root)
        if isinstance(found, AgentCode):
            return found
        return _read_file(found, self._limits.image_bytes)


class _Walk:
    """One path's way from the root descriptor; it holds at most one folder more at a time.

    The place is kept as the names of real folders from the root down, so "above the root" is a
    fact about a list, and a parent is reached by going down again, never by asking for ``..``.
    """

    def __init__(self, root: int, bases: list[list[bytes]]) -> None:
        self._root = root
        self._bases = bases
        self._names: list[bytes] = []
        # The folder at ``_names``; None until it is needed.
        self._folder: int | None = root
        self._ahead: deque[bytes] = deque()
        self._links = 0
        self._steps = 0

    def leave(self) -> None:
        """Close the folder held, unless it is the root, which belongs to the caller."""
        folder, self._folder = self._folder, None
        if folder is not None and folder != self._root:
            os.close(folder)

    def find(self, path: bytes) -> int | AgentCode:
        """An open descriptor of the regular file at ``path``, or why there is none."""
        if not self._turn_to(path):
            return AgentCode.IMAGE_OUTSIDE_FOLDER
        while self._ahead:
            name = self._ahead.popleft()
            if name == b".":
                continue
            if name == b"..":
                if not self._names:
                    return AgentCode.IMAGE_OUTSIDE_FOLDER
                self.leave()
                self._names.pop()
                continue
            try:
                found = self._step(name)
            except OSError as error:
                if error.errno in _SWAPPED and self._again():
                    self._ahead.appendleft(name)
                    continue
                return self._stopped(AgentCode.IMAGE_NOT_FOUND)
            if isinstance(found, AgentCode):
                return self._stopped(found)
            if found is not None:
                return found
        return AgentCode.IMAGE_UNSUPPORTED

    def _step(self, name: bytes) -> int | AgentCode | None:
        """Go through one name; a descriptor when it was the last and is a file."""
        folder = self._open_place()
        self._spend()
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            target = os.readlink(name, dir_fd=folder)
            if not self._again():
                return AgentCode.IMAGE_NOT_FOUND
            return None if self._turn_to(target) else AgentCode.IMAGE_OUTSIDE_FOLDER
        if stat.S_ISDIR(kind):
            below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
            self.leave()
            self._folder = below
            self._names.append(name)
            return None
        if self._ahead:
            return AgentCode.IMAGE_NOT_FOUND
        if not stat.S_ISREG(kind):
            # Looked at but not opened: opening alone can make a device do something.
            return AgentCode.IMAGE_UNSUPPORTED
        return _open_file(name, folder)

    def _turn_to(self, path: bytes) -> bool:
        """Put ``path`` in front of what is ahead; False when it is absolute and outside."""
        names = _names(path)
        if path.startswith(b"/"):
            # "Absolute paths and link targets count as inside under the folder's given or
            # resolved path": what follows that prefix starts again at the held root.
            rests = (_below(names, base) for base in self._bases)
            rest = next((rest for rest in rests if rest is not None), None)
            if rest is None:
                return False
            self.leave()
            self._names.clear()
            names = rest
        if path.endswith(b"/"):
            # Only a folder may stand before a slash, and "." asks for just that.
            names.append(b".")
        self._ahead.extendleft(reversed(names))
        return True

    def _open_place(self) -> int:
        """The descriptor of the folder at ``_names``, opened again from the root if need be."""
        if self._folder is None:
            here = self._root
            for name in self._names:
                try:
                    self._spend()
                    below = os.open(name, _FOLDER_FLAGS, dir_fd=here)
                finally:
                    if here != self._root:
                        os.close(here)
                here = below
            self._folder = here
        return self._folder

    def _again(self) -> bool:
        """Count a link, or a name that was swapped under our eyes; False when it is too many."""
        self._links += 1
        return self._links <= _LINKS

    def _spend(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise OSError(errno.ENAMETOOLONG, "")

    def _stopped(self, code: AgentCode) -> AgentCode:
        """``code``, unless the names ahead leave the folder: that counts "whether or not the
        target exists" (I-1), so also behind a name that is not there."""
        if code is AgentCode.IMAGE_NOT_FOUND:
            depth = len(self._names) + 1
            for name in self._ahead:
                depth += -1 if name == b".." else 0 if name == b"." else 1
                if depth < 0:
                    return AgentCode.IMAGE_OUTSIDE_FOLDER
        return code


def _open_file(name: bytes, folder: int) -> int | AgentCode:
    """A descriptor of the regular file ``name``; an error of the swapping kind goes on up."""
    try:
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=folder)
    except OSError as error:
        # A socket or a device without a driver says ENXIO; it is there, and no image.
        if error.errno in _SWAPPED or error.errno == errno.ENOENT:
            raise
        return AgentCode.IMAGE_UNSUPPORTED
    return descriptor


def _read_file(descriptor: int, limit: int) -> bytes | AgentCode:
    """All bytes behind ``descriptor``, which is closed; at most ``limit``, whatever it claims."""
    try:
        return _read_all(descriptor, limit)
    except OSError:
        return AgentCode.IMAGE_UNSUPPORTED
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, limit: int) -> bytes | AgentCode:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return AgentCode.IMAGE_UNSUPPORTED
    if status.st_size > limit:
        return AgentCode.IMAGE_TOO_LARGE
    parts: list[bytes] = []
    room = limit + 1
    # One byte past the claimed size first: a file that kept its size is read in two calls.
    ask = min(status.st_size + 1, room)
    while ask and (part := os.read(descriptor, ask)):
        parts.append(part)
        room -= len(part)
        ask = min(_CHUNK, room)
    return b"".join(parts) if room else AgentCode.IMAGE_TOO_LARGE


def _open_root(path: bytes) -> tuple[int | None, list[bytes], list[bytes]] | str:
    """The descriptor to hold (None where none can be), the path's names as given and resolved.

    Or the sentence that says why not; it does not hold the path.
    """
    try:
        given = os.path.join(os.getcwdb(), path)  # noqa: PTH109, PTH118
        resolved = os.path.realpath(given, strict=True)
        bases = _plain(given), _plain(resolved)
        if any(names[:1] and names[0] in _SYSTEM_FOLDERS for names in bases):
            return "a task's folder cannot lie under /proc or /dev"
        if not _CAN_WALK and path and os.path.isdir(resolved):  # noqa: PTH112
            return None, *bases
        if not _CAN_WALK or not path:
            return "a task's folder must be a folder that can be opened"
        descriptor = os.open(resolved, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return "a task's folder must be a folder that can be opened"
    # Opened first, compared after: all reads start from the descriptor, so it must be the
    # folder that the person's path names.
    try:
        if os.path.samestat(os.fstat(descriptor), os.stat(given)):  # noqa: PTH116
            return descriptor, *bases
    except OSError:
        pass
    os.close(descriptor)
    return "the task's folder changed while it was opened"


def _names(path: bytes) -> list[bytes]:
    return [name for name in path.split(b"/") if name]


def _plain(path: bytes) -> list[bytes]:
    return [name for name in _names(path) if name != b"."]


def _below(names: list[bytes], base: list[bytes]) -> list[bytes] | None:
    """What of ``names`` comes after ``base``; None when they do not start with it."""
    matched = 0
    for position, name in enumerate(names):
        if matched == len(base):
            return names[position:]
        if name == b".":
            continue
        if name != base[matched]:
            return None
        matched += 1
    return [] if matched == len(base) else None
