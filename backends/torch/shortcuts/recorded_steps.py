"""Decoding steps on a GPU as a CUDA graph: a step's hundred small kernels are begun by one call."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .decoding_steps import DecodingSteps

FIRST_REACH = 32  # steps that the first graph looks back at; each later one looks at twice as many
# One thread at a time records, replays, or computes on a stream of recorders: kernels that another thread begins on that stream
# would be recorded too, and a replay asks torch's random generator whether a recording is going on anywhere.
GRAPHS = threading.Lock()


class Recording:
    """Kernels of one call, begun anew by ``replay``: they read and write where they did, and the result is ``output``."""

    def __init__(self, graph: torch.cuda.CUDAGraph, output: Tensor):
        self.graph, self.output = graph, output

    def replay(self) -> Tensor:
        with GRAPHS:
            self.graph.replay()
        return self.output


class Recorder:
    """A stream to record on beside that on which searches run, and the memory of those that have ended.

    A search has memory for graphs of its own, since what one of them left there another would overwrite. When it has ended, the
    next search on the stream takes that memory over: torch gives it to nothing but graphs, so each search would lose some.
    """

    def __init__(self, stream: torch.cuda.Stream):
        self.stream, self.beside = stream, torch.cuda.Stream(stream.device)
        self.ended: list[torch.cuda.CUDAGraph] = []  # one of each search, for only with a graph does its memory stay

    def aside(self, step: Callable[[], Tensor]) -> Tensor:
        """Call on the stream for recording: what kernels need when they run for the first time cannot be recorded."""
        with GRAPHS, torch.cuda.stream(self.beside):
            self.beside.wait_stream(self.stream)
            try:
                return step()
            finally:
                self.stream.wait_stream(self.beside)

    def record(self, step: Callable[[], Tensor], before: torch.cuda.CUDAGraph | None) -> Recording:
        """Record a call, in the memory of the graph ``before``, which is replayed no more."""
        if before is None and self.ended:
            before = self.ended.pop()
        graph = torch.cuda.CUDAGraph()
        memory = None if before is None else before.pool()

        def record() -> Tensor:
            with torch.inference_mode(False):  # else nobody's graphs could write to the tensors that it makes for the generator
                graph.capture_begin(memory, capture_error_mode="thread_local")
            try:
                return step()
            finally:
                graph.capture_end()

        return Recording(graph, self.aside(record))


RECORDERS: dict[torch.cuda.Stream, Recorder] = {}


def recorder_of(stream: torch.cuda.Stream) -> Recorder:
    with GRAPHS:
        if stream not in RECORDERS:
            RECORDERS[stream] = Recorder(stream)
        return RECORDERS[stream]


def current_place(device: torch.device) -> tuple[torch.cuda.Stream, int]:
    """The stream and the thread: a graph's kernels share memory with what else was begun from these two."""
    return torch.cuda.current_stream(device), threading.get_ident()


class RecordedSteps:
    """The steps of ``DecodingSteps``, with the number of the step as a tensor, so that one graph is each of them.

    A graph looks at a fixed number of steps, and a mask hides those that are to come. The first step of each reach is computed
    aside and not recorded. A search goes on unrecorded where it comes to another stream or thread, or under autocast, whose
    copies of weights do not stay, or where weights have moved; and, with a warning, where recording fails for want of memory or
    by what else is being recorded.
    """

    recorder: Recorder | None = None
    recording: Recording | None = None

    def __init__(self, steps: DecodingSteps, decoder: nn.Module):
        self.steps, self.device = steps, steps.embedding.device
        self.weights = list(decoder.parameters())
        self.addresses = [weight.data_ptr() for weight in self.weights]
        for block in steps.blocks:  # where the mask is False, a weight is 0, and 0 times what memory holds may be NaN
            for buffer in (block.keys, block.values):
                buffer[:, :, steps.length :] = 0.0
        self.tokens = torch.zeros(len(steps.blocks[0].keys), dtype=torch.int64, device=self.device)
        self.t = torch.tensor([steps.length], device=self.device)
        self.every_step = torch.arange(steps.max_steps, device=self.device)
        self.reach = self.recorded_reach = 0
        self.place = current_place(self.device)
        self.recorder = recorder_of(self.place[0])

    def logits(self, tokens: Tensor) -> Tensor:
        """[N] -> [N, V], which the next step writes to."""
        if not self._is_recordable():
            return self._unrecorded(tokens)
        self.tokens.copy_(tokens)
        length = self.steps.length
        if length >= self.reach:
            self.reach = min(max(FIRST_REACH, 1 << (length + 1).bit_length()), self.steps.max_steps)
            logits = self.recorder.aside(self._step)
        else:
            if self.recorded_reach < self.reach and not self._record():
                return self._unrecorded(tokens)
            logits = self.recording.replay()
        self.steps.length += 1
        return logits

    def reorder(self, rows: Tensor) -> None:
        held = self.steps.left_padding, self.steps.own_mask
        self.steps.reorder(rows)
        if self.steps.left_padding is not None:  # a graph reads where these lay
            moved = self.steps.left_padding, self.steps.own_mask
            self.steps.left_padding, self.steps.own_mask = (at.copy_(one) for at, one in zip(held, moved, strict=True))

    def _is_recordable(self) -> bool:
        return (
            self.recorder is not None
            and self.steps.length < self.steps.max_steps  # beyond, a kernel would write past the end
            and current_place(self.device) == self.place
            and not torch.is_autocast_enabled(self.device.type)
            and [weight.data_ptr() for weight in self.weights] == self.addresses
        )

    def _unrecorded(self, tokens: Tensor) -> Tensor:
        self._end()
        return self.steps.logits(tokens)

    def _record(self) -> bool:
        try:
            self.recording = self.recorder.record(self._step, None if self.recording is None else self.recording.graph)
        except RuntimeError as error:
            # CUDA's messages of the errors 900 to 908, those of recording, all have this word.
            if not isinstance(error, torch.OutOfMemoryError) and "captur" not in str(error):
                raise
            warnings.warn(f"This search decodes without a CUDA graph, which could not be recorded: {error}", stacklevel=2)
            self.recorder = self.recording = None
            with GRAPHS:
                RECORDERS.pop(self.place[0], None)  # its memory is in the middle of a recording for ever
            return False
        self.recorded_reach = self.reach
        return True

    def _step(self) -> Tensor:
        mask = (self.every_step[: self.reach] <= self.t)[None, None, None]  # [1, 1, 1, reach]
        if self.steps.own_mask is not None:
            mask = mask & self.steps.own_mask[..., : self.reach]
        logits = self.steps.at(self.tokens, self.t, self.reach, mask)
        self.t += 1
        return logits

    def _end(self) -> None:
        recorder, recording = self.recorder, self.recording
        self.recorder = self.recording = None
        if recorder is not None and recording is not None:
            recorder.ended.append(recording.graph)

    def __del__(self) -> None:
        self._end()
