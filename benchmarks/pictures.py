"""Synthetic 12-megapixel pictures: a photograph, and screenshots.

The photograph has detail at every scale, finer detail being fainter, mostly of brightness and less
of colour, and a sensor's noise: so its PNG weighs what PNGs of photographs weigh, about 1.5 bytes a
pixel, and Pillow takes the time for it that it takes for photographs (compared by hand with a dozen
that other packages ship).
"""

from __future__ import annotations

from io import BytesIO
from random import Random
from typing import TYPE_CHECKING, Final

from PIL import Image, ImageChops, ImageDraw, ImageFont

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_SIZE: Final = (4_000, 3_000)
#: How many random dots across the picture each layer has, and how much fainter each is.
_LAYERS: Final = (4, 9, 20, 45, 100, 220, 500, 1_000, 2_000)
_FAINTER: Final = 0.8
_WORDS: Final = "read the notes of this board then move each picture to the left column".split()


def photograph(seed: int, size: tuple[int, int] = _SIZE) -> Picture:
    """Layers of ever finer detail, and noise."""
    rng = Random(f"photograph/{seed}")
    made = _layer(rng, size, _LAYERS[0])
    strength = total = 1.0
    for across in _LAYERS[1:]:
        strength *= _FAINTER
        total += strength
        made = Image.blend(made, _layer(rng, size, across), strength / total)
    made = made.point(lambda sample: 128 + (sample - 128) * 2)
    return ImageChops.add(made, _noise(rng, size))


def _layer(rng: Random, size: tuple[int, int], across: int) -> Picture:
    small = (across, max(2, across * size[1] // size[0]))
    count = small[0] * small[1]
    light = Image.frombytes("L", small, rng.randbytes(count)).convert("RGB")
    colour = Image.frombytes("RGB", small, rng.randbytes(3 * count))
    return Image.blend(light, colour, 0.3).resize(size, Image.Resampling.BICUBIC)


def _noise(rng: Random, size: tuple[int, int]) -> Picture:
    """Noise of brightness: one tile, which repeats far beyond what a compressor looks back to."""
    across, down = 503, 499
    tile = Image.frombytes("L", (across, down), rng.randbytes(across * down))
    tile = tile.point(lambda sample: sample // 32).convert("RGB")
    made = Image.new("RGB", size)
    for top in range(0, size[1], down):
        for left in range(0, size[0], across):
            made.paste(tile, (left, top))
    return made


def screenshot(seed: int, size: tuple[int, int] = _SIZE) -> Picture:
    """A desktop: a wallpaper, two windows of text, and two pictures in them."""
    rng = Random(f"screenshot/{seed}")
    made = photograph(seed, (size[0] // 4, size[1] // 4)).resize(size, Image.Resampling.BICUBIC)
    for left in (100, size[0] // 2 + 50):
        made.paste(_window(rng, (size[0] // 2 - 200, size[1] - 300)), (left, 150))
        made.paste(photograph(seed + left, (1_200, 800)), (left + 500, rng.randint(400, 1_600)))
    return made


def text_only(seed: int, size: tuple[int, int] = _SIZE) -> Picture:
    """One window of text over the whole screen."""
    return _window(Random(f"text/{seed}"), size)


def _window(rng: Random, size: tuple[int, int]) -> Picture:
    made = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(made)
    draw.rectangle((0, 0, size[0], 90), fill="#283c5a")
    font = ImageFont.load_default(28)
    for top in range(130, size[1] - 60, 44):
        words = " ".join(rng.choices(_WORDS, k=size[0] // 140))
        draw.text(
            (40, top), words, fill=rng.choice(("#222", "#222", "#a31515", "#0000ff")), font=font
        )
    return made


def encoded(picture: Picture, kind: str) -> bytes:
    """The file of a picture, of a kind that Pillow names."""
    target = BytesIO()
    how = {
        "JPEG": {"quality": 90},
        "PNG": {"compress_level": 3},
        "WebP": {"quality": 85, "method": 0},
    }[kind]
    picture.save(target, kind, **how)
    return target.getvalue()
