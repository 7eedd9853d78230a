"""English into French on 600 pairs, the book's job: training, translations with BLEU, and pictures of the attention.

    TRANSFORMER_MB_BACKEND=torch python examples/english_french.py eng-fra.tsv

The model is ``presets.d2l`` with its recipe: 200 epochs of batches of 64 x 10, Adam 0.005. It is decoded with every step at
its true position, and as the book's code does it, every step at position 0; both as in the book, where words that were
seen only once are ``<unk>`` and ``<unk>`` may be the answer, and with words alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from book_bleu import book_bleu
from pictures import attention_picture, loss_picture
from results import arguments, finish, keep

import transformer_mb as tmb
from transformer_mb.data import Batches, build_vocabularies, pair_ids, preprocess_nmt, read_pairs, source_batches
from transformer_mb.figures.kind import Attention
from transformer_mb.training import Job, TrainingRecipe, train_model

SENTENCES = [
    ("go .", "va !"),
    ("i lost .", "j'ai perdu ."),
    ("he's calm .", "il est calme ."),
    ("i'm home .", "je suis chez moi ."),
]
WORDS_ALONE = {"suppress_ids": (0, 1, 2)}
DECODINGS: dict[str, dict[str, Any]] = {
    "true positions": {},
    "position 0": {"compat_decode": "d2l"},
    "true positions, words alone": WORDS_ALONE,
    "position 0, words alone": {"compat_decode": "d2l", **WORDS_ALONE},
}
SHOWN = "true positions, words alone"
RECIPE = TrainingRecipe(**tmb.presets.RECIPES["d2l"])
NUM_STEPS = RECIPE.num_steps or 10
LOSS_TARGET = 0.055


def translate(backend: Any, model: Any, vocabularies: Any, texts: list[str]) -> dict[str, str]:
    """Translate each distinct text, in batches of width NUM_STEPS."""
    distinct = list(dict.fromkeys(texts))
    batches = source_batches([vocabularies[0].encode(text) for text in distinct], vocabularies[0], 64, num_steps=NUM_STEPS)
    found = {}
    for batch in batches:
        decoded = backend.greedy(model, batch.source, batch.source_valid_lens, NUM_STEPS)
        found.update({distinct[i]: vocabularies[1].decode(ids) for i, ids in zip(batch.indices, decoded, strict=True)})
    return found


def scores(pairs: list[tuple[str, str]], translations: dict[str, str]) -> dict[str, float]:
    """Means over all pairs of BLEU with k = 2: against the pair's own target, and against the nearest that is listed."""
    listed: dict[str, set[str]] = {}
    for source, target in pairs:
        listed.setdefault(source, set()).add(target)
    own = [book_bleu(translations[source], target, 2) for source, target in pairs]
    nearest = [max(book_bleu(translations[source], one, 2) for one in listed[source]) for source, _ in pairs]
    exact = [translations[source] in targets for source, targets in listed.items()]
    return {"own": np.mean(own), "nearest": np.mean(nearest), "exact": np.mean(exact)}


