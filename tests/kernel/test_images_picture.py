"""Re-encoding: size, orientation, colours and transparency of what comes out."""

from __future__ import annotations

import zlib

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from deska_sdk import images
from deska_sdk.limits import DEFAULT_LIMITS
from tests.kernel import support_images as make

WHITE = (255, 255, 255)

# EXIF, tag 0x0112: on which visual side the stored first row and the stored first column lie.
SIDES = {
    1: ("top", "left"),
    2: ("top", "right"),
    3: ("bottom", "right"),
    4: ("bottom", "left"),
    5: ("left", "top"),
    6: ("right", "top"),
    7: ("right", "bottom"),
    8: ("left", "bottom"),
}
OPPOSITE = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}


def expected_corners(orientation: int) -> tuple[tuple[int, ...], ...]:
    """What stands in the corners of :func:`make.quarters` as a person sees it."""
    row, column = SIDES[orientation]
    seen = {
        frozenset((row, column)): make.RED,
        frozenset((row, OPPOSITE[column])): make.GREEN,
        frozenset((OPPOSITE[row], column)): make.BLUE,
        frozenset((OPPOSITE[row], OPPOSITE[column])): make.GRAY,
    }
    places = (("top", "left"), ("top", "right"), ("bottom", "left"), ("bottom", "right"))
    return tuple(seen[frozenset(place)] for place in places)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("orientation", SIDES)
@pytest.mark.parametrize("kind", make.FORMATS)
def test_each_orientation_of_each_format_is_turned_upright(
    kind: str, orientation: int, order: str
) -> None:
    image = make.decoded(images.to_png(make.oriented(kind, orientation, order)))
    assert image.size == ((48, 32) if orientation < 5 else (32, 48))
    pairs = zip(make.corners(image), expected_corners(orientation), strict=True)
    assert all(make.close(seen, wanted) for seen, wanted in pairs)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"MM\x00*",
        b"II+\x00" + make.exif(6)[4:],
        make.exif(6)[:20],
        make.exif(0),
        make.exif(9),
        make.exif(6).replace(b"\x00\x00\x00\x08", b"\xff\xff\xff\xff"),
        make.exif(6).replace(b"\x01\x12\x00\x03", b"\x01\x12\x00\x02"),
        b"MM\x00*\x00\x00\x00\x08\xff\xff",
    ],
)
def test_an_orientation_that_cannot_be_read_leaves_the_picture_as_it_is(block: bytes) -> None:
    data = make.with_chunks(make.encoded(make.quarters(), "PNG"), make.png_chunk(b"eXIf", block))
    image = make.decoded(images.to_png(data))
    assert make.corners(image) == expected_corners(1)


@pytest.mark.rule("I-5")
def test_an_orientation_stored_as_a_long_number_or_behind_the_pixels_counts() -> None:
    plain = make.encoded(make.quarters(), "PNG")
    behind = make.with_chunks(plain, make.png_chunk(b"eXIf", make.exif(6)), before=b"IEND")
    long = make.with_chunks(plain, make.png_chunk(b"eXIf", make.exif(6, kind=4)))
    for data in (behind, long):
        assert make.corners(make.decoded(images.to_png(data))) == expected_corners(6)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    ("size", "side", "wanted"),
    [
        ((4096, 1024), None, (2048, 512)),
        ((2048, 2048), None, (2048, 2048)),
        ((2049, 1), None, (2048, 1)),
        ((1, 20_000), None, (1, 2048)),
        ((20_000, 1), None, (2048, 1)),
        ((30, 20), 2048, (30, 20)),
        ((30, 20), 15, (15, 10)),
        ((30, 20), 1, (1, 1)),
        ((31, 20), 30, (30, 19)),
    ],
)
def test_a_picture_is_shrunk_to_the_side_and_never_enlarged(
    size: tuple[int, int], side: int | None, wanted: tuple[int, int]
) -> None:
    data = make.encoded(Image.new("L", size, 90), "PNG")
    png = images.to_png(data, side)
    assert images.check_png(png) == images.ImageInfo("image/png", *wanted)
    assert set(make.decoded(png).tobytes()) == {90}


