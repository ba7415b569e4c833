"""A plain PNG of at most 2,048 pixels a side from a picture of 12 megapixels.

All candidates give the same number of pixels. Ours resizes bicubically, as Pillow's ``thumbnail``
does by default; pyvips takes its own default, Lanczos. Nothing here is a page or a process: it is
the work that the worker process does, with the two threads that it does it with, and beside it with
one alone. pyvips takes as many threads as there are cores, and Pillow's two steps know only one.
"""

from __future__ import annotations

from io import BytesIO
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from PIL import Image

from benchmarks import ours, peers, pictures
from benchmarks.bench import Options, Outcome, duration, table, times
from benchmarks.harness import Candidate, Timings, measure
from deska_host._image_worker import Hands
from deska_sdk import images
from deska_sdk.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIDE: Final = 2_048
_PILLOW: Final = "Pillow thumbnail + save"
_PILLOW_QUICK: Final = "Pillow, compress_level=1"
_VIPS: Final = "pyvips, compression=1, filter=up"
_DEFLATE: Final[dict[ours.Codec, str]] = {"speed": "isal", "stdlib": "zlib"}
#: More would take minutes and tell no more.
_MOST_ROUNDS: Final = 5
#: As a PNG a photograph of 12 megapixels is larger than the 10 MB that an image may have (I-1). So
#: the claim for PNG is made on a screenshot, and ``--full`` shows the photograph for what it is.
_LIMITS: Final = Limits(image_bytes=100_000_000)


def codecs() -> tuple[ours.Codec, ...]:
    """``speed`` where isal is installed."""
    return ("speed", "stdlib") if peers.load("isal") else ("stdlib",)


def _ours(codec: ours.Codec, hands: int) -> Any:
    how: Any = {"deflate": _DEFLATE[codec], "together": Hands(hands)}
    return lambda data: images.to_png(data, _SIDE, limits=_LIMITS, **how)


def _pillow(**how: Any) -> Any:
    def to_png(data: bytes) -> bytes:
        target = BytesIO()
        with Image.open(BytesIO(data)) as image:
            image.thumbnail((_SIDE, _SIDE))
            image.save(target, "PNG", **how)
        return target.getvalue()

    return to_png


def _vips(pyvips: Any) -> Any:
    def to_png(data: bytes) -> bytes:
        image = pyvips.Image.thumbnail_buffer(data, _SIDE, height=_SIDE, size="down")
        return image.pngsave_buffer(compression=1, filter="up", keep="none")

    return to_png


def candidates(data: bytes, *, full: bool) -> Iterator[Candidate]:
    """All that make a PNG of a file."""
    for codec in codecs():
        yield Candidate(ours.NAMES[codec], _ours(codec, 2), data)
        yield Candidate(f"{ours.NAMES[codec]}, one thread", _ours(codec, 1), data)
    yield Candidate(_PILLOW, _pillow(), data)
    if full:
        yield Candidate(_PILLOW_QUICK, _pillow(compress_level=1), data)
    if pyvips := peers.load("pyvips"):
        yield Candidate(_VIPS, _vips(pyvips), data)


def _files(seed: int, full: bool) -> Iterator[tuple[str, bytes]]:
    """Files by kind; what has a comma in its name is shown and not claimed."""
    photograph = pictures.photograph(seed)
    yield "jpeg", pictures.encoded(photograph, "JPEG")
    yield "webp", pictures.encoded(photograph, "WebP")
    yield "png", pictures.encoded(pictures.screenshot(seed), "PNG")
    if full:
        yield "png, text only", pictures.encoded(pictures.text_only(seed), "PNG")
        yield "png, photograph", pictures.encoded(photograph, "PNG")


def run(options: Options) -> Outcome:
    """Measure each kind of file: photographs as JPEG and WebP, a screenshot as PNG."""
    peers.load("PIL")
    outcome = Outcome()
    rng = options.rng("images")
    rounds = min(_MOST_ROUNDS, options.rounds(3))
    timings: dict[str, Timings] = {}
    sizes: dict[str, dict[str, int]] = {}
    for kind, data in _files(options.seed, options.full):
        ways = list(candidates(data, full=options.full))
        made = {one.name: one.run(data) for one in ways}
        pixels = {Image.open(BytesIO(png)).size for png in made.values()}
        assert len(pixels) == 1, f"not all of {kind} have the same number of pixels"
        sizes[kind] = {name: len(png) for name, png in made.items()}
        timings[kind] = measure(ways, rng, rounds=rounds, sample=0.0, wall=True)
    rows = [
        [name]
        + [
            f"{duration(timing.median(name))}, {sizes[kind][name] / 1e6:.2f} MB"
            for kind, timing in timings.items()
        ]
        for name in next(iter(timings.values())).seconds
    ]
    title = "A PNG of at most 2,048 px from 12 megapixels: a photograph; as png a screenshot"
    outcome.tables.append(table(title, ("", *timings), rows))
    for codec in codecs():
        _claims(outcome, codec, timings, sizes)
    return outcome


def _claims(
    outcome: Outcome,
    codec: ours.Codec,
    timings: dict[str, Timings],
    sizes: dict[str, dict[str, int]],
) -> None:
    mine = ours.NAMES[codec]
    known = next(iter(timings.values()))
    others = [name for name in (_PILLOW, _PILLOW_QUICK, _VIPS) if name in known]
    rows: dict[str, list[str]] = {name: [] for name in (*others, "bytes")}
    against_pillow: list[float] = []
    for kind, timing in timings.items():
        for peer in others:
            rows[peer].append(times(timing.ratio(peer, mine)))
        size = sizes[kind][mine] / sizes[kind][_PILLOW]
        rows["bytes"].append(times(size))
        if "," in kind:
            continue
        against_pillow.append(timing.ratio(_PILLOW, mine))
        outcome.claim(f"images.pillow.{kind}", codec, against_pillow[-1])
        if kind != "png":
            outcome.claim(f"images.pillow.bytes.{kind}", codec, size)
        if _VIPS in timing:
            outcome.claim(f"images.pyvips.{kind}", codec, timing.ratio(_VIPS, mine))
    outcome.claim("images.pillow.mean", codec, fmean(against_pillow))
    told = [[name, *cells] for name, cells in rows.items()]
    told[-1][0] = "our bytes beside Pillow's"
    outcome.tables.append(table(f"Their time as a multiple of ours, {mine}", ("", *timings), told))
