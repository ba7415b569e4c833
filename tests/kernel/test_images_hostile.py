"""Hostile and odd files: the verdict, and nothing but pixels in what comes out."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms

from deska_sdk import images
from deska_sdk.errors import AgentCode, Refused, sentence
from deska_sdk.images._png import write_png
from tests.kernel import support_images as make

if TYPE_CHECKING:
    from collections.abc import Callable

PLAIN = {kind: make.encoded(make.quarters(), kind) for kind in make.FORMATS}
LOSSLESS = make.encoded(make.quarters(), "WEBP", lossless=True)
PNG_KINDS = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
WORD = b"sesame-4711"


def refusal_of(work: Callable[[bytes], object], data: bytes) -> AgentCode:
    with pytest.raises(Refused) as caught:
        work(data)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    code = caught.value.code
    assert str(caught.value) == f"{code.value}: {sentence(code)}"
    assert isinstance(code, AgentCode)
    return code


def assert_undecodable(data: bytes) -> None:
    for work in (images.verify, images.to_png):
        assert refusal_of(work, data) is AgentCode.IMAGE_UNSUPPORTED


def assert_same_picture(data: bytes, like: bytes) -> None:
    assert images.verify(data) == images.sniff(data)
    out = images.to_png(data)
    assert {kind for kind, _ in make.png_chunks(out)} <= PNG_KINDS
    assert WORD not in out
    assert make.decoded(out).tobytes() == make.decoded(images.to_png(like)).tobytes()


def dressed(kind: str) -> bytes:
    """An image that carries everything a picture does not need, all with one word in it."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes() + WORD
    xmp = b"<x:xmpmeta>" + WORD + b"</x:xmpmeta>"
    if kind == "PNG":
        chunks = (
            make.png_chunk(b"iCCP", b"p\x00\x00" + zlib.compress(profile)),
            make.png_chunk(b"tEXt", b"Comment\x00" + WORD),
            make.png_chunk(b"zTXt", b"Comment\x00\x00" + zlib.compress(WORD)),
            make.png_chunk(b"iTXt", b"XML:com.adobe.xmp\x00\x00\x00\x00\x00" + xmp),
            make.png_chunk(b"tIME", b"\x07\xea\x0b\x1e\x10\x00\x00"),
            make.png_chunk(b"gAMA", (45_455).to_bytes(4, "big")),
            make.png_chunk(b"prVt", WORD),
        )
        return make.with_chunks(PLAIN["PNG"], *chunks) + WORD
    if kind == "JPEG":
        segments = (
            make.segment(0xE1, b"http://ns.adobe.com/xap/1.0/\x00" + xmp),
            make.segment(0xE2, b"ICC_PROFILE\x00\x01\x01" + profile),
            make.segment(0xED, b"Photoshop 3.0\x00" + WORD),
            make.segment(0xEA, WORD),
            make.segment(0xFE, WORD),
        )
        return make.with_segments(PLAIN["JPEG"], *segments) + WORD
    return (
        make.webp(
            make.vp8x(48, 32, 0x24),
            make.riff_chunk(b"ICCP", profile),
            make.riff_chunk(b"junk", WORD),
            make.frame_chunks(PLAIN["WEBP"]),
            make.riff_chunk(b"XMP ", xmp),
        )
        + WORD
    )


DRESSED = {kind: dressed(kind) for kind in make.FORMATS}


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_profiles_texts_times_and_trailing_bytes_do_not_come_out(kind: str) -> None:
    data = DRESSED[kind]
    assert data.count(WORD) >= 3
    assert_same_picture(data, PLAIN[kind])


@pytest.mark.rule("I-5")
def test_a_profile_is_dropped_and_not_applied() -> None:
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()
    data = make.encoded(make.quarters(), "PNG", icc_profile=lab)
    assert b"iCCP" in data
    assert_same_picture(data, PLAIN["PNG"])


