"""What can be tested without a GPU: what is refused, and the order in which streams wait."""

import contextlib
import copy
import pickle

import pytest
import torch

from attention.config import AttentionConfig
from attention.errors import ConfigError
from attention.implementations import IMPLEMENTATIONS, build_attention
from attention.implementations.streams import HeadStreams, StreamedWrapper
from attention.weights import HeadWeights

CONFIG = AttentionConfig.total(7, 30, 6, 11, num_kv_heads=3, qkv_bias=True)
WEIGHTS = HeadWeights.init(CONFIG, generator=torch.Generator().manual_seed(3))


class FakeStream:
    """Writes down what is asked of it."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def wait_stream(self, other):
        self.log.append((self.name, "waits for", other.name))


@pytest.fixture
def log(monkeypatch, as_in_use):
    """What happens on the streams, in order; the caller's is named "caller"."""
    entries, names = [], iter("abcdefghij")
    caller, now = FakeStream("caller", entries), ["caller"]

    @contextlib.contextmanager
    def entered(stream):
        now.append(stream.name)
        yield
        now.pop()

    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device: caller)
    monkeypatch.setattr(torch.cuda, "Stream", lambda _device: FakeStream(next(names), entries))
    monkeypatch.setattr(torch.cuda, "stream", entered)
    monkeypatch.setattr(
        torch.Tensor,
        "record_stream",
        lambda tensor, stream: entries.append((tensor.data_ptr(), "is read on", stream.name)),
    )
    linear = torch.nn.functional.linear
    monkeypatch.setattr(
        torch.nn.functional,
        "linear",
        lambda *given: entries.append((now[-1], "computes", None)) or linear(*given),
    )
    return entries


def build():
    """The layer on the CPU, where only these tests put it."""
    module = StreamedWrapper(CONFIG).eval()
    module.load_state_dict(WEIGHTS.to_state_dict("looped"))
    return module


def x_of():
    return torch.randn(2, 11, 7, generator=torch.Generator().manual_seed(4))


@pytest.mark.usefixtures("log")
def test_heads_on_streams_are_the_loop():
    out, pattern = build()(x_of(), need_pattern=True)
    expected = build_attention("looped", CONFIG, WEIGHTS)(x_of(), need_pattern=True)
    torch.testing.assert_close((out, pattern), expected)


def test_each_head_computes_on_a_stream_of_its_own_that_waited_for_the_caller(log):
    build()(x_of())
    computing = [name for name, what, _ in log if what == "computes"]
    assert computing == [name for name in "abcdef" for _ in "qkv"] + ["caller"]
    for name in "abcdef":
        assert log.index((name, "waits for", "caller")) < log.index((name, "computes", None))


def test_caller_waits_for_every_head_before_it_reads_them(log):
    # Without it the output is made of numbers that are not there yet, mostly unnoticed.
    build()(x_of())
    joined = [log.index(("caller", "waits for", name)) for name in "abcdef"]
    assert max(joined) < log.index(("caller", "computes", None))
    assert min(joined) > log.index(("f", "computes", None))


def test_memory_of_each_result_is_kept_until_the_caller_has_read_it(log):
    # Each head's z, pattern, q, k and v.
    build()(x_of())
    read = {pointer for pointer, what, name in log if (what, name) == ("is read on", "caller")}
    assert len(read) == 6 * 5


def test_streams_are_made_once_and_not_copied(log):
    module = build()
    for _ in range(2):
        module(x_of())
    assert {name for name, what, _ in log if what == "computes"} == {*"abcdef", "caller"}
    for other in (copy.deepcopy(module.streams), pickle.loads(pickle.dumps(module.streams))):
        assert isinstance(other, HeadStreams)
        assert other._streams == {}


def test_device_without_cuda_is_refused_in_one_sentence():
    with pytest.raises(ConfigError, match=r"device of streams must be cuda, .*; got cpu"):
        build_attention("streams", CONFIG, WEIGHTS)
    assert not IMPLEMENTATIONS["streams"].supports(CONFIG, device="cpu")
    assert IMPLEMENTATIONS["streams"].supports(CONFIG, device="cuda:0")
