"""The guards around the tests are on."""

import socket

import pytest
import torch

from tests.conftest import NetworkUsedError


def test_connection_to_another_machine_is_refused():
    # 192.0.2.0/24 is set aside for documentation: no such machine exists.
    with pytest.raises(NetworkUsedError, match=r"192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)


def test_connection_to_this_machine_is_allowed():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=5).close()


def test_generator_gives_the_same_numbers_in_every_test(generator):
    expected = torch.rand(3, generator=torch.Generator().manual_seed(20))
    torch.testing.assert_close(torch.rand(3, generator=generator), expected)