@pytest.mark.rule("I-5")
@given(width=st.integers(1, 60), height=st.integers(1, 60), side=st.integers(1, 40))
@settings(max_examples=60)
def test_any_size_ends_within_the_side_and_keeps_its_shape(
    width: int, height: int, side: int
) -> None:
    info = images.check_png(
        images.to_png(make.encoded(Image.new("L", (width, height)), "PNG"), side)
    )
    assert max(info.width, info.height) == min(side, max(width, height))
    assert min(info.width, info.height) >= 1
    scale = min(1.0, side / max(width, height))
    assert abs(info.width - width * scale) <= max(0.5, 1 - width * scale)
    assert abs(info.height - height * scale) <= max(0.5, 1 - height * scale)


@pytest.mark.rule("I-5")
def test_the_side_comes_from_the_limits_where_none_is_given() -> None:
    data = make.encoded(Image.new("L", (64, 32)), "PNG")
    png = images.to_png(data, limits=evolve(DEFAULT_LIMITS, image_side=16))
    assert images.check_png(png).width == 16


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("factor", [2, 4, 8, 9])
def test_a_large_jpeg_decoded_at_a_fraction_shows_the_same_picture(factor: int) -> None:
    large = make.encoded(make.quarters(48 * factor, 32 * factor), "JPEG", quality=95)
    image = make.decoded(images.to_png(large, 48))
    assert image.size == (48, 32)
    pairs = zip(make.corners(image), expected_corners(1), strict=True)
    assert all(make.close(seen, wanted) for seen, wanted in pairs)


@pytest.mark.rule("I-5")
@given(data=st.data())
@settings(max_examples=60)
def test_pixels_that_need_no_change_come_out_as_they_went_in(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(["L", "RGB"]))
    size = (data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9)))
    count = size[0] * size[1] * len(mode)
    pixels = data.draw(st.binary(min_size=count, max_size=count))
    image = Image.frombytes(mode, size, pixels)
    source = data.draw(st.sampled_from(["PNG", "WEBP"]))
    written = make.encoded(image, source, **({"lossless": True} if source == "WEBP" else {}))
    out = make.decoded(images.to_png(written))
    assert out.convert(mode).tobytes() == pixels
    assert out.size == size


@pytest.mark.rule("I-5")
@given(data=st.data())
@settings(max_examples=60)
def test_transparency_shows_the_background_by_the_usual_formula(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(["LA", "RGBA"]))
    size = (data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6)))
    count = size[0] * size[1] * len(mode)
    pixels = data.draw(st.binary(min_size=count, max_size=count))
    back = data.draw(st.sampled_from([WHITE, (0, 0, 0), (10, 200, 30)]))
    image = Image.frombytes(mode, size, pixels)
    out = make.decoded(images.to_png(make.encoded(image, "PNG"), background=back)).convert("RGB")
    seen = out.tobytes()
    wide = len(mode)
    for index in range(size[0] * size[1]):
        *colour, alpha = pixels[wide * index : wide * index + wide]
        for band in range(3):
            value = colour[band % len(colour)]
            exact = (value * alpha + back[band] * (255 - alpha)) / 255
            assert abs(seen[3 * index + band] - exact) <= 0.51


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
@pytest.mark.parametrize("side", [64, 7])
def test_what_is_hidden_under_full_transparency_does_not_show(kind: str, side: int) -> None:
    secret = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    secret.paste((255, 0, 0, 0), (8, 8, 56, 56))
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    data = make.encoded(secret, kind, **options)
    assert make.decoded(data).getpixel((20, 20)) == (255, 0, 0, 0)
    assert set(make.decoded(images.to_png(data, side)).tobytes()) == {255}


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    ("background", "wanted"),
    [
        ("white", WHITE),
        ("black", (0, 0, 0)),
        ("RebeccaPurple", (0x66, 0x33, 0x99)),
        ("#0A64ff", (10, 100, 255)),
        ((1, 2, 3), (1, 2, 3)),
    ],
)
def test_the_embedder_chooses_the_background(
    background: images.Background, wanted: tuple[int, int, int]
) -> None:
    data = make.encoded(Image.new("RGBA", (2, 2), (9, 9, 9, 0)), "PNG")
    out = make.decoded(images.to_png(data, background=background))
    assert out.convert("RGB").getpixel((1, 1)) == wanted
    assert images.background_rgb(background) == wanted


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    "background",
    ["", "#fff", "#ffffff80", "whitish", (1, 2), (1, 2, 256), (1.0, 2, 3), (True, 2, 3)],
)
def test_a_background_that_is_no_opaque_colour_is_an_error(background: object) -> None:
    with pytest.raises(ValueError, match="a background is"):
        images.to_png(b"", background=background)  # type: ignore[arg-type]


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("side", [0, -1, True, 2.0, "9"])
def test_a_side_that_is_no_positive_integer_is_an_error(side: object) -> None:
    with pytest.raises(ValueError, match="max_side is"):
        images.to_png(b"", side)  # type: ignore[arg-type]


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    ("ink", "wanted"),
    [
        ((0, 0, 0, 0), (255, 255, 255)),
        ((255, 0, 0, 0), (0, 255, 255)),
        ((0, 255, 0, 0), (255, 0, 255)),
        ((0, 0, 0, 255), (0, 0, 0)),
        ((0, 0, 128, 64), (191, 191, 95)),
    ],
)
@pytest.mark.parametrize("side", [32, 8])
def test_a_cmyk_jpeg_shows_its_colours(
    ink: tuple[int, ...], wanted: tuple[int, ...], side: int
) -> None:
    data = make.encoded(Image.new("CMYK", (32, 32), ink), "JPEG", quality=95)
    # Adobe's segment is what says that the inks are stored inverted.
    assert b"\xff\xee\x00\x0eAdobe" in data
    assert make.close(make.decoded(images.to_png(data, side)).getpixel((4, 4)), wanted, 4)


