"""The compiled core, where there is a compiler; its file is kept in build/ between the runs."""

import pytest

from attention.capture import capture_core, compiler


@pytest.fixture(scope="session")
def native():
    core = capture_core()
    if core.native is None:
        pytest.skip(str(core))
    return core.native


@pytest.fixture(scope="session")
def built(native):
    """The file of the compiled core, and its kind."""
    return next(compiler.kept(compiler.cache_folder()))