@pytest.mark.rule("I-5")
def test_our_own_png_has_a_header_pixels_and_an_end() -> None:
    for kind in make.FORMATS:
        kinds = [chunk for chunk, _ in make.png_chunks(images.to_png(PLAIN[kind]))]
        assert kinds == [b"IHDR", b"IDAT", b"IEND"]


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("first_is_shown", [True, False])
def test_of_an_animated_png_the_still_picture_is_taken(first_is_shown: bool) -> None:
    frames = [make.quarters(), Image.new("RGB", (48, 32), "black")]
    data = make.encoded(
        frames[0],
        "PNG",
        save_all=True,
        append_images=frames[1:],
        default_image=not first_is_shown,
    )
    assert b"acTL" in data
    assert b"fdAT" in data
    assert_same_picture(data, PLAIN["PNG"])


@pytest.mark.rule("I-5")
def test_of_an_animated_webp_the_first_frame_is_taken() -> None:
    black = Image.new("RGB", (48, 32), "black")
    data = make.encoded(
        make.quarters(), "WEBP", save_all=True, append_images=[black], lossless=True
    )
    assert data.count(b"ANMF") == 2
    assert_same_picture(data, LOSSLESS)


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("alpha", [255, 128])
def test_a_first_frame_smaller_than_its_image_lies_where_it_belongs(alpha: int) -> None:
    small = Image.new("RGBA", (10, 6), (0, 0, 255, alpha))
    frame = make.frame_chunks(make.encoded(small, "WEBP", lossless=True))
    data = make.webp(
        make.vp8x(48, 32, 0x12),
        make.riff_chunk(b"ANIM", b"\x00\x00\xff\xff\x00\x00"),
        make.anmf(20, 8, 10, 6, frame),
        make.anmf(0, 0, 10, 6, frame),
    )
    images.verify(data)
    out = make.decoded(images.to_png(data))
    assert out.size == (48, 32)
    wanted = (255 - alpha, 255 - alpha, 255)
    assert make.close(out.getpixel((20, 8)), wanted, 1)
    assert make.close(out.getpixel((29, 13)), wanted, 1)
    for outside in ((0, 0), (19, 8), (20, 7), (30, 13), (29, 14)):
        assert out.getpixel(outside) == (255, 255, 255)


@pytest.mark.rule("I-5")
def test_a_lossy_webp_with_alpha_is_flattened() -> None:
    image = make.quarters().convert("RGBA")
    image.putalpha(Image.new("L", (48, 32)))
    data = make.encoded(image, "WEBP", quality=90)
    assert b"ALPH" in data
    assert set(make.decoded(images.to_png(data)).tobytes()) == {255}


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    "frame",
    [
        make.anmf(40, 0, 48, 32, make.frame_chunks(LOSSLESS)),
        make.anmf(0, 0, 40, 32, make.frame_chunks(LOSSLESS)),
        make.anmf(0, 0, 48, 32, b""),
        b"",
    ],
)
def test_an_animated_webp_whose_first_frame_does_not_fit_is_refused(frame: bytes) -> None:
    assert_undecodable(make.webp(make.vp8x(48, 32, 0x02), frame))


@pytest.mark.rule("I-5")
def test_of_a_multi_picture_jpeg_the_first_picture_is_taken() -> None:
    black = Image.new("RGB", (48, 32), "black")
    target = io.BytesIO()
    make.quarters().save(target, "MPO", save_all=True, append_images=[black])
    data = target.getvalue()
    assert b"MPF\x00" in data
    assert images.sniff(data) == images.ImageInfo("image/jpeg", 48, 32)
    assert_same_picture(data, PLAIN["JPEG"])