@pytest.mark.rule("I-5")
def test_a_ycck_jpeg_shows_its_colours() -> None:
    # Adobe stores the inks of red (0, 255, 255, 0) as the YCbCr of cyan (179, 171, 0), and black
    # inverted. Pillow inverts all four when it writes.
    stored = (179, 171, 0, 255)
    ycck = Image.merge("CMYK", [Image.new("L", (32, 32), 255 - value) for value in stored])
    data = make.encoded(ycck, "JPEG", quality=100)
    at = data.index(b"Adobe") + 11
    assert data[at] == 0
    data = data[:at] + b"\x02" + data[at + 1 :]
    assert make.close(make.decoded(images.to_png(data)).getpixel((4, 4)), (255, 0, 0), 6)


@pytest.mark.rule("I-5")
def test_sixteen_bit_gray_is_scaled_and_not_clipped() -> None:
    values = [0, 128, 129, 255, 256, 257, 30_000, 32_768, 65_000, 65_535]
    data = make.png(len(values), 1, 16, 0, [make.words(values)])
    out = make.decoded(images.to_png(data))
    assert out.mode == "L"
    assert list(out.tobytes()) == [int(value / 257 + 0.5) for value in values]


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("colour", [2, 4, 6])
def test_sixteen_bit_colour_and_alpha_are_scaled_and_not_clipped(colour: int) -> None:
    samples = {2: (300, 32_768, 65_535), 4: (40_000, 65_535), 6: (300, 32_768, 50_000, 65_535)}
    data = make.png(1, 1, 16, colour, [make.words(samples[colour])])
    seen = make.decoded(images.to_png(data)).getpixel((0, 0))
    shown = samples[colour] if colour == 2 else samples[colour][:-1] * (3 if colour == 4 else 1)
    assert all(abs(one - value / 257) <= 1 for one, value in zip(seen, shown, strict=True))


@pytest.mark.rule("I-5")
def test_sixteen_bit_alpha_is_flattened() -> None:
    half = make.png(1, 1, 16, 4, [make.words((0, 32_768))])
    assert make.close(make.decoded(images.to_png(half)).getpixel((0, 0)), (127, 127, 127), 1)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("entries", [b"\xff\x00", b"\xff\x80\x00"])
