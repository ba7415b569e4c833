"""What an image says about itself, before any decode."""

from __future__ import annotations

import subprocess
import sys

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deska_sdk import images
from deska_sdk.errors import AgentCode, Refused
from deska_sdk.limits import DEFAULT_LIMITS
from tests.kernel import support_images as make

SMALL = Image.new("RGB", (5, 3), make.RED)
PLAIN = {kind: make.encoded(SMALL, kind) for kind in make.FORMATS}
LOSSLESS = make.encoded(SMALL, "WEBP", lossless=True)


def code_of(data: bytes, **limits: int) -> AgentCode:
    with pytest.raises(Refused) as caught:
        images.sniff(data, limits=evolve(DEFAULT_LIMITS, **limits))
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return caught.value.code


def huge(kind: str, width: int, height: int) -> bytes:
    """A file of a few bytes whose header claims a size."""
    if kind == "PNG":
        return make.PNG_SIGNATURE + make.ihdr(width, height, 8, 2) + make.png_chunk(b"IEND")
    if kind == "JPEG":
        sides = height.to_bytes(2, "big") + width.to_bytes(2, "big")
        frame = b"\x08" + sides + b"\x03" + b"\x01\x11\x00\x02\x11\x00\x03\x11\x00"
        return b"\xff\xd8" + make.segment(0xC0, frame) + b"\xff\xd9"
    return make.webp(make.vp8x(width, height), make.frame_chunks(PLAIN["WEBP"]))


@pytest.mark.rule("I-2")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_each_of_the_three_formats_is_told_by_its_content(kind: str) -> None:
    assert images.sniff(PLAIN[kind]) == images.ImageInfo(make.MEDIA[kind], 5, 3)


@pytest.mark.rule("I-2")
def test_all_three_kinds_of_webp_say_their_size() -> None:
    extended = make.webp(make.vp8x(5, 3), make.frame_chunks(LOSSLESS))
    assert PLAIN["WEBP"][12:16] == b"VP8 "
    assert LOSSLESS[12:16] == b"VP8L"
    for data in (PLAIN["WEBP"], LOSSLESS, extended):
        assert images.sniff(data) == images.ImageInfo("image/webp", 5, 3)


@pytest.mark.rule("I-2")
@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 2}])
def test_baseline_and_progressive_jpegs_are_both_read(options: dict[str, object]) -> None:
    data = make.encoded(SMALL, "JPEG", **options)
    assert images.sniff(data) == images.ImageInfo("image/jpeg", 5, 3)


@pytest.mark.rule("I-1", "I-2")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="zero bytes"),
        pytest.param(b'<svg xmlns="http://www.w3.org/2000/svg" width="5" height="3"/>', id="svg"),
        pytest.param(make.encoded(SMALL, "GIF"), id="gif"),
        pytest.param(make.encoded(SMALL, "TIFF"), id="tiff"),
        pytest.param(make.encoded(SMALL, "BMP"), id="bmp"),
        pytest.param(make.encoded(SMALL, "ICO"), id="ico"),
        pytest.param(b"%PDF-1.7\n", id="pdf"),
        pytest.param(b"\x00" * 64, id="zeros"),
        pytest.param(b"\n" + PLAIN["PNG"], id="png behind a byte"),
        pytest.param(b"GIF89a" + PLAIN["PNG"], id="gif and png"),
        pytest.param(b"\xff\xd8\xff", id="only the start of a jpeg"),
        pytest.param(b"RIFF\x00\x00\x00\x00WEBP", id="only the start of a webp"),
        pytest.param(b"RIFF\x24\x00\x00\x00WAVE" + bytes(40), id="wave"),
        pytest.param(make.PNG_SIGNATURE, id="only the start of a png"),
        pytest.param(make.PNG_SIGNATURE + make.png_chunk(b"CgBI", b"\x00" * 4), id="apple's png"),
    ],
)
def test_what_is_none_of_the_three_is_refused(data: bytes) -> None:
    assert code_of(data) is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-2")
def test_a_file_that_is_two_formats_at_once_is_what_its_start_says() -> None:
    both = PLAIN["PNG"] + PLAIN["JPEG"] + b"<svg/>PK\x03\x04"
    assert images.sniff(both).media_type == "image/png"
    hidden = make.with_segments(PLAIN["JPEG"], make.segment(0xFE, PLAIN["PNG"]))
    assert images.sniff(hidden) == images.ImageInfo("image/jpeg", 5, 3)


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_a_header_that_claims_too_many_pixels_is_refused_from_the_header_alone(kind: str) -> None:
    assert code_of(huge(kind, 60_000, 60_000)) is AgentCode.IMAGE_TOO_LARGE


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_exactly_the_pixels_allowed_pass_and_one_more_does_not(kind: str) -> None:
    assert images.sniff(huge(kind, 10_000, 5_000)).width == 10_000
    assert code_of(huge(kind, 10_000, 5_001)) is AgentCode.IMAGE_TOO_LARGE
    assert code_of(PLAIN[kind], image_pixels=14) is AgentCode.IMAGE_TOO_LARGE


