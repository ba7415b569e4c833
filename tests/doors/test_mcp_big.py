"""An answer as large as answers are, by each way in and in both eras."""

from __future__ import annotations

import base64
from typing import Any

import anyio
import pytest

from deska_host import Blob
from tests.doors.support_door import MB, BigImages, a_client, a_door, call, each_way, text_of
from tests.host.support_host import later, picture

pytestmark = pytest.mark.anyio


async def read_with_images(way: str, era: str, count: int, images: BigImages) -> list[Any]:
    """The images of a read, as the SDK's client has them in the end."""
    async with (
        a_door(images=images) as behind,
        a_client(behind.door, way, era) as client,
        anyio.create_task_group() as group,
    ):
        files = behind.hands.deska.files
        kept = [
            (await files.put(Blob(picture((size + 1, 1)), "image/png")))["id"]
            for size in range(count)
        ]
        read = later(group, call, client, "read")
        await behind.hands.answer({"images": kept})
        result = await read.wait()
        assert not result.is_error
        names = ",".join(f'"image:{number}"' for number in range(1, count + 1))
        assert f'{{"images":[{names}]}}' in text_of(result)
        assert (await behind.heard.get()).images == count
        await behind.quiet()
        return list(result.content[1:])


@pytest.mark.rule("M-10", "M-2")
@each_way
async def test_six_images_of_a_megabyte_arrive_whole(way: str, era: str) -> None:
    # In a stream of events the SDK's own client takes 1 MiB and no more in one event.
    images = BigImages(1)
    arrived = await read_with_images(way, era, 6, images)
    assert [base64.b64decode(one.data) for one in arrived] == [images.png] * 6


@pytest.mark.rule("M-10", "I-4")
@pytest.mark.parametrize(
    ("anyio_backend", "way", "era"), [("trio", "pipes", "auto"), ("asyncio", "http", "legacy")]
)
async def test_all_the_megabytes_that_an_answer_may_have_arrive(way: str, era: str) -> None:
    images = BigImages(63 / 10)
    arrived = await read_with_images(way, era, 10, images)
    assert sum(len(base64.b64decode(one.data)) for one in arrived) > 62 * MB