def show_sentences(known: set[str], found: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    rows = []
    for source, target in SENTENCES:
        row: dict[str, Any] = {"source": source, "among the pairs": source in known}
        for decoding, translations in found.items():
            row[decoding] = [translations[source], round(book_bleu(translations[source], target, 2), 3)]
        print(f"{source} => {target}{'' if row['among the pairs'] else '   (absent from the data)'}")
        for decoding in found:
            print(f"    {decoding:28} {row[decoding][0]:24} bleu {row[decoding][1]:.3f}")
        rows.append(row)
    return rows


def show_attention(backend: Any, model: Any, vocabularies: Any, source: str, translation: str, folder: Path) -> dict[str, Any]:
    """The three kinds of attention for one sentence, padded to NUM_STEPS as the book pads it."""
    (batch,) = source_batches([vocabularies[0].ids(source.split())], vocabularies[0], 1, num_steps=NUM_STEPS)
    start, answer = model.config.start_id, vocabularies[1].encode(translation)
    target_in = np.array([[start, *answer]])
    found = backend.attention(model, batch.source, target_in, batch.source_valid_lens)
    weights = {kind: [np.asarray(layer[0]) for layer in layers] for kind, layers in found.items()}
    keys, inputs = vocabularies[0].tokens(batch.source[0]), vocabularies[1].tokens(target_in[0])
    outputs = [*inputs[1:], "<eos>"]
    real, steps = np.arange(NUM_STEPS) < batch.source_valid_lens[0], len(inputs)
    kinds = [
        Attention("encoder self-attention", keys, keys, weights["encoder"], np.tile(real, (NUM_STEPS, 1))),
        Attention("decoder self-attention", inputs, inputs, weights["decoder_self"], np.tri(steps, dtype=bool)),
        Attention("cross-attention", outputs, keys, weights["decoder_cross"], np.tile(real, (steps, 1))),
    ]
    shapes = {kind.title: list(np.stack(kind.layers).shape) for kind in kinds}
    print("attention weights", shapes)
    for kind in kinds:
        attention_picture(folder / f"{kind.title.replace(' ', '_')}.png", [kind], f"{source}  =>  {translation}")
    masked = np.max([np.abs(np.stack(kind.layers)[..., ~kind.allowed]).max(initial=0) for kind in kinds])
    sums = np.max([np.abs(np.stack(kind.layers).sum(axis=-1) - 1).max() for kind in kinds])
    return {"shapes": shapes, "masked": float(masked), "sums": float(sums)}


def train_on(backend: Any, raw: list[tuple[str, str]], vocabularies: Any, epochs: int, folder: Path) -> tuple[Any, Any]:
    batches = Batches(pair_ids(raw, *vocabularies), RECIPE.batch_size, RECIPE.seed, num_steps=NUM_STEPS)
    model = backend.build(tmb.presets.d2l(*map(len, vocabularies)), seed=RECIPE.seed)
    state = train_model(Job(backend, batches, TrainingRecipe(**{**RECIPE.to_dict(), "epochs": epochs})), model)
    print(f"loss {state.loss:.3f}, {state.tokens_per_second:.1f} tokens/sec on {backend.name}, {backend.device_name}")
    losses = [record.loss for record in state.history]
    loss_picture(folder / "loss.png", losses, "English-French, 600 pairs", "loss by the book's count")
    return model, state


def decode_each_way(backend: Any, model: Any, vocabularies: Any, sources: list[str]) -> dict[str, dict[str, str]]:
    found = {}
    for decoding, changes in DECODINGS.items():
        other = backend.create_empty(model.config.replace(**changes))
        backend.set_weights(other, backend.get_weights(model))
        found[decoding] = translate(backend, other, vocabularies, sources)
    return found


def show_scores(pairs: list[tuple[str, str]], found: dict[str, dict[str, str]]) -> dict[str, dict[str, float]]:
    table = {decoding: scores(pairs, translations) for decoding, translations in found.items()}
    print("the 600 pairs: mean bleu against their own target, against the nearest listed; share of sources answered as listed")
    for decoding, means in table.items():
        print(f"    {decoding:28} " + "   ".join(f"{name} {value:.3f}" for name, value in means.items()))
    return table


def probe_of(model: Any, vocabularies: Any) -> dict[str, Any]:
    """The four sentences, and one target for all of them."""
    tokens = [vocabularies[0].ids(source.split()) for source, _ in SENTENCES]
    (batch,) = source_batches(tokens, vocabularies[0], len(tokens), num_steps=NUM_STEPS)
    target = [model.config.start_id, *vocabularies[1].encode(SENTENCES[-1][1])]
    arrays = {"source": batch.source, "source_valid_lens": batch.source_valid_lens}
    return {**arrays, "target_in": np.array([target] * len(tokens)), "max_steps": NUM_STEPS}


def main(folder: Path, data: Path, epochs: int = RECIPE.epochs) -> None:
    backend = tmb.get_backend()
    raw = read_pairs(data, num_examples=600)
    pairs = [(preprocess_nmt(source), preprocess_nmt(target)) for source, target in raw]
    vocabularies = build_vocabularies(raw, "d2l", min_freq=RECIPE.min_freq)
    model, state = train_on(backend, raw, vocabularies, epochs, folder)
    found = decode_each_way(backend, model, vocabularies, [source for source, _ in (*SENTENCES, *pairs)])
    rows = show_sentences({source for source, _ in pairs}, found)
    table = show_scores(pairs, found)
    last = SENTENCES[-1][0]
    attention = show_attention(backend, model, vocabularies, last, found[SHOWN][last], folder)
    keep(model, folder, probe_of(model, vocabularies), vocabularies)
    figures = {"loss": state.loss, "sentences": rows, "bleu of the 600": table, "attention": attention}
    targets = {
        f"loss {LOSS_TARGET} or less": state.loss <= LOSS_TARGET,
        "attention: exact zeros where masked": attention["masked"] == 0.0,
        "attention: rows sum to 1 within 1e-5": attention["sums"] < 1e-5,
    }
    finish(folder, {**figures, "losses": [record.loss for record in state.history]}, targets)


if __name__ == "__main__":
    options = arguments(__doc__, "english_french", data=True)
    main(options.out, options.data)