@pytest.mark.rule("I-1", "I-6")
@pytest.mark.parametrize("kind", make.FORMATS)
def test_exactly_the_bytes_allowed_pass_and_one_more_does_not(kind: str) -> None:
    padded = PLAIN[kind] + b"\x00" * (DEFAULT_LIMITS.image_bytes - len(PLAIN[kind]))
    assert images.sniff(padded).width == 5
    assert code_of(padded + b"\x00") is AgentCode.IMAGE_TOO_LARGE


@pytest.mark.rule("I-6")
@pytest.mark.parametrize(
    "data",
    [
        huge("PNG", 0, 5),
        huge("PNG", 5, 0),
        huge("JPEG", 5, 0),
        huge("JPEG", 0, 5),
        PLAIN["WEBP"][:26] + b"\x00\x00" + PLAIN["WEBP"][28:],
        PLAIN["WEBP"][:28] + b"\x00\x40" + PLAIN["WEBP"][30:],
    ],
)
def test_a_side_of_nothing_is_refused(data: bytes) -> None:
    assert code_of(data) is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-6")
@pytest.mark.parametrize(
    "header",
    [
        make.ihdr(5, 3, 7, 2),
        make.ihdr(5, 3, 16, 3),
        make.ihdr(5, 3, 4, 6),
        make.ihdr(5, 3, 8, 5),
        make.ihdr(5, 3, 8, 2, interlace=2),
        make.ihdr(0x80000000, 1, 1, 0),
        make.png_chunk(b"IHDR", b"\x00" * 12),
    ],
)
def test_a_png_header_outside_its_standard_is_refused(header: bytes) -> None:
    data = make.PNG_SIGNATURE + header + make.png_chunk(b"IEND")
    assert code_of(data) is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-2")
@pytest.mark.parametrize("marker", [0xC3, 0xC5, 0xC9, 0xCA, 0xCF])
def test_a_jpeg_no_browser_shows_is_refused(marker: int) -> None:
    data = huge("JPEG", 5, 3).replace(b"\xff\xc0", bytes((0xFF, marker)))
    assert code_of(data) is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-6")
@pytest.mark.parametrize(
    "middle",
    [
        pytest.param(b"\xff" * 5_000_000 + b"\x00", id="fill bytes that lead nowhere"),
        pytest.param(b"\xff\x00" * 2_500_000, id="stuffed bytes"),
        pytest.param(b"\x00" * 5_000_000, id="zeros"),
        pytest.param(b"\xff\xfe\x00\x02" * 1_250_000, id="empty comments"),
        pytest.param(b"\xff\xd0" * 2_500_000, id="restarts"),
    ],
)
def test_a_jpeg_made_to_keep_a_reader_busy_is_refused(middle: bytes) -> None:
    data = b"\xff\xd8\xff\xe0\x00\x02" + middle + PLAIN["JPEG"][2:]
    assert code_of(data) is AgentCode.IMAGE_UNSUPPORTED


@pytest.mark.rule("I-2")
def test_fill_bytes_and_rubbish_between_segments_are_passed_over() -> None:
    data = b"\xff\xd8" + b"\xff" * 40 + b"\xe0\x00\x04ab" + b"junk\xff\x00" + PLAIN["JPEG"][2:]
    assert images.sniff(data) == images.ImageInfo("image/jpeg", 5, 3)


@pytest.mark.rule("I-6")
@pytest.mark.parametrize("kind", make.FORMATS)
@given(data=st.data())
def test_any_damage_to_a_header_ends_in_a_verdict(kind: str, data: st.DataObject) -> None:
    whole = bytearray(PLAIN[kind][: data.draw(st.integers(0, len(PLAIN[kind])))])
    for _ in range(data.draw(st.integers(0, 4))):
        if whole:
            whole[data.draw(st.integers(0, min(len(whole) - 1, 64)))] = data.draw(
                st.integers(0, 255)
            )
    codes, info = make.verdict(lambda: images.sniff(bytes(whole)))
    assert codes <= {AgentCode.IMAGE_UNSUPPORTED, AgentCode.IMAGE_TOO_LARGE}
    if info is not None:
        assert info.width >= 1
        assert info.height >= 1
        assert info.width * info.height <= DEFAULT_LIMITS.image_pixels


@pytest.mark.rule("I-6")
def test_importing_and_sniffing_load_no_decoder() -> None:
    program = (
        "import sys; from deska_sdk import images;"
        f"images.sniff({PLAIN['PNG']!r}); images.check_png({images.to_png(PLAIN['PNG'])!r});"
        "images.background_rgb('#ff8800');"
        "sys.exit(any(name.partition('.')[0] == 'PIL' for name in sys.modules))"
    )
    folder = next(iter(images.__path__)).removesuffix("/deska_sdk/images")
    code = f"import sys; sys.path.insert(0, {folder!r}); {program}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
