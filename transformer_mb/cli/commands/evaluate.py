"""``transformer-mb evaluate``: BLEU, chrF and exact matches of a checkpoint on a file of sentence pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import decoding_options, options
from ..decoding_options import chosen_length_penalty, tell_long_lines
from ..reporting import tell, tell_bad_lines, write_json

if TYPE_CHECKING:
    from ...inference.evaluation import Evaluation
    from ...inference.translation import Translator

NAME = "evaluate"


def command(
    folder: options.Folder,
    data: options.Data,
    target: options.Target = None,
    fields: options.Fields = None,
    columns: options.Columns = None,
    num_examples: options.NumExamples = None,
    bad_lines: options.BadLines = "stop",
    beam: decoding_options.Beam = 1,
    length_penalty: decoding_options.LengthPenalty = None,
    coverage_penalty: decoding_options.CoveragePenalty = 0.0,
    too_long: decoding_options.TooLong = "cut",
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: decoding_options.DecodingDtype = "float32",
    max_steps: decoding_options.MaxSteps = None,
    batch_size: decoding_options.BatchSize = 64,
    json_file: options.JsonFile = None,
    force: options.Force = False,
) -> None:
    """Score a checkpoint on sentence pairs: sacreBLEU, chrF and exact matches."""
    from ...data.readers import read_pairs
    from ...data.swapped import swapped_note
    from ...decoding.beam_search import check_search
    from ...decoding.coverage_penalty import check_coverage_penalty
    from ...files.whole_file import check_result_file
    from ...inference.translation import Translator

    check_result_file(json_file, force, never=(folder, data, target))
    penalty = chosen_length_penalty(length_penalty, beam)
    check_search(beam, penalty, 1)
    check_coverage_penalty(coverage_penalty)
    pairs = read_pairs(
        data,
        target,
        num_examples=num_examples,
        fields=fields.split(",") if fields else None,
        columns=options.columns_of(columns),
        bad_lines=bad_lines,
    )
    translator = Translator.load(folder, backend, device, dtype, batch_size=batch_size, max_steps=max_steps, too_long=too_long)
    tell_long_lines(translator, [source for source, _ in pairs])
    result = score(translator, pairs, beam, penalty, coverage_penalty)
    for line in described(result):
        print(line)
    if pairs.skipped:
        print(f"{pairs.skipped} lines with a blank side were skipped")
    tell_bad_lines(pairs.bad_lines)
    if swapped := swapped_note(pairs, (translator.source_vocabulary, translator.target_vocabulary)):
        tell(f"Note: {swapped}.")
    write_json(json_file, result.to_dict())


def score(
    translator: Translator,
    pairs: list[tuple[str, str]],
    beam: int = 1,
    length_penalty: float = 0.6,
    coverage_penalty: float = 0.0,
    tokenize: str = "13a",
) -> Evaluation:
    """Translate and compare with the targets as they are given."""
    from ...inference.evaluation import evaluate

    sources = [source for source, _ in pairs]
    translations = translator.translate(sources, beam, length_penalty, coverage_penalty=coverage_penalty)
    vocabularies = translator.source_vocabulary, translator.target_vocabulary
    return evaluate(pairs, translations, vocabularies=vocabularies, tokenize=tokenize)


def described(result: Evaluation, explain: bool = True) -> list[str]:
    """The scores, a line each; ``explain`` what is to be known of them."""
    return [
        f"BLEU         {result.bleu.value:6.2f}   {result.bleu.signature}",
        f"chrF         {result.chrf.value:6.2f}   {result.chrf.signature}",
        *([f"TER          {result.ter.value:6.2f}   {result.ter.signature}"] if result.ter else ()),
        f"exact match  {result.exact_match:6.1%}   of {result.pairs} pairs: the translation is a target listed for the source",
        f"             {result.distinct_exact_match:6.1%}   of {result.distinct_sources} distinct sources",
        *(result.remarks if explain else ()),
    ]
