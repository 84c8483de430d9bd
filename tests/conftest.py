"""What every test gets: no network, quiet libraries, seeded randomness."""

import os
import socket
from pathlib import Path

# Before anything imports these libraries.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# No model of whoever runs the tests is listed in them.
os.environ["HEADSCOPE_MODELS"] = os.environ["HF_HUB_CACHE"] = str(Path(__file__).parent / "none")
os.environ["HEADSCOPE_COMPILE"] = "off"  # it takes seconds a kernel; the tests of it switch it on
# The compiled core of `capture` is kept with what else is built here, not in the user's cache.
os.environ.setdefault("HEADSCOPE_CACHE", str(Path(__file__).parents[1] / "build" / "native"))

import hypothesis
import jaxtyping
import pytest
import torch

hypothesis.settings.register_profile("headscope", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "headscope")

LOOPBACK = ("127.", "::1", "localhost")


class NetworkUsedError(AssertionError):
    """A test reached for the network."""


@pytest.fixture(scope="session", autouse=True)
def no_network():
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def connect_here(self, address):
        leaves = self.family in (socket.AF_INET, socket.AF_INET6)
        if leaves and not str(address[0]).startswith(LOOPBACK):
            raise NetworkUsedError(f"a test must not use the network; it reached for {address}")
        return connect(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect_here)
        yield


@pytest.fixture
def generator():
    """A seeded source of random numbers of the test's own."""
    return torch.Generator().manual_seed(20)


@pytest.fixture
def as_in_use():
    """The shape checker off, as outside the tests: our own checks must do without it."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
