"""The share of training sources that are translated to a listed target: d2l's own code beside ours.

    python benchmarks/d2l_translations.py DATA.tsv [--epochs 200] [--json FILE]

Both train on the first 600 pairs with the book's settings and translate the distinct sources. d2l decodes every step at
position 0 and may answer with <unk>, which is in no target; ours is shown with D2L's positions and with <unk> too.
"""

from __future__ import annotations

from program import keep, program

VARIANTS = {
    "ours": {"suppress_ids": (0, 1, 2)},
    "ours, <unk> allowed": {},
    "ours, d2l's positions, <unk> allowed": {"compat_decode": "d2l"},
}


def peer(pairs, epochs):
    from d2l_peer import Peer

    model = Peer(pairs)
    losses = [model.epoch() for _ in range(epochs)]
    return losses[-1], {"d2l 0.17.6 (torch)": model.translate}


def ours(name, pairs, epochs):
    import transformer_mb as tmb
    from transformer_mb.data import Batches, build_vocabularies, pair_ids
    from transformer_mb.inference.translation import Translator
    from transformer_mb.training import Job, TrainingRecipe, train_model

    backend = tmb.get_backend(name)
    recipe = TrainingRecipe(**{**tmb.presets.RECIPES["d2l"], "epochs": epochs})
    vocabularies = build_vocabularies(pairs, "d2l", min_freq=recipe.min_freq)
    model = backend.build(tmb.presets.d2l(*map(len, vocabularies)))
    batches = Batches(pair_ids(pairs, *vocabularies), recipe.batch_size, num_steps=recipe.num_steps)
    state = train_model(Job(backend, batches, recipe), model)
    translators = {}
    for variant, changes in VARIANTS.items():
        other = backend.create_empty(model.config.replace(**changes))
        backend.set_weights(other, backend.get_weights(model))
        translator = Translator(backend, other, *vocabularies, max_steps=recipe.num_steps)
        translators[f"{variant} ({name})"] = lambda text, translator=translator: translator.translate([text])[0]
    return state.loss, translators


def main():
    parser = program(__doc__)
    parser.add_argument("data")
    parser.add_argument("--backends", default="numpy,torch")
    parser.add_argument("--epochs", type=int, default=200)
    options = parser.parse_args()
    from transformer_mb.data import preprocess_nmt, read_pairs

    pairs = read_pairs(options.data, num_examples=600)
    targets = {}
    for source, target in pairs:
        targets.setdefault(preprocess_nmt(source), set()).add(preprocess_nmt(target))
    results = {}
    for run in (peer(pairs, options.epochs), *(ours(name, pairs, options.epochs) for name in options.backends.split(","))):
        loss, translators = run
        for name, translate in translators.items():
            answers = {source: translate(source) for source in targets}
            share = sum(answers[source] in targets[source] for source in targets) / len(targets)
            results[name] = {"loss": round(float(loss), 4), "listed": round(share, 4), "sources": len(targets)}
            results[name].update({source: answers[source] for source in ("go .", "i lost .") if source in answers})
            print(f"{name:45} {results[name]}", flush=True)
    keep(options.json, {"job": "d2l", "epochs": options.epochs, "results": results})


if __name__ == "__main__":
    main()