def test_a_palette_with_transparent_entries_shows_the_background(entries: bytes) -> None:
    palette = bytes((255, 0, 0)) + bytes((0, 0, 0)) + bytes((0, 0, 255))
    before = (make.png_chunk(b"PLTE", palette), make.png_chunk(b"tRNS", entries))
    data = make.png(3, 1, 8, 3, [bytes((0, 1, 2))], before=before)
    out = make.decoded(images.to_png(data))
    alphas = (*entries, 255, 255)[:3]
    colours = (make.RED, (0, 0, 0), make.BLUE)
    for at, (colour, alpha) in enumerate(zip(colours, alphas, strict=True)):
        wanted = tuple((one * alpha + 255 * (255 - alpha)) // 255 for one in colour)
        assert make.close(out.getpixel((at, 0)), wanted, 1)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_palette_of_few_bits_shows_its_colours(depth: int) -> None:
    before = (make.png_chunk(b"PLTE", bytes((9, 8, 7, 200, 100, 50))),)
    row = {1: 0b01000000, 2: 0b00010000, 4: 0b00000001}[depth]
    out = make.decoded(images.to_png(make.png(2, 1, depth, 3, [bytes((row,))], before=before)))
    assert [out.getpixel((at, 0)) for at in (0, 1)] == [(9, 8, 7), (200, 100, 50)]


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("depth", [1, 2, 4, 8, 16])
def test_the_one_transparent_gray_is_exactly_that_gray(depth: int) -> None:
    # Two samples side by side, the key and its neighbour, of which only the key may vanish.
    key, other = ((1, 0) if depth == 1 else (2, 1)) if depth < 16 else (0x1234, 0x1235)
    bits = f"{key:0{depth}b}{other:0{depth}b}".ljust(-(-2 * depth // 8) * 8, "0")
    row = int(bits, 2).to_bytes(len(bits) // 8, "big")
    # Bits over the depth are none of the sample's.
    stored = key | 0xFFFF << depth & 0xFFFF
    before = (make.png_chunk(b"tRNS", stored.to_bytes(2, "big")),)
    data = make.png(2, 1, depth, 0, [row], before=before)
    out = make.decoded(images.to_png(data, background=(1, 2, 3)))
    shown = int(other * 255 / ((1 << depth) - 1) + 0.5)
    assert out.getpixel((0, 0)) == (1, 2, 3)
    assert out.getpixel((1, 0)) == (shown, shown, shown)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("depth", [8, 16])
def test_the_one_transparent_colour_is_exactly_that_colour(depth: int) -> None:
    # Sixteen bits: the neighbours differ from the key in a low byte that a decoder may drop.
    key = (0x12, 0x34, 0x56) if depth == 8 else (0x1234, 0x5678, 0x9ABC)
    pixels = [key, (key[0], key[1], key[2] + 1), (key[0] - 1, key[1], key[2])]
    size = depth // 8
    row = b"".join(sample.to_bytes(size, "big") for pixel in pixels for sample in pixel)
    before = (make.png_chunk(b"tRNS", make.words(key)),)
    out = make.decoded(images.to_png(make.png(3, 1, depth, 2, [row], before=before)))
    top = tuple(sample >> (depth - 8) for sample in key)
    assert out.getpixel((0, 0)) == WHITE
    for at in (1, 2):
        assert make.close(out.getpixel((at, 0)), top, 1)


@pytest.mark.rule("I-5")
def test_an_interlaced_png_shows_the_same_picture() -> None:
    # Adam7 of one pixel per pass and 8 x 8: written by hand, as Pillow does not write it.
    passes = (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    )
    image = Image.frombytes("L", (8, 8), bytes(range(0, 256, 4)))
    rows = [
        b"\x00" + bytes(image.getpixel((x, y)) for x in range(left, 8, across))
        for left, top, across, down in passes
        for y in range(top, 8, down)
    ]
    data = (
        make.PNG_SIGNATURE
        + make.ihdr(8, 8, 8, 0, interlace=1)
        + make.png_chunk(b"IDAT", zlib.compress(b"".join(rows)))
        + make.png_chunk(b"IEND")
    )
    assert make.decoded(images.to_png(data)).tobytes() == image.tobytes()


@pytest.mark.rule("I-5")
def test_pillow_agrees_on_what_upright_is() -> None:
    for kind in make.FORMATS:
        for orientation in SIDES:
            data = make.oriented(kind, orientation)
            theirs = ImageOps.exif_transpose(make.decoded(data)).convert("RGB")
            assert make.decoded(images.to_png(data)).convert("RGB").tobytes() == theirs.tobytes()
