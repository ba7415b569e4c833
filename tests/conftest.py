"""What every test can ask for."""

from __future__ import annotations

from typing import cast

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each async test runs on both backends."""
    return cast("str", request.param)
