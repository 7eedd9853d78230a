"""Decoding steps as one program for every step, as a CUDA graph replays them; here on a processor, each computed anew."""

import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from transformer_mb.backends.torch.decoding import BeamDecoder
from transformer_mb.backends.torch.shortcuts import recorded_steps
from transformer_mb.backends.torch.shortcuts.recorded_steps import RECORDERS, RecordedSteps, Recorder, recorder_of
from transformer_mb.decoding.inputs import decoding_inputs
from transformer_mb.parity.rows.model_cases import CONFIGS, DECODER
from transformer_mb.registry import get_backend

STEPS = 40  # more than the first graph looks back at
ROTARY = {"position": "rotary", "rotary_layout": "interleaved"}
CASES = {
    **{name: config for name, config in CONFIGS.items() if config.position != "relative"},  # which has no such steps
    "decoder alone": DECODER,
    "decoder alone, rotary, fewer heads of keys": DECODER.replace(
        num_hiddens=16, decoder_num_heads=4, num_kv_heads=2, output_scale=True, **ROTARY
    ),
    "decoder alone, tokens normed": DECODER.replace(position="learned", decoder_embedding_norm="tokens", output_scale=True),
}


class Replayed(Recorder):
    """Stands in for a GPU: what would be recorded is called at each replay; ``asked`` tells in which order."""

    def __init__(self):
        self.asked, self.ended, self.error = [], [], None

    def aside(self, step):
        self.asked.append("aside")
        return step()

    def record(self, step, before):
        if self.error is not None:
            raise self.error
        self.asked.append("record" if before is None else f"record after {before}")
        return SimpleNamespace(graph="a graph", replay=step)


@pytest.fixture
def replayed(monkeypatch):
    monkeypatch.setattr(recorded_steps, "current_place", lambda device: (device, threading.get_ident()))
    recorder = Replayed()
    monkeypatch.setitem(RECORDERS, torch.device("cpu"), recorder)
    return recorder


def decoders(config=CASES["d2l"], steps=STEPS):
    """Two of four rows each, the second with recorded steps: sources of two lengths, prompts that begin with padding."""
    config = config.replace(max_len=64, compat_decode="correct")
    model = get_backend("torch", dtype="float64").build(config, seed=3).eval()
    given = np.random.default_rng(1).integers(4, 10, (2, 5)), np.array([5, 3])
    inputs, _ = decoding_inputs(config, *given, steps, None, "greedy search")
    inputs = inputs._replace(**{name: torch.tensor(array) for name, array in inputs._asdict().items() if array is not None})
    plain, recorded = (BeamDecoder(model, inputs, steps, 2) for _ in range(2))
    with torch.inference_mode():
        recorded.steps = RecordedSteps(recorded.steps, model.decoder)
    return plain, recorded


def compare(plain, recorded, count):
    for tokens in np.random.default_rng(2).integers(4, 10, (count, 4)):
        np.testing.assert_allclose(recorded.logits(tokens), plain.logits(tokens), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("config", CASES.values(), ids=CASES)
def test_recorded_steps_give_the_logits_of_steps_that_know_their_number(config, replayed):
    """Hypotheses change their places on the way."""
    plain, recorded = decoders(config)
    for count in (2, 32, 6):
        compare(plain, recorded, count)
        for decoder in (plain, recorded):
            decoder.reorder(np.array([1, 0, 3, 3]))
    # Looking back at 32 steps, then at all.
    assert [name for name in replayed.asked if "record" in name] == ["record", "record after a graph"]
    assert replayed.asked.count("aside") == 2


def test_what_a_graph_reads_of_padding_stays_where_it_was(replayed):
    _, recorded = decoders(DECODER)
    held = recorded.steps.steps.left_padding, recorded.steps.steps.own_mask
    before = held[0].tolist()
    recorded.reorder(np.array([2, 3, 0, 1]))
    assert (recorded.steps.steps.left_padding, recorded.steps.steps.own_mask) == held
    assert held[0].tolist() == [*before[2:], *before[:2]] != before


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("no memory"), RuntimeError("CUDA error: ... stream is capturing")])
def test_a_search_whose_steps_cannot_be_recorded_goes_on_unrecorded(error, replayed):
    plain, recorded = decoders()
    compare(plain, recorded, 1)
    replayed.error = error
    with pytest.warns(UserWarning, match="could not be recorded"):
        compare(plain, recorded, 1)
    compare(plain, recorded, 38)
    assert replayed.asked == ["aside"] and torch.device("cpu") not in RECORDERS


