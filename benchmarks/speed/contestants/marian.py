"""MarianMT of Hugging Face's transformers on the folder that this project ports to: training step, or ``generate``."""

from __future__ import annotations

import torch
import transformers
from transformers import MarianMTModel


class Contestant:
    def __init__(self, inputs, dtype="float32", device="cpu"):
        self.inputs, self.device = inputs, torch.device(device)
        self.version = f"transformers {transformers.__version__}, torch {torch.__version__}"
        self.model = MarianMTModel.from_pretrained(
            inputs.folder / "marian", dtype=getattr(torch, dtype), local_files_only=True
        ).to(device).eval()  # fmt: skip
        self.training = "target_in" in inputs.arrays
        if self.training:
            self.batches = [tuple(torch.from_numpy(array).to(device) for array in batch) for batch in inputs.batches]
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=inputs.options["learning_rate"])
            self.model.config.dropout = inputs.config["dropout"]

    def loss(self, batch):
        source, _, target_in, target_out, _ = batch  # nothing is padded
        return self.model(input_ids=source, decoder_input_ids=target_in, labels=target_out).loss

    def check(self):
        if not self.training:
            return self.tokens()
        with torch.no_grad():
            return float(self.loss(self.batches[0]))

    def round(self):
        if not self.training:
            return sum(map(len, self.tokens()))
        self.model.train()
        for batch in self.batches:
            self.optimizer.zero_grad()
            loss = self.loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.inputs.options["clip_norm"])
            self.optimizer.step()
        float(loss)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return self.inputs.target_tokens

    def tokens(self):
        source, steps = torch.from_numpy(self.inputs.arrays["source"]).to(self.device), self.inputs.options["steps"]
        chosen = {"max_new_tokens": steps, "num_beams": 1, "do_sample": False, "forced_eos_token_id": None}
        return self.model.generate(source, attention_mask=torch.ones_like(source), **chosen)[:, 1:].tolist()