@pytest.mark.rule("I-2", "I-5")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_a_file_cut_short_anywhere_is_refused(kind: str) -> None:
    noise = Image.effect_noise((64, 48), 90).convert("RGB")
    whole = make.encoded(noise, kind)
    assert images.verify(whole).width == 64
    # Without its last two bytes a JPEG still holds every pixel; a decoder may show it.
    last = len(whole) - (3 if kind == "JPEG" else 1)
    for length in {*range(0, last, len(whole) // 23), last}:
        assert_undecodable(whole[:length])


@pytest.mark.rule("I-2")
@pytest.mark.parametrize("kind", [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"tEXt"])
def test_a_wrong_checksum_in_a_png_is_refused(kind: bytes) -> None:
    before = (
        make.png_chunk(b"PLTE", b"\x01\x02\x03"),
        make.png_chunk(b"tRNS", b"\x80"),
        make.png_chunk(b"tEXt", b"a\x00b"),
    )
    data = make.png(1, 1, 8, 3, [b"\x00"], before=before)
    assert images.verify(data).width == 1
    at = data.index(kind) - 4
    crc = at + 8 + int.from_bytes(data[at : at + 4], "big")
    assert_undecodable(data[:crc] + bytes((data[crc] ^ 1,)) + data[crc + 1 :])


@pytest.mark.rule("I-2")
@pytest.mark.parametrize(
    "pixels",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00" * 20, id="no deflate"),
        pytest.param(zlib.compress(b"\x00" * 5), id="too few rows"),
        pytest.param(zlib.compress(b"\x09" * 12), id="a filter that does not exist"),
        pytest.param(zlib.compress(b"\x00" * 12)[:-6], id="deflate cut short"),
    ],
)
def test_pixels_that_do_not_inflate_to_the_picture_are_refused(pixels: bytes) -> None:
    data = (
        make.PNG_SIGNATURE
        + make.ihdr(1, 3, 8, 2)
        + make.png_chunk(b"IDAT", pixels)
        + make.png_chunk(b"IEND")
    )
    assert_undecodable(data)


@pytest.mark.rule("I-2")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(make.png(1, 1, 8, 3, [b"\x00"]), id="no palette"),
        pytest.param(
            make.png(1, 1, 8, 3, [b"\x00"], before=(make.png_chunk(b"PLTE", b"\x01\x02"),)),
            id="a broken palette",
        ),
        pytest.param(
            make.png(1, 1, 8, 0, [b"\x00"], before=(make.png_chunk(b"CgBI", b""),)),
            id="a critical chunk nobody knows",
        ),
        pytest.param(
            make.png(1, 1, 8, 0, [b"\x00"], before=(make.ihdr(2, 2, 8, 0),)), id="two headers"
        ),
        pytest.param(
            make.png(
                1,
                1,
                8,
                0,
                [b"\x00"],
                after=(make.png_chunk(b"tEXt", b"a\x00b"), make.png_chunk(b"IDAT", b"")),
            ),
            id="pixels in two places",
        ),
        pytest.param(
            make.PNG_SIGNATURE + make.ihdr(1, 1, 8, 0) + make.png_chunk(b"IEND"), id="no pixels"
        ),
        pytest.param(
            make.with_segments(
                PLAIN["JPEG"],
                make.segment(0xC0, b"\x08\x00\x20\x00\x30\x03\x01\x11\x00\x02\x11\x01\x03\x11\x01"),
            ),
            id="two frame headers",
        ),
        pytest.param(PLAIN["JPEG"].replace(b"\xff\xdb", b"\xff\xfe"), id="no quantisation"),
        pytest.param(
            PLAIN["JPEG"].replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc1\x00\x11\x0c"), id="12 bits"
        ),
        pytest.param(
            make.webp(make.vp8x(99, 32), make.frame_chunks(LOSSLESS)), id="two sizes in a webp"
        ),
        pytest.param(make.webp(make.vp8x(48, 32)), id="a webp without a frame"),
        pytest.param(
            make.webp(
                make.vp8x(48, 32).replace(b"VP8X\x0a", b"VP8X\x00"), make.frame_chunks(LOSSLESS)
            ),
            id="a webp whose header has no length",
        ),
    ],
)
def test_a_broken_container_is_refused(data: bytes) -> None:
    assert_undecodable(data)


