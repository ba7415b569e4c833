"""Decoding the first frame, and re-encoding it as a plain PNG (I-2, I-5). Here Pillow is used."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeVar

from deska_sdk.images._container import Still, first_still
from deska_sdk.images._deflate import Deflate, deflater
from deska_sdk.images._headers import JPEG, PNG, ImageInfo, sniff, unsupported
from deska_sdk.images._png import check_png, write_png
from deska_sdk.images._shrink import shrunk
from deska_sdk.images._together import Together, in_turn
from deska_sdk.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

Background = str | tuple[int, int, int]
"""A colour's name, ``#rrggbb``, or three integers from 0 to 255."""

_HEX = re.compile(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})")
T = TypeVar("T")


def verify(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> ImageInfo:
    """Decodes the first frame of an image and throws the pixels away (I-2).

    :param data: the whole file.
    :return: what :func:`sniff` returns.
    :raises Refused: what :func:`sniff` raises, and ``image_unsupported`` where the first frame
        does not decode: cut short, a wrong CRC, broken data, not enough memory.
    """
    info = sniff(data, limits=limits)
    still = first_still(data, info)
    if _guarded(lambda: _decoded(still, (1, 1))) is None:
        raise unsupported()
    return info


def to_png(
    data: bytes,
    max_side: int | None = None,
    background: Background = "white",
    *,
    limits: Limits = DEFAULT_LIMITS,
    deflate: Deflate = "auto",
    together: Together = in_turn,
) -> bytes:
    """The first frame of an image as a plain PNG (I-5).

    Orientation is applied, 16 bits are scaled to 8, CMYK and palettes become RGB (gray stays
    gray), what is transparent shows ``background``, an ICC profile is dropped and not applied.
    The PNG holds IHDR, IDAT and IEND, and was checked for that.

    :param data: the whole file, PNG, JPEG or WebP.
    :param max_side: the most pixels of either side, at least 1; ``limits.image_side`` by default.
        An image within it keeps its size: nothing is ever enlarged.
    :param background: what shows through; see :data:`Background`.
    :param deflate: what writes the PNG; see :data:`Deflate`. Its pixels are the same either way.
    :param together: who carries out the parts of the work that do not need each other.
    :raises Refused: as :func:`verify` does.
    :raises ValueError: ``max_side``, ``background`` or ``deflate`` breaks the above.
    :raises ImportError: ``deflate`` is ``isal``, and that package is not there.
    """
    side = limits.image_side if max_side is None else max_side
    if type(side) is not int or side < 1:
        raise ValueError("max_side is an integer of at least 1")
    colour = background_rgb(background)
    deflater(deflate)  # Said before the work, and not taken for the image's fault.
    info = sniff(data, limits=limits)
    still = first_still(data, info)
    png = _guarded(lambda: write_png(_picture(still, side, colour, together), deflate, together))
    if png is None:
        raise unsupported()
    check_png(png)
    return png


def background_rgb(background: Background) -> tuple[int, int, int]:
    """The three samples of a background colour.

    :raises ValueError: where it is no opaque colour.
    """
    samples: tuple[Any, ...] = ()
    if isinstance(background, tuple):
        samples = background
    elif background == "white":
        return 255, 255, 255
    elif found := _HEX.fullmatch(background):
        samples = tuple(int(pair, 16) for pair in found.groups())
    else:
        from PIL import ImageColor

        named = ImageColor.colormap.get(background.lower())
        # Pillow keeps a name's text until it is first asked for, then its samples.
        samples = ImageColor.getrgb(named) if isinstance(named, str) else named or ()
    if len(samples) != 3 or not all(type(it) is int and 0 <= it <= 255 for it in samples):
        raise ValueError("a background is a colour's name, #rrggbb or three integers up to 255")
    return samples[0], samples[1], samples[2]


def _guarded(work: Callable[[], T]) -> T | None:
    """What ``work`` returns, or None where it fails.

    Pillow fails with nearly every kind of exception, and their texts quote the file. The caller
    raises its refusal outside of the handler, so that no such text hangs on to it (B-2).
    """
    try:
        return work()
    except Exception:  # noqa: BLE001
        return None


def _picture(
    still: Still, side: int, background: tuple[int, int, int], together: Together
) -> Image:
    """The picture as it is to be seen, of mode ``L`` or ``RGB``."""
    from PIL.Image import Transpose

    def finish(image: Image) -> Image:
        return _flattened(image.convert("RGB") if image.mode == "CMYK" else image, background)

    wanted = _fitted((still.info.width, still.info.height), side)
    decoded, box = _decoded(still, wanted)
    image = _without_alpha(_on_canvas(_eight_bit(decoded, still), still))
    final = finish(image) if image.size == wanted else shrunk(image, wanted, box, finish, together)
    # EXIF's orientations as the turns that undo them.
    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    turn = turns.get(still.orientation)
    return final if turn is None else final.transpose(turn)


def _fitted(size: tuple[int, int], side: int) -> tuple[int, int]:
    """``size`` shrunk to at most ``side`` a side, rounded half up, each side at least 1."""
    longest = max(size)
    if longest <= side:
        return size
    width, height = (max(1, (2 * it * side + longest) // (2 * longest)) for it in size)
    return width, height


def _opened(still: Still) -> ImageFile:
    # Pillow's plugins are named here, one by one: Image.open would try others, turn a JPEG into
    # an MPO, and warn or raise by a limit that belongs to the embedder (I-6's own is checked).
    if still.info.media_type == PNG:
        from PIL.PngImagePlugin import PngImageFile

        image: ImageFile = PngImageFile(BytesIO(still.data))
    elif still.info.media_type == JPEG:
        from PIL.JpegImagePlugin import JpegImageFile

        image = JpegImageFile(BytesIO(still.data))
    else:
        from PIL.WebPImagePlugin import WebPImageFile

        image = WebPImageFile(BytesIO(still.data))
    if image.size != still.size:
        raise ValueError("the decoder and the header check read different sizes")
    return image


def _decoded(
    still: Still, wanted: tuple[int, int]
) -> tuple[ImageFile, tuple[float, float, float, float] | None]:
    """The picture, loaded, and for a JPEG the part of it that is the whole picture.

    A JPEG is decoded at the smallest eighth, quarter or half that still holds ``wanted``; every
    byte of it is read all the same.
    """
    image = _opened(still)
    drafted = image.draft(None, wanted) if still.info.media_type == JPEG else None
    image.load()
    # The file is not needed any more, and a WebP's decoder holds its picture three times.
    image.fp = None
    vars(image).pop("_decoder", None)
    return image, None if drafted is None else drafted[1]


def _eight_bit(image: ImageFile, still: Still) -> Image:
    """The picture in mode ``L``, ``LA``, ``RGB``, ``RGBA`` or ``CMYK``."""
    mask = None if still.key is None else _key_mask(image, still.key, still)
    plain: Image = image
    if image.mode == "I;16":
        # Pillow's own conversion clips at 255; I-5: "16-bit scaled not clipped".
        plain = image.point(  # pyright: ignore[reportUnknownMemberType]
            lambda sample: sample / 257 + 0.5
        ).convert("L")
    elif image.mode == "1":
        plain = image.convert("L")
    elif image.mode == "P":
        plain = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if mask is not None:
        plain.putalpha(mask)
    return plain


def _key_mask(image: ImageFile, key: tuple[int, ...], still: Still) -> Image:
    """An alpha that is 0 exactly where a pixel is the one transparent colour of its PNG.

    Pillow compares after it has dropped or scaled bits, and so takes other colours for it.
    """
    import PIL.Image
    import PIL.ImageChops

    bands: tuple[Image, ...]
    samples: tuple[int, ...]
    if still.depth < 16:
        bands = image.convert("L").split() if image.mode == "1" else image.split()
        samples = tuple(sample * 255 // ((1 << still.depth) - 1) for sample in key)
    elif image.mode == "I;16":
        bands = PIL.Image.frombytes("LA", image.size, image.tobytes()).split()
        samples = (key[0] & 0xFF, key[0] >> 8)
    else:
        # Pillow keeps the high byte of each sample. Read as if the bytes were swapped, the same
        # pixels give the low one.
        low = _opened(still)
        low.tile = [tile._replace(args="RGB;16L") for tile in low.tile]
        low.load()
        bands = image.split() + low.split()
        samples = tuple(sample >> 8 for sample in key) + tuple(sample & 0xFF for sample in key)
    mask = PIL.Image.new("L", image.size)
    for band, sample in zip(bands, samples, strict=True):
        table = [255] * 256
        table[sample] = 0
        differs = band.point(table)  # pyright: ignore[reportUnknownMemberType]
        mask = PIL.ImageChops.lighter(mask, differs)
    return mask


def _on_canvas(image: Image, still: Still) -> Image:
    """The picture at its place in the image, where it does not fill it (a WebP's first frame)."""
    import PIL.Image

    size = (still.info.width, still.info.height)
    if still.size == size:
        return image
    canvas = PIL.Image.new("RGBA", size)
    canvas.paste(image, still.offset)
    return canvas


def _without_alpha(image: Image) -> Image:
    """The picture as it is, or, where all of it is opaque, without saying so of each pixel."""
    if image.mode not in ("LA", "RGBA") or image.getchannel("A").getextrema() != (255, 255):
        return image
    return image.convert("L" if image.mode == "LA" else "RGB")


def _flattened(image: Image, background: tuple[int, int, int]) -> Image:
    """The picture without transparency: what was transparent shows the background."""
    import PIL.Image

    if image.mode not in ("LA", "RGBA"):
        return image
    gray = image.mode == "LA" and len(set(background)) == 1
    mode, colour = ("L", background[0]) if gray else ("RGB", background)
    flat = PIL.Image.new(mode, image.size, colour)
    flat.paste(image.convert(mode), mask=image.getchannel("A"))
    return flat
