"""The blocking side of the image worker: one child process, asked one thing at a time.

Everything here runs in a thread that may be given up on. So what decides is not the thread but the
process: killing it ends the read or the write that the thread waits in.
"""

from __future__ import annotations

import importlib.util
import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from deska_host import _image_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deska_sdk.images import Deflate
    from deska_sdk.limits import Limits

_LENGTH = _image_worker.LENGTH
_PIECE = 1 << 20
# What a bare Python needs to start: its libraries where they are not where the loader looks, and
# on Windows the system's own folder.
_ENVIRONMENT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


def worker_command(limits: Limits, deflate: Deflate = "auto") -> tuple[str, ...] | None:
    """The command line of ``_image_worker.py``; None where no Python can be started (frozen apps).

    ``-S`` besides ``-I``: no ``.pth`` file of the embedder's environment runs in there. The worker
    gets the folders of the few packages it imports instead.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    folders = [_folder_of(name) for name in ("deska_sdk", "attrs", "attr", "PIL")]
    if None in folders:
        return None
    # What makes it faster where it is there; not needed.
    folders.append(_folder_of("isal"))
    sdk, *needed = (str(folder) for folder in folders if folder is not None)
    numbers = (
        limits.decode_memory_bytes,
        math.ceil(limits.decode_seconds),
        limits.image_bytes,
        limits.image_pixels,
    )
    return (
        sys.executable,
        "-I",
        "-S",
        str(Path(_image_worker.__file__).resolve()),
        *map(str, numbers),
        deflate,
        sdk,
        *dict.fromkeys(str(Path(folder).parent) for folder in needed),
    )


def _folder_of(package: str) -> Path | None:
    found = importlib.util.find_spec(package)
    return None if found is None or found.origin is None else Path(found.origin).resolve().parent


@frozen
class Answer:
    """What the process says: a status, and the bytes that go with it."""

    status: int
    data: bytes = field(repr=False)


class Job:
    """One question to the process. ``answer`` stays None where none came that can be accepted."""

    def __init__(
        self,
        process: ImageProcess,
        request: Sequence[bytes],
        most: int,
        accept: Callable[[Answer], bool],
    ) -> None:
        self.request = request
        self.most = most
        self.accept = accept
        self.answer: Answer | None = None
        self.over = False
        self._process = process

    def run(self) -> None:
        """Asks, in this thread, until there is an answer or the process has ended."""
        self._process.run(self)

    def kill(self) -> None:
        """Gives the job up: ends the process if it works on this job, now or later."""
        self._process.give_up(self)


class ImageProcess:
    """A child process that is started when it is needed and ended when it is not.

    :param command: its command line; without one every job ends without an answer.
    :param idle_seconds: how long it may stay without a job.
    """

    def __init__(self, command: Sequence[str] | None, idle_seconds: float) -> None:
        self._command = command
        self._idle_seconds = idle_seconds
        # Held for as long as somebody talks to the child. Never taken on an event loop.
        self._talking = threading.Lock()
        # Guards the fields below; held for moments only.
        self._state = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._job: Job | None = None
        self._idle: threading.Timer | None = None

    def run(self, job: Job) -> None:
        """Carries a job out; see :meth:`Job.run`."""
        with self._talking:
            child = self._start(job)
            if child is None:
                job.over = True
                return
            answer = _exchange(child, job.request, job.most)
            sound = answer is not None and job.accept(answer)
            with self._state:
                self._job = None
                given_up, job.over = job.over, True
                job.answer = answer if sound else None
            if given_up or not sound:
                # Its state is unknown, so nothing else is decoded in it.
                self._reap()
            else:
                self._rest()

    def give_up(self, job: Job) -> None:
        """Ends the child if ``job`` is the one it works on, and lets ``job`` never start."""
        with self._state:
            job.over = True
            if self._job is job and self._child is not None:
                self._child.kill()

    def end(self) -> None:
        """Ends the child and leaves nothing of it. Waits for a job that still talks to it."""
        with self._state:
            idle, self._idle = self._idle, None
        if idle is not None:
            idle.cancel()
            idle.join()
        with self._talking:
            self._reap()

    def settle(self) -> None:
        """Waits until nobody talks to the child."""
        with self._talking:
            return

    def _start(self, job: Job) -> subprocess.Popen[bytes] | None:
        with self._state:
            if job.over or not self._command:
                return None
            if self._idle is not None:
                self._idle.cancel()
                self._idle = None
            if self._child is None:
                self._child = _started(self._command)
            self._job = job
            return self._child

    def _rest(self) -> None:
        timer = threading.Timer(self._idle_seconds, lambda: self._idled(timer))
        timer.name = "deska-image-worker-idle"
        timer.daemon = True
        with self._state:
            self._idle = timer
        timer.start()

    def _idled(self, timer: threading.Timer) -> None:
        with self._talking:
            with self._state:
                if self._idle is not timer:
                    return
                self._idle = None
            self._reap()

    def _reap(self) -> None:
        with self._state:
            child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()


def _started(command: Sequence[str]) -> subprocess.Popen[bytes] | None:
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    try:
        # A session of its own, so that Ctrl-C in a terminal reaches the host alone.
        child = subprocess.Popen(  # noqa: S603 - the embedder's or our own command, no shell
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            _widen(pipe.fileno())
    return child


def _widen(pipe: int) -> None:
    """Lets a pipe hold more where the system can, so that an image takes fewer turns to pass."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIECE)
    except (ImportError, AttributeError, OSError):
        # Not Linux, or this person's pipes hold as much as they may together already.
        return


def _exchange(child: subprocess.Popen[bytes], request: Sequence[bytes], most: int) -> Answer | None:
    """One frame to the child and one back; None where it ends first or breaks the frame.

    :param most: the most bytes of the answer, with its status.
    """
    if child.stdin is None or child.stdout is None:
        return None
    target, source = child.stdin.fileno(), child.stdout.fileno()
    head, *parts = request
    try:
        _write(target, sum(map(len, request)).to_bytes(_LENGTH, "big") + head)
        for part in parts:
            _write(target, part)
        length = int.from_bytes(_read(source, _LENGTH), "big")
        if not 1 <= length <= most:
            return None
        status = _read(source, 1)
        data = _read(source, length - 1)
    except OSError:
        return None
    return Answer(status[0], data) if len(status) + len(data) == length else None


def _write(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest[:_PIECE]) :]


def _read(source: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length and (part := os.read(source, min(length, _PIECE))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