@pytest.mark.rule("I-6")
def test_a_decompression_bomb_is_refused_from_its_header() -> None:
    # 13,000 x 13,000 black pixels in a few kilobytes.
    rows = zlib.compressobj(9)
    row = b"\x00" * (13_000 // 8 + 1)
    body = b"".join(rows.compress(row) for _ in range(13_000)) + rows.flush()
    data = (
        make.PNG_SIGNATURE
        + make.ihdr(13_000, 13_000, 1, 0)
        + make.png_chunk(b"IDAT", body)
        + make.png_chunk(b"IEND")
    )
    assert len(data) < 100_000
    for work in (images.verify, images.to_png):
        assert refusal_of(work, data) is AgentCode.IMAGE_TOO_LARGE


@pytest.mark.rule("I-6")
def test_of_far_too_many_rows_the_picture_takes_its_own() -> None:
    # 200 MB of zeros behind the one row that belongs to the picture.
    deflate = zlib.compressobj(9)
    million = b"\x00" * 1_000_000
    body = b"".join(deflate.compress(million) for _ in range(200)) + deflate.flush()
    data = (
        make.PNG_SIGNATURE
        + make.ihdr(1, 1, 8, 0)
        + make.png_chunk(b"IDAT", body)
        + make.png_chunk(b"IEND")
    )
    assert make.decoded(images.to_png(data)).tobytes() == b"\x00"


@pytest.mark.rule("I-5", "I-6")
@pytest.mark.parametrize("kind", [b"zTXt", b"iTXt", b"iCCP"])
def test_a_text_bomb_is_never_inflated_and_costs_the_picture_nothing(kind: bytes) -> None:
    bomb = zlib.compress(b"\x00" * 60_000_000, 9)
    head = {b"zTXt": b"a\x00\x00", b"iTXt": b"a\x00\x01\x00\x00\x00", b"iCCP": b"a\x00\x00"}[kind]
    data = make.with_chunks(PLAIN["PNG"], *[make.png_chunk(kind, head + bomb)] * 2)
    # Pillow on its own gives this file up.
    with pytest.raises(ValueError, match="too large"):
        make.decoded(data)
    assert_same_picture(data, PLAIN["PNG"])


@pytest.mark.rule("I-2")
def test_a_picture_that_is_also_a_page_is_only_a_picture() -> None:
    page = b"<html><script>alert('" + WORD + b"')</script></html>"
    hidden = {
        "PNG": make.with_chunks(PLAIN["PNG"], make.png_chunk(b"tEXt", b"x\x00" + page)) + page,
        "JPEG": make.with_segments(PLAIN["JPEG"], make.segment(0xFE, page)) + page,
        "WEBP": make.webp(
            make.vp8x(48, 32), make.frame_chunks(PLAIN["WEBP"]), make.riff_chunk(b"HTML", page)
        )
        + page,
    }
    for kind, data in hidden.items():
        assert images.sniff(data).media_type == make.MEDIA[kind]
        assert_same_picture(data, PLAIN[kind])


@pytest.mark.rule("I-5")
def test_what_follows_the_picture_of_a_simple_webp_is_no_part_of_it() -> None:
    data = make.webp(
        make.frame_chunks(LOSSLESS),
        make.vp8x(48, 32, 0x02),
        make.riff_chunk(b"EXIF", make.exif(6)),
        make.riff_chunk(b"ALPH", WORD),
    )
    assert_same_picture(data, LOSSLESS)


@pytest.mark.rule("I-2", "I-5")
@pytest.mark.parametrize("kind", make.FORMATS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_damage_ends_in_a_plain_png_or_a_refusal(kind: str, data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([PLAIN[kind], DRESSED[kind]])))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(whole) - 1) | st.integers(0, min(60, len(whole) - 1)))
        match data.draw(st.sampled_from(["change", "cut", "repeat"])):
            case "change":
                whole[at] = data.draw(st.integers(0, 255))
            case "cut":
                del whole[at : at + data.draw(st.integers(1, 40))]
                whole = whole or bytearray(b"\x00")
            case _:
                whole[at:at] = whole[at : at + data.draw(st.integers(1, 40))]
    codes, out = make.verdict(lambda: images.to_png(bytes(whole)))
    assert codes <= {AgentCode.IMAGE_UNSUPPORTED, AgentCode.IMAGE_TOO_LARGE}
    assert make.verdict(lambda: images.verify(bytes(whole)))[0] == codes
    if out is not None:
        assert {chunk for chunk, _ in make.png_chunks(out)} <= PNG_KINDS
        assert WORD not in out


