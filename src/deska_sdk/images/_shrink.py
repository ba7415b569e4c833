"""Shrinking a picture, band by band (I-5)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from deska_sdk.images._together import Together, bands

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image

    Box = tuple[float, float, float, float]

# A band of what comes out. The rows it is made of then fit the processor's cache.
_BAND = 1 << 19

# A picture that shrinks by more than twice this is first averaged over whole pixels: the result
# can hardly be told from the one of the full kernel, and a huge picture costs little.
_GAP = 3.0

# Colours are multiplied by their alpha before neighbours are mixed, so that one hidden under full
# transparency does not bleed into what is seen.
_PREMULTIPLIED = {"RGBA": "RGBa", "LA": "La"}


def shrunk(
    image: Image,
    wanted: tuple[int, int],
    box: Box | None,
    finish: Callable[[Image], Image],
    together: Together,
) -> Image:
    """The picture at ``wanted`` pixels by Pillow's bicubic kernel, then finished.

    :param image: of mode ``L``, ``LA``, ``RGB``, ``RGBA`` or ``CMYK``, loaded.
    :param wanted: no side is larger than the image's.
    :param box: the part of the image that is the whole picture, where it is not all of it.
    :param finish: what makes the shrunk picture final, pixel by pixel: it is done to the bands.
    """
    import PIL.Image

    left, top, right, bottom = box or (0, 0, *image.size)
    across, down = (right - left) / wanted[0], (bottom - top) / wanted[1]
    if max(across, down) >= 2 * _GAP:
        return finish(
            image.resize(  # pyright: ignore[reportUnknownMemberType]
                wanted, PIL.Image.Resampling.BICUBIC, box=box, reducing_gap=_GAP
            )
        )
    mode = image.mode
    # Once: Pillow would convert the whole of the picture for each band.
    source = image.convert(_PREMULTIPLIED[mode]) if mode in _PREMULTIPLIED else image

    def band(first: int, after: int) -> Image:
        # First up and down, then from left to right, always: left to itself, Pillow takes the way
        # that looks cheaper for one band, and what it rounds between differs by the way. The
        # kernel reaches over its box into the rows around it, so bands have no seams.
        below = bottom if after == wanted[1] else top + after * down
        tall = source.resize(  # pyright: ignore[reportUnknownMemberType]
            (source.width, after - first),
            PIL.Image.Resampling.BICUBIC,
            box=(0, top + first * down, source.width, below),
        )
        part = tall.resize(  # pyright: ignore[reportUnknownMemberType]
            (wanted[0], after - first),
            PIL.Image.Resampling.BICUBIC,
            box=(left, 0, right, after - first),
        )
        return finish(part if part.mode == mode else part.convert(mode))

    cuts = bands(wanted[1], 4 * wanted[0], _BAND)
    parts = together([partial(band, first, after) for first, after in cuts])
    if len(parts) == 1:
        return parts[0]
    whole = PIL.Image.new(parts[0].mode, wanted)
    for (first, _), part in zip(cuts, parts, strict=True):
        whole.paste(part, (0, first))
    return whole
