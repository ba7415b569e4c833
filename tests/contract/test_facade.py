"""The names that users import, and what importing them costs."""

import importlib
import inspect
import subprocess
import sys

import pytest

HEAVY = ("PIL", "anyio", "asyncio", "trio", "sqlite3", "cattrs", "fastjsonschema", "mcp")


def public_names(module):
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (not inspect.ismodule(value) or name in module.__all__)
    }


def test_the_engine_exports_exactly_what_it_says():
    import deska_sdk

    assert set(deska_sdk.__all__) == public_names(deska_sdk)
    assert len(deska_sdk.__all__) <= 30


def test_the_host_exports_exactly_what_it_says():
    import deska_host

    for name in deska_host.__all__:
        value = getattr(deska_host, name)
        assert value.__module__.startswith("deska_host.")
    assert set(deska_host.__all__) == set(dir(deska_host))


def test_a_name_that_the_host_does_not_have_is_an_attribute_error():
    import deska_host

    with pytest.raises(AttributeError):
        _ = deska_host.Desk


@pytest.mark.parametrize("name", ["fence", "images", "revisions", "router", "schema"])
def test_a_module_that_is_useful_alone_says_how_in_its_first_lines(name):
    module = importlib.import_module(f"deska_sdk.{name}")
    assert "::\n\n    " in (module.__doc__ or "")


@pytest.mark.parametrize(
    "module", ["deska_sdk", "deska_sdk.router", "deska_host", "deska_host.pytest_plugin"]
)
def test_importing_the_engine_or_the_plugin_loads_nothing_heavy(module):
    # pytest itself is loaded before the plugin is, so what it loads does not count.
    code = (
        "import sys, pytest; before = set(sys.modules); "
        f"import {module}; "
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert not set(done.stdout.split()) & set(HEAVY)