@pytest.mark.rule("I-5")
@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (17, 5)])
def test_the_writer_keeps_every_pixel(mode: str, size: tuple[int, int]) -> None:
    noise = Image.effect_noise(size, 120)
    image = noise if mode == "L" else Image.merge("RGB", (noise, noise.rotate(180), noise))
    png = write_png(image)
    assert images.check_png(png) == images.ImageInfo("image/png", *size)
    assert make.decoded(png).mode == mode
    assert make.decoded(png).tobytes() == image.tobytes()


@pytest.mark.rule("I-5")
@pytest.mark.parametrize(
    "chunk",
    [
        make.png_chunk(b"tEXt", b"a\x00b"),
        make.png_chunk(b"iCCP", b"a\x00\x00"),
        make.png_chunk(b"eXIf", make.exif(1)),
        make.png_chunk(b"tIME", bytes(7)),
        make.png_chunk(b"acTL", bytes(8)),
        make.png_chunk(b"pHYs", bytes(9)),
        make.png_chunk(b"IHDR", bytes(13)),
        make.png_chunk(b"IEND"),
    ],
)
@pytest.mark.parametrize("before", [b"IDAT", b"IEND"])
def test_the_check_of_our_own_output_finds_any_chunk_that_is_no_picture(
    chunk: bytes, before: bytes
) -> None:
    plain = images.to_png(PLAIN["PNG"])
    with pytest.raises(ValueError, match="not a PNG of IHDR"):
        images.check_png(make.with_chunks(plain, chunk, before=before))


@pytest.mark.rule("I-5")
def test_the_check_of_our_own_output_finds_every_changed_missing_or_added_byte() -> None:
    plain = images.to_png(make.encoded(Image.new("RGB", (3, 2), "red"), "PNG"))
    images.check_png(plain)
    broken = [plain[:at] + bytes((plain[at] ^ 0x40,)) + plain[at + 1 :] for at in range(len(plain))]
    broken += [plain[:at] for at in range(len(plain))]
    broken += [plain + b"\x00", plain + plain, b"\x00" + plain]
    for data in broken:
        with pytest.raises(ValueError, match="not a PNG of IHDR"):
            images.check_png(data)


@pytest.mark.rule("I-5")
def test_the_check_of_our_own_output_accepts_a_palette_and_its_transparency() -> None:
    before = (make.png_chunk(b"PLTE", b"\x01\x02\x03"), make.png_chunk(b"tRNS", b"\x80"))
    assert images.check_png(make.png(1, 1, 8, 3, [b"\x00"], before=before)).height == 1
    with pytest.raises(ValueError, match="not a PNG of IHDR"):
        images.check_png(make.png(1, 1, 8, 3, [b"\x00"], before=before[::-1]))


@pytest.mark.rule("B-2")
def test_nothing_of_an_image_is_in_a_repr() -> None:
    from deska_sdk.images._container import first_still
    from deska_sdk.images._headers import jpeg_segments

    data = DRESSED["JPEG"]
    assert WORD.decode() not in repr(list(jpeg_segments(data)))
    assert repr(first_still(data, images.sniff(data))).count("\\x") == 0
