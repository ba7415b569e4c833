"""The writer of PNGs and the shrinking in bands: whoever does the work, the pixels are the same."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import zlib
from typing import TYPE_CHECKING, TypeVar, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from deska_sdk import images
from deska_sdk.images import _deflate, _png, _shrink
from deska_sdk.images._deflate import adler32_of_both, deflater
from deska_sdk.images._png import write_png
from deska_sdk.images._shrink import shrunk
from deska_sdk.images._together import bands
from tests.kernel import support_images as make

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deska_sdk.images import Deflate

T = TypeVar("T")

DEFLATES = ("zlib", "isal")


def needs(deflate: str) -> None:
    """Skips where the package is not installed: it is an extra."""
    if deflate == "isal":
        pytest.importorskip("isal")


def backwards(jobs: Sequence[Callable[[], T]], /) -> list[T]:
    """A Together that proves that no part of the work waits for an earlier one."""
    return [job() for job in reversed(jobs)][::-1]


def by_threads(jobs: Sequence[Callable[[], T]], /) -> list[T]:
    """A Together that gives each job a thread."""
    results: dict[int, T] = {}

    def work(index: int, job: Callable[[], T]) -> None:
        results[index] = job()

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[index] for index in range(len(jobs))]


def photograph(width: int, height: int) -> Image.Image:
    """Soft shapes of several sizes under a little noise, with the colours close to each other."""
    base = Image.linear_gradient("L").resize((width, height))
    for cells in (5, 17, 60):
        shapes = Image.effect_noise((cells, cells), 60).resize((width, height), 3)
        base = Image.blend(base, shapes, 0.4)
    return Image.merge(
        "RGB", [Image.blend(base, Image.effect_noise(base.size, 40), 0.12) for _ in range(3)]
    )


def screenshot(width: int, height: int) -> Image.Image:
    """Plain areas and lines of small marks, as text is."""
    image = Image.new("RGB", (width, height), (250, 250, 250))
    image.paste((30, 40, 60), (0, 0, width // 4, height))
    letters = Image.effect_noise((width // 2, 9), 200).point(lambda value: 255 * (value > 128))
    for top in range(0, height - 9, 14):
        image.paste(letters.convert("RGB"), (width // 3, top))
    return image


def in_two_steps(
    image: Image.Image, wanted: tuple[int, int], box: tuple[float, ...] | None = None
) -> Image.Image:
    """A picture shrunk by Pillow as a whole, first its height and then its width."""
    mode = image.mode
    left, top, right, bottom = box or (0, 0, *image.size)
    image = image.convert({"RGBA": "RGBa", "LA": "La"}.get(mode, mode))
    tall = (image.width, wanted[1])
    image = image.resize(tall, Image.Resampling.BICUBIC, box=(0, top, image.width, bottom))
    image = image.resize(wanted, Image.Resampling.BICUBIC, box=(left, 0, right, wanted[1]))
    return image.convert(mode)


KINDS = {
    "photograph": photograph,
    "screenshot": screenshot,
    "plain": lambda width, height: Image.new("RGB", (width, height), (7, 8, 9)),
    "noise": lambda width, height: Image.merge(
        "RGB", [Image.effect_noise((width, height), 200) for _ in range(3)]
    ),
    "gray": lambda width, height: photograph(width, height).convert("L"),
}


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("deflate", DEFLATES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_png_of_many_bands_decodes_to_the_very_pixels(kind: str, deflate: Deflate) -> None:
    needs(deflate)
    image = KINDS[kind](1_400, 640)
    png = write_png(image, deflate)
    chunks = make.png_chunks(png)
    parts = [payload for chunk, payload in chunks if chunk == b"IDAT"]
    assert len(parts) == len(bands(640, len(image.getbands()) * 1_400, _png._BAND))
    assert [chunk for chunk, _ in chunks] == [b"IHDR", *[b"IDAT"] * len(parts), b"IEND"]
    # The standard library checks the stream's end and its checksum; Pillow does not look at them.
    stream = zlib.decompressobj()
    assert len(stream.decompress(b"".join(parts))) == 640 * (len(image.getbands()) * 1_400 + 1)
    assert stream.eof
    assert not stream.unused_data
    assert images.check_png(png).height == 640
    assert ImageChops.difference(make.decoded(png), image).getbbox() is None


@pytest.mark.rule("I-5")
@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_any_pixels_in_bands_of_any_height_come_out_as_they_went_in(data: st.DataObject) -> None:
    deflate = data.draw(st.sampled_from(DEFLATES))
    needs(deflate)
    mode = data.draw(st.sampled_from(["L", "RGB"]))
    size = (data.draw(st.integers(1, 12)), data.draw(st.integers(1, 40)))
    count = size[0] * size[1] * len(mode)
    few = st.binary(min_size=1, max_size=6).map(lambda some: (some * count)[:count])
    pixels = data.draw(st.binary(min_size=count, max_size=count) | few)
    image = Image.frombytes(mode, size, pixels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_png, "_BAND", data.draw(st.integers(1, 400)))
        patch.setattr(_png, "_SAMPLED", data.draw(st.integers(1, 12)))
        png = write_png(image, deflate)
    assert make.decoded(png).tobytes() == pixels
    rows = zlib.decompress(b"".join(part for kind, part in make.png_chunks(png) if kind == b"IDAT"))
    assert len(rows) == size[1] * (size[0] * len(mode) + 1)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("kind", [_png._UP, _png._AVERAGE])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_both_filters_are_the_ones_png_defines(kind: int, data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(["L", "RGB"]))
    wide, size = len(mode), (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
    stride = wide * size[0]
    pixels = data.draw(st.binary(min_size=stride * size[1], max_size=stride * size[1]))
    top = data.draw(st.integers(0, size[1] - 1))
    got = _png._filtered(Image.frombytes(mode, size, pixels), top, size[1], kind)

    def sample(row: int, at: int) -> int:
        return pixels[row * stride + at] if row >= 0 and at >= 0 else 0

    wanted = b""
    for row in range(top, size[1]):
        wanted += bytes((kind,))
        for at in range(stride):
            above = sample(row - 1, at)
            guess = above if kind == _png._UP else (above + sample(row, at - wide)) // 2
            wanted += bytes(((sample(row, at) - guess) % 256,))
    assert got == wanted


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("deflate", DEFLATES)
def test_a_photograph_is_no_more_than_an_eighth_larger_than_pillow_writes_it(
    deflate: Deflate,
) -> None:
    needs(deflate)
    image = photograph(900, 700)
    assert len(write_png(image, deflate)) <= 1.12 * len(make.encoded(image, "PNG"))


@pytest.mark.rule("I-5")
def test_photographs_and_screenshots_are_filtered_each_in_the_way_that_suits_them() -> None:
    by = deflater("zlib")
    assert _png._smallest(photograph(900, 100), 0, 100, by)[0] == _png._AVERAGE
    assert _png._smallest(screenshot(900, 100), 0, 100, by)[0] == _png._UP


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_the_pixels_do_not_tell_what_deflated_them(kind: str) -> None:
    needs("isal")
    data = make.encoded(photograph(300, 260), kind)
    both = [images.to_png(data, 200, deflate=deflate) for deflate in DEFLATES]
    assert both[0] != both[1]
    assert make.decoded(both[0]).tobytes() == make.decoded(both[1]).tobytes()


@pytest.mark.rule("I-5")
def test_the_package_is_taken_where_it_is_there() -> None:
    needs("isal")
    data = make.encoded(photograph(60, 50), "PNG")
    assert images.to_png(data) == images.to_png(data, deflate="isal")


@pytest.mark.rule("I-5")
def test_without_the_package_the_standard_library_writes_and_asking_for_it_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "isal", None)
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    data = make.encoded(photograph(60, 50), "PNG")
    assert images.to_png(data) == images.to_png(data, deflate="zlib")
    with pytest.raises(ImportError, match=r"deska-sdk\[speed\]"):
        images.to_png(data, deflate="isal")


@pytest.mark.rule("I-5")
def test_another_name_for_what_deflates_is_an_error() -> None:
    assert get_args(_deflate.Deflate) == ("auto", "zlib", "isal")
    with pytest.raises(ValueError, match="deflate is auto, zlib or isal"):
        images.to_png(make.encoded(make.quarters(), "PNG"), deflate="best")  # type: ignore[arg-type]


@pytest.mark.rule("I-5")
def test_nothing_is_loaded_before_a_picture_is_written() -> None:
    code = "import sys, deska_sdk.images; sys.exit('isal' in sys.modules or 'PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.rule("I-5")
@given(st.binary(max_size=400), st.binary(max_size=400), st.integers(1, 200))
def test_the_checksum_of_two_parts_is_the_one_of_the_whole(
    first: bytes, second: bytes, times: int
) -> None:
    second *= times
    both = adler32_of_both(zlib.adler32(first), zlib.adler32(second), len(second))
    assert both == zlib.adler32(first + second)


@pytest.mark.rule("I-5")
@given(st.integers(1, 5_000), st.integers(1, 10_000), st.integers(1, 1 << 20))
def test_bands_are_the_whole_height_and_none_is_empty(height: int, row: int, band: int) -> None:
    cuts = bands(height, row, band)
    assert [row for first, after in cuts for row in range(first, after)] == list(range(height))
    assert all(after > first for first, after in cuts)
    assert len(cuts) <= max(1, height * row // band)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "CMYK"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_a_picture_shrunk_in_bands_is_the_one_shrunk_at_once(
    mode: str, data: st.DataObject
) -> None:
    wanted = (data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30)))
    size = tuple(data.draw(st.integers(side, 5 * side)) for side in wanted)
    count = size[0] * size[1] * len(Image.new(mode, (1, 1)).getbands())
    image = Image.frombytes(mode, size, random.Random(data.draw(st.integers())).randbytes(count))
    box = None
    if data.draw(st.booleans()):
        # As a JPEG decoded at a fraction has it: less than a pixel of the last may be too much.
        parts = [data.draw(st.floats(0.0, 0.9)) for _ in size]
        box = (
            0.0,
            0.0,
            *(max(side - part, to) for side, part, to in zip(size, parts, wanted, strict=True)),
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_shrink, "_BAND", data.draw(st.integers(1, 2_000)))
        got = shrunk(image, wanted, box, lambda band: band, backwards)
    whole = in_two_steps(image, wanted, box)
    assert got.size == whole.size
    assert got.mode == whole.mode
    for one, other in zip(got.split(), whole.split(), strict=True):
        # A box is a float of 32 bits to Pillow, so the cut between two rows may be off by as much.
        # Of what can hardly be seen the colour is coarse, so there a step is more than one.
        within = 1 if mode not in ("LA", "RGBA") else 255
        assert max(ImageChops.difference(one, other).tobytes()) <= within
    if mode in ("LA", "RGBA"):
        seen = [Image.alpha_composite(Image.new("RGBA", wanted, "white"), it.convert("RGBA"))
                for it in (got, whole)]  # fmt: skip
        # The colour and the alpha may each be off by one, and so may be what they are rounded to.
        assert max(ImageChops.difference(*seen).tobytes()) <= 3


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_the_usual_shapes_shrink_to_the_very_pixels_of_pillows_kernel(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make.encoded(photograph(1_000, 750), kind, **({} if kind == "PNG" else {"quality": 90}))
    wanted = in_two_steps(make.decoded(data), (512, 384))
    monkeypatch.setattr(_shrink, "_BAND", 100_000)
    assert ImageChops.difference(make.decoded(images.to_png(data, 512)), wanted).getbbox() is None


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("together", [backwards, by_threads])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "CMYK"])
def test_whoever_does_the_parts_the_png_is_the_same_byte_for_byte(
    together: images.Together, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (_png, _shrink):
        monkeypatch.setattr(module, "_BAND", 20_000)
    image = photograph(300, 250).convert(mode)
    if mode == "RGBA":
        image.putalpha(Image.linear_gradient("L").resize(image.size))
    data = make.encoded(image, "JPEG" if mode == "CMYK" else "PNG")
    assert images.to_png(data, 200, together=together) == images.to_png(data, 200)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("side", [200, 90])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_an_alpha_that_hides_nothing_changes_nothing(mode: str, side: int) -> None:
    plain = photograph(200, 150).convert(mode)
    opaque = plain.convert("LA" if mode == "L" else "RGBA")
    both = [images.to_png(make.encoded(image, "PNG"), side) for image in (plain, opaque)]
    assert both[0] == both[1]


@pytest.mark.rule("I-5")
def test_a_failure_in_one_part_is_a_refusal_that_says_nothing() -> None:
    def broken(jobs: Sequence[Callable[[], T]], /) -> list[T]:
        raise MemoryError("secret")

    data = make.encoded(photograph(60, 50), "PNG")
    codes, _ = make.verdict(lambda: images.to_png(data, 30, together=broken))
    assert codes == {"image_unsupported"}
