"""The process that decodes images: the only place where hostile bytes meet a decoder (I-6).

It is started as a bare script, ``python -I -S _image_worker.py LIMITS... DEFLATE SDK FOLDERS...``,
and speaks over its standard input and output, both ways in frames: four bytes of length, then that
many bytes. Nothing is pickled.

* A request is one byte of operation, four bytes of ``max_side``, three bytes of background colour,
  then the image. Numbers are big-endian.
* An answer is one byte of status, then, for a picture that was re-encoded, the PNG.

It ends when its input ends. What goes wrong with one image is a status, or the end of the process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from importlib import import_module
from operator import itemgetter
from queue import SimpleQueue
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

VERIFY, TO_PNG = 1, 2
DONE, UNSUPPORTED, TOO_LARGE = 0, 1, 2
HEAD = 8
LENGTH = 4

_OPEN_FILES = 16
# One picture at a time, by two threads: more would take the whole of a person's computer.
_HANDS = 2
_STACK = 1 << 19
# Allocators set address space aside for each thread, 64 MB on Linux. Where little is allowed, the
# main thread works alone, and the picture has it all.
_ROOM_FOR_HANDS = 1 << 29
_DECODERS = (
    "PIL.ImageChops",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.WebPImagePlugin",
)


def main(arguments: list[str]) -> None:
    """Answers requests until the input ends.

    :param arguments: most memory (bytes), most seconds of one image, most bytes and most pixels of
        an image, what deflates, the folder of ``deska_sdk``, then the folders its imports are
        found in.
    """
    memory, seconds, image_bytes, image_pixels = map(int, arguments[:4])
    _find_modules(arguments[5], arguments[6:])
    requests, answers = os.dup(0), os.dup(1)
    # A library that prints must not write into an answer.
    os.dup2(2, 1)

    from attrs import evolve
    from PIL import Image

    from deska_sdk import images
    from deska_sdk.errors import AgentCode, Refused
    from deska_sdk.images._deflate import deflater
    from deska_sdk.limits import DEFAULT_LIMITS

    limits = evolve(DEFAULT_LIMITS, image_bytes=image_bytes, image_pixels=image_pixels)
    # Loaded now: below, neither memory nor files may be left to do so, and no thread may start.
    for name in _DECODERS:
        import_module(name)
    deflate = cast("images.Deflate", arguments[4])
    deflater(deflate)
    hands = _HANDS if memory >= _ROOM_FOR_HANDS and (os.cpu_count() or 1) >= _HANDS else 1
    together = Hands(hands)
    # The embedder's I-6 holds, and sniff() enforces it; Pillow's own bound would be a second one.
    Image.MAX_IMAGE_PIXELS = None
    _fence_in(memory)
    while (request := _read_request(requests, image_bytes)) is not None:
        head, data = request
        _limit_time(seconds * hands)
        status, png = DONE, b""
        try:
            if head[0] == TO_PNG:
                png = images.to_png(
                    data,
                    int.from_bytes(head[1:5], "big"),
                    (head[5], head[6], head[7]),
                    limits=limits,
                    deflate=deflate,
                    together=together,
                )
            else:
                images.verify(data, limits=limits)
        except Refused as refusal:
            status = TOO_LARGE if refusal.code is AgentCode.IMAGE_TOO_LARGE else UNSUPPORTED
        # Two images are never in memory at a time.
        del request, data
        _write(answers, (1 + len(png)).to_bytes(LENGTH, "big") + bytes((status,)))
        _write(answers, png)


class Hands:
    """Carries out jobs with this thread and its helpers; an :class:`images.Together`.

    The helpers start with it: later, no thread may start in this process. They end with it.

    :param hands: how many threads, with the one that asks.
    """

    def __init__(self, hands: int) -> None:
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()
        self._helpers = 0
        before = threading.stack_size(_STACK)
        try:
            while self._helpers < hands - 1:
                threading.Thread(target=_help, args=(self._batches,), daemon=True).start()
                self._helpers += 1
        except RuntimeError:
            # The system gives no thread. The jobs are done all the same.
            pass
        finally:
            threading.stack_size(before)

    def __call__(self, jobs: Sequence[Callable[[], T]], /) -> list[T]:
        batch = _Batch(jobs)
        for _ in range(min(self._helpers, len(jobs) - 1)):
            self._batches.put(batch)
        batch.work()
        results = [batch.results.get() for _ in jobs]
        # Where one failed, that is what the whole of it did.
        for _, _, failure in results:
            if failure is not None:
                raise failure
        return [result for _, result, _ in sorted(results, key=itemgetter(0))]

    def __del__(self) -> None:
        for _ in range(self._helpers):
            self._batches.put(None)


def _help(batches: SimpleQueue[_Batch | None]) -> None:
    while (batch := batches.get()) is not None:
        batch.work()
        # Not kept until the next one comes: it holds a picture.
        del batch


class _Batch:
    """Jobs, of which each is taken by whoever comes first, and what became of them."""

    def __init__(self, jobs: Sequence[Callable[[], Any]]) -> None:
        self._todo = deque(enumerate(jobs))
        self.results: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()

    def work(self) -> None:
        while True:
            try:
                index, job = self._todo.popleft()
            except IndexError:
                return
            try:
                self.results.put((index, job(), None))
            except BaseException as failure:  # noqa: BLE001 - raised by the main thread
                self.results.put((index, None, failure))


def _find_modules(sdk: str, folders: list[str]) -> None:
    """Makes the engine importable, and what it imports, and nothing else of the embedder's."""
    sys.path += [folder for folder in folders if folder not in sys.path]
    # The package's front door imports the whole engine; this process needs one corner of it.
    package = ModuleType("deska_sdk")
    package.__path__ = [sdk]
    sys.modules["deska_sdk"] = package


def _fence_in(memory: int) -> None:
    """Takes away what decoding does not need, where the system can: I-6, "memory capped"."""
    try:
        import resource
    except ImportError:  # Windows
        return
    wanted = {
        "RLIMIT_AS": memory,
        "RLIMIT_CORE": 0,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_NPROC": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
    }
    for name, most in wanted.items():
        _lower(getattr(resource, name, None), most)


def _lower(kind: int | None, most: int) -> None:
    import resource

    if kind is None:
        return
    hard = resource.getrlimit(kind)[1]
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    try:
        resource.setrlimit(kind, (bound, bound))
    except (OSError, ValueError):  # a limit this system names but does not let one set
        return


def _limit_time(seconds: int) -> None:
    """Ends this process by itself where an image hangs and the host is no longer there to do so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = int(usage.ru_utime + usage.ru_stime) + seconds + 2
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _read_request(source: int, most: int) -> tuple[bytes, bytes] | None:
    """The next request's head and its image; None where the input ended or is no frame of ours."""
    head = _read(source, LENGTH + HEAD)
    length = int.from_bytes(head[:LENGTH], "big") - HEAD
    if len(head) < LENGTH + HEAD or not 0 <= length <= most:
        return None
    data = _read(source, length)
    return (head[LENGTH:], data) if len(data) == length else None


def _read(source: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length and (part := os.read(source, min(length, 1 << 20))):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _write(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


if __name__ == "__main__":
    main(sys.argv[1:])
