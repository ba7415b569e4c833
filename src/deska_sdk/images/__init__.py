"""Images that cross the boundary: told by content, checked before any decode, re-encoded plain.

::

    from deska_sdk import images

    info = images.sniff(data)               # ImageInfo("image/jpeg", 4000, 3000), nothing decoded
    images.verify(data)                     # decodes the first frame, or raises Refused
    png = images.to_png(data, max_side=1024)
    assert images.check_png(png).width <= 1024

These are plain functions over ``bytes``: no file, no process, no clock. :func:`sniff` and
:func:`check_png` are pure Python and may run anywhere. :func:`verify` and :func:`to_png` decode,
and what decodes hostile bytes belongs in a process that can be killed (I-6): a host runs them
through ``deska_host.imaging.ImageWorker``. Pillow is loaded by the first call that decodes.

Pillow never sees the bytes as they came. A small parser takes the first frame out of its container
(PNG chunks, JPEG segments, RIFF chunks) and hands on only what makes up its pixels: no text, ICC,
XMP, EXIF, later frame or trailing byte reaches a decoder. The orientation is read by that parser.
"""

from __future__ import annotations

from deska_sdk.images._deflate import Deflate
from deska_sdk.images._headers import ImageInfo, sniff
from deska_sdk.images._picture import Background, background_rgb, to_png, verify
from deska_sdk.images._png import check_png
from deska_sdk.images._together import Together, in_turn

__all__ = [
    "Background",
    "Deflate",
    "ImageInfo",
    "Together",
    "background_rgb",
    "check_png",
    "in_turn",
    "sniff",
    "to_png",
    "verify",
]