def test_another_error_while_recording_is_raised(replayed):
    _, recorded = decoders()
    recorded.logits(np.full(4, 5))
    replayed.error = RuntimeError("CUDA error: an illegal memory access was encountered")
    with pytest.raises(RuntimeError, match="illegal memory access"):
        recorded.logits(np.full(4, 5))


def test_a_search_that_comes_to_another_thread_goes_on_unrecorded_and_leaves_its_memory(replayed):
    plain, recorded = decoders()
    compare(plain, recorded, 3)
    other = threading.Thread(target=compare, args=(plain, recorded, 3))
    other.start()
    other.join()
    compare(plain, recorded, 30)
    assert (replayed.asked, replayed.ended) == (["aside", "record"], ["a graph"])


def test_nothing_is_recorded_under_autocast(replayed):
    _, recorded = decoders()
    with torch.autocast("cpu"):
        assert not recorded.steps._is_recordable()
    assert recorded.steps._is_recordable()


def test_a_search_whose_weights_have_moved_goes_on_unrecorded(replayed):
    plain, recorded = decoders()
    compare(plain, recorded, 3)
    weight = recorded.model.decoder.dense.weight
    weight.data = 2.0 * weight.data
    compare(plain, recorded, 30)
    assert replayed.asked == ["aside", "record"]


def test_a_step_beyond_the_last_is_refused_before_a_kernel_writes_there(replayed):
    plain, recorded = decoders(steps=3)
    compare(plain, recorded, 3)
    with pytest.raises(IndexError):
        recorded.logits(np.full(4, 5))
    assert recorded.steps.recorder is None


class Graph:
    """Stands in for ``torch.cuda.CUDAGraph``: recording takes time, and no two may do so at once."""

    recording = most = 0

    def capture_begin(self, memory, capture_error_mode):
        assert capture_error_mode == "thread_local" and not torch.is_inference_mode_enabled()
        self.memory = memory
        Graph.recording += 1
        Graph.most = max(Graph.most, Graph.recording)

    def capture_end(self):
        Graph.recording -= 1

    def pool(self):
        return self.memory or id(self)

    def replay(self):
        assert not Graph.recording


class Stream:
    device = torch.device("cpu")

    def __init__(self, device=None):
        pass

    def wait_stream(self, other):
        assert not Graph.recording


@pytest.fixture
def graphs(monkeypatch):
    monkeypatch.setattr(Graph, "most", 0)
    for name, stand_in in (("CUDAGraph", Graph), ("Stream", Stream), ("stream", lambda stream: nullcontext())):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    monkeypatch.setattr(recorded_steps, "RECORDERS", {})


@pytest.mark.parametrize("shared", [True, False])
def test_threads_never_record_at_once_nor_replay_meanwhile(shared, graphs):
    stream, failed = Stream(), []

    def record():
        try:
            recorder = recorder_of(stream if shared else Stream())
            with torch.inference_mode():
                for _ in range(5):
                    recording = recorder.record(lambda: time.sleep(0.005), None)
                    for _ in range(10):
                        time.sleep(0.001)
                        recording.replay()
                    recorder.aside(lambda: None)
        except AssertionError as error:
            failed.append(error)

    threads = [threading.Thread(target=record) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and (Graph.most, Graph.recording) == (1, 0)


def test_memory_of_graphs_is_of_one_search_at_a_time(graphs):
    """Two searches at once would overwrite each other's logits; one after the other share, so that none is left behind."""
    recorder = recorder_of(Stream())
    first, second = (recorder.record(lambda: None, None) for _ in range(2))
    assert (first.graph.memory, second.graph.memory) == (None, None)
    later = recorder.record(lambda: None, first.graph)
    recorder.ended.append(later.graph)
    next_one = recorder.record(lambda: None, None)
    assert next_one.graph.memory == first.graph.pool() and not recorder.ended


def test_recording_ends_where_a_step_fails(graphs):
    with pytest.raises(ValueError, match="a step"):
        recorder_of(Stream()).record(lambda: int("a step"), None)
    assert Graph.recording == 0
