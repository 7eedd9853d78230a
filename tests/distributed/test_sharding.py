"""Weights and moments in parts: two processes of torch, two devices of one process of JAX."""

import os
from functools import cache
from typing import ClassVar

import pytest

from distributed.checks import CASES, TRAININGS, agree, comparing, differ
from distributed.group import QUICKLY, run
from distributed.running import command, done
from transformer_mb.built_in import BUILT_IN
from transformer_mb.parity.verdict.limits import worst

TWO_DEVICES = "--xla_force_host_platform_device_count=2"
TASKS = {"files": TRAININGS["files"], "parts": ["parts", {}]}
GATHERED = ("same bits", "several, then one: first half", "several, then one", "validation")


class InBrief:
    """What parts have to hold, whoever keeps them; ``results`` are of one start."""

    backend: str
    size: int
    cases: ClassVar = [CASES[0], CASES[5]]

    @pytest.fixture(scope="class")
    @classmethod
    def results(cls, tmp_path_factory):
        more = {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', QUICKLY)} {TWO_DEVICES}"} if cls.size == 1 else {}
        return run(cls.backend, tmp_path_factory.mktemp(cls.backend), cls.tasks(), cls.size, shard=True, **more)

    @classmethod
    def tasks(cls):
        return {**comparing(cls.cases, []), **TASKS}

    def test_fifty_steps_are_those_of_one_device(self, results):
        for case in self.cases:
            agree(results, case)

    def test_each_holds_a_half(self, results):
        """And of what two do not divide, torch a row more or less, JAX all: eleven numbers here."""
        for weights, moments in results["parts"]:
            assert 0.45 <= weights <= 0.55 and 0.45 <= moments <= 0.55, (weights, moments)

    def test_the_checkpoint_is_that_of_one(self, results):
        parts, one = results["files"][0]
        assert parts == one and "optimizer.safetensors" in one["files"]


class Sharded(InBrief):
    cases = CASES

    @classmethod
    def tasks(cls):
        return {**super().tasks(), **{name: TRAININGS[name] for name in GATHERED}}

    def test_a_training_in_parts_goes_on_without(self, results):
        assert {stopped["status"] for stopped in results["several, then one: first half"]} == {130}
        assert worst(results["several, then one"][0].values()) <= 1e-10

    def test_a_resumed_training_has_the_bits_of_one_that_was_not_interrupted(self, results):
        assert all(results["same bits"])

    def test_the_measured_loss_is_that_of_one(self, results):
        assert worst(results["validation"]) <= 1e-10


class TestTorch(InBrief):
    backend, size = "torch", 2


@pytest.mark.long
class TestTorchAtLength(Sharded):
    backend, size = "torch", 2

    @classmethod
    def tasks(cls):
        return {**super().tasks(), **comparing([], ["rows lost"])}

    def test_lost_rows_are_seen(self, results):
        differ(results, "rows lost")


@pytest.mark.long
class TestJAX(InBrief):
    backend, size = "jax", 1


@pytest.mark.long
class TestJAXAtLength(Sharded):
    backend, size = "jax", 1


@pytest.mark.long
@pytest.mark.parametrize("backend", BUILT_IN)
@pytest.mark.parametrize("of", ["torch", "jax"])
def test_a_checkpoint_of_parts_loads_in_all_six(written, of, backend):
    """Weights and moments: the loss after one more step is that of NumPy."""
    assert run(backend, written(of), {"loaded": ["loaded", {}]}, size=1)["loaded"][0] <= 1e-10


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A function: the folder with a checkpoint that two parts of this backend have written."""

    @cache
    def write(of):
        folder = tmp_path_factory.mktemp(of)
        two = {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', QUICKLY)} {TWO_DEVICES}"} if of == "jax" else {}
        run(of, folder, {"files": TRAININGS["files"]}, 1 if of == "jax" else 2, shard=True, **two)
        return folder

    return write


@pytest.mark.long(but=1)
@pytest.mark.parametrize("backend", [name for name in BUILT_IN if name not in ("torch", "jax")])
def test_other_backends_refuse(data, tmp_path, backend):
    said = done([*command(data, tmp_path / "model", backend=backend), "--shard"])
    assert said.returncode == 2 and "shard must be used with torch or jax, which keep weights in parts, got " in said.stderr


@pytest.mark.long
def test_one_process_and_one_device_refuse(data, tmp_path):
    for backend, words in (("torch", "in several processes (--processes, --distributed), got one."), ("jax", "got cpu alone.")):
        said = done([*command(data, tmp_path / "model", backend=backend), "--shard"])
        assert said.returncode == 2 and words in said.stderr


@pytest.mark.long
def test_jax_refuses_several_processes_without_gpus(data, tmp_path):
    said = done([*command(data, tmp_path / "model", backend="jax"), "--processes", 2, "--shard"])
    assert said.returncode == 2 and said.stderr.count("Error:") == 1
    assert "added up wrongly over gloo in JAX" in said.stderr and "jax-ml/jax#40830" in said.stderr
