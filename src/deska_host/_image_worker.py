"""The process that decodes images: the only place where hostile bytes meet a decoder (I-6).

It is started as a bare script, ``python -I -S _image_worker.py LIMITS... SDK DIRECTORIES...``, and
speaks over its standard input and output, both ways in frames: four bytes of length, then that
many bytes. Nothing is pickled.

* A request is one byte of operation, four bytes of ``max_side``, three bytes of background colour,
  then the image. Numbers are big-endian.
* An answer is one byte of status, then, for a picture that was re-encoded, the PNG.

It ends when its input ends. What goes wrong with one image is a status, or the end of the process.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType

VERIFY, TO_PNG = 1, 2
DONE, UNSUPPORTED, TOO_LARGE = 0, 1, 2
HEAD = 8
LENGTH = 4

_OPEN_FILES = 16
_DECODERS = (
    "PIL.ImageChops",
    "PIL.JpegImagePlugin",
    "PIL.PngImagePlugin",
    "PIL.WebPImagePlugin",
)


def main(arguments: list[str]) -> None:
    """Answers requests until the input ends.

    :param arguments: most memory (bytes), most seconds of one image, most bytes and most pixels of
        an image, the folder of ``deska_sdk``, then the folders its imports are found in.
    """
    memory, seconds, image_bytes, image_pixels = map(int, arguments[:4])
    _find_modules(arguments[4], arguments[5:])
    requests, answers = os.dup(0), os.dup(1)
    # A library that prints must not write into an answer.
    os.dup2(2, 1)

    from attrs import evolve
    from PIL import Image

    from deska_sdk import images
    from deska_sdk.errors import AgentCode, Refused
    from deska_sdk.limits import DEFAULT_LIMITS

    limits = evolve(DEFAULT_LIMITS, image_bytes=image_bytes, image_pixels=image_pixels)
    # Loaded now: below, neither memory nor files may be left to do so.
    for name in _DECODERS:
        import_module(name)
    # The embedder's I-6 holds, and sniff() enforces it; Pillow's own bound would be a second one.
    Image.MAX_IMAGE_PIXELS = None
    _fence_in(memory)
    while (request := _read_frame(requests, image_bytes + HEAD)) is not None:
        _limit_time(seconds)
        data = request[HEAD:]
        try:
            if request[0] == TO_PNG:
                side = int.from_bytes(request[1:5], "big")
                background = (request[5], request[6], request[7])
                answer = bytes((DONE,)) + images.to_png(data, side, background, limits=limits)
            else:
                images.verify(data, limits=limits)
                answer = bytes((DONE,))
        except Refused as refusal:
            too_large = refusal.code is AgentCode.IMAGE_TOO_LARGE
            answer = bytes((TOO_LARGE if too_large else UNSUPPORTED,))
        # Two images are never in memory at a time.
        del request, data
        _write(answers, len(answer).to_bytes(LENGTH, "big") + answer)


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


def _read_frame(source: int, most: int) -> bytes | None:
    """The next frame's bytes; None where the input ended or is no frame of ours."""
    head = _read(source, LENGTH)
    length = int.from_bytes(head, "big")
    if len(head) < LENGTH or not HEAD <= length <= most:
        return None
    body = _read(source, length)
    return body if len(body) == length else None


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
