"""``transformer-mb evaluate``: BLEU, chrF and exact matches of a checkpoint on a file of sentence pairs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ...printable import counted, skipped_lines
from ...reports.output import Output, each_written, tell
from .. import decoding_options, options
from ..decoding_options import as_one, chosen_length_penalty, tell_long_lines, tell_slower, tell_unended
from ..options import argument, option
from ..reporting import tell_bad_lines
from ..streams import rows_to

if TYPE_CHECKING:
    from ...inference.evaluation import Evaluation
    from ...inference.translation import Translator

NAME = "evaluate"
PAIRS = "sentence pairs come by --data {path}"


def command(
    data: options.Data,
    folders: Annotated[list[Path] | None, argument("[DIR]...", "A checkpoint folder; several translate as one.")] = None,
    target: options.Target = None,
    fields: options.Fields = None,
    columns: options.Columns = None,
    num_examples: options.NumExamples = None,
    bad_lines: options.BadLines = "stop",
    translations: Annotated[Path | None, option("--translations", "Score these, line by line, without a model.")] = None,
    reference: Annotated[
        list[Path] | None, option("--reference", "A further reference, line by line; as often as there are.")
    ] = None,
    output: Annotated[Path | None, option("--output", "Keep the translations here, line by line.")] = None,
    tokenize: Annotated[
        str,
        option("--tokenize", "How BLEU splits words, by sacreBLEU's names.", metavar="13a|intl|zh|ja-mecab|ko-mecab|char|none"),
    ] = "13a",
    lowercase: Annotated[bool, option("--lowercase", "Compare in lower case, as of a model that writes no other.")] = False,
    ter: Annotated[bool, option("--ter", "Translation edit rate too.")] = False,
    beam: decoding_options.Beam = 1,
    length_penalty: decoding_options.LengthPenalty = None,
    coverage_penalty: decoding_options.CoveragePenalty = 0.0,
    too_long: decoding_options.TooLong = "cut",
    backend: options.Backend = None,
    device: options.Device = None,
    dtype: decoding_options.DecodingDtype = "float32",
    max_steps: decoding_options.MaxSteps = None,
    batch_size: decoding_options.BatchSize = 64,
    replace_unknown: decoding_options.ReplaceUnknown = False,
    json_file: options.JsonFile = None,
    force: options.Force = False,
) -> None:
    """Score a checkpoint, or given translations, on sentence pairs: sacreBLEU, chrF and exact matches."""
    from ...data.beside import lines_beside, spread
    from ...data.readers import read_pairs
    from ...data.vocabulary import swapped_note
    from ...decoding.beam_search import check_search
    from ...decoding.coverage_penalty import check_coverage_penalty
    from ...errors import ConfigError
    from ...files.whole_file import check_result_file
    from ...inference.evaluation import check_tokenization, evaluate
    from ...inference.translation import Translator

    if bool(folders) == (translations is not None):
        got = "both" if folders else "neither"
        raise ConfigError(f"Either a checkpoint folder or --translations FILE must be given, got {got}.")
    if translations is not None:
        of_models = {
            **{
                "--beam": beam != 1,
                "--length-penalty": length_penalty is not None,
                "--coverage-penalty": coverage_penalty != 0,
            },
            **{"--too-long": too_long != "cut", "--max-steps": max_steps is not None, "--replace-unknown": replace_unknown},
            **{"--backend": backend is not None, "--device": device is not None, "--dtype": dtype != "float32"},
            **{"--batch-size": batch_size != 64, "--output": output is not None},
        }
        if given := [name for name, is_given in of_models.items() if is_given]:
            raise ConfigError(f"{', '.join(given)} must be given with a checkpoint folder, got --translations.")
    read = (*(folders or ()), data, target, translations, *(reference or ()))
    check_result_file(json_file, force, never=(*read, output))
    check_result_file(output, force, never=read)
    check_tokenization(tokenize)
    penalty = chosen_length_penalty(length_penalty, beam, coverage=coverage_penalty)
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
    more = [lines_beside(path, pairs, data, num_examples) for path in reference or ()]
    vocabularies = None
    if translations is not None:
        texts = lines_beside(translations, pairs, data, num_examples)
    else:
        translator = Translator.load(
            as_one(folders or (), PAIRS),
            backend,
            device,
            dtype,
            batch_size=batch_size,
            max_steps=max_steps,
            too_long=too_long,
            replace_unknown=replace_unknown,
        )
        sources = [source for source, _ in pairs]
        tell_slower(translator.backend, dtype)
        tell_long_lines(translator, pairs.numbers)
        texts = translator.translate(sources, beam, penalty, coverage_penalty=coverage_penalty)
        tell_unended(translator, len(sources))
        vocabularies = translator.source_vocabulary, translator.target_vocabulary
    with each_written() as attempt:
        if output is not None:
            attempt(lambda: _write(output, spread(texts, pairs)))
        result = evaluate(pairs, texts, *more, vocabularies=vocabularies, tokenize=tokenize, lowercase=lowercase, ter=ter)
        for line in score_lines(result):
            print(line)
        if pairs.skipped:
            print(f"{skipped_lines(pairs.skipped)}")
        tell_bad_lines(pairs.bad_lines)
        if vocabularies is not None and (swapped := swapped_note(pairs, vocabularies)):
            tell(f"Note: {swapped}.")
        attempt(lambda: Output(json_file).write(result.to_dict()))


def _write(output: Path, rows: Iterable[str]) -> None:
    with rows_to(output) as write:
        write(rows)


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


def score_lines(result: Evaluation, explain: bool = True) -> list[str]:
    """The scores, a line each; ``explain`` what is to be known of them."""
    pairs, sources = counted(result.pairs, "pair"), counted(result.distinct_sources, "distinct source")
    return [
        f"BLEU         {result.bleu.value:6.2f}   {result.bleu.signature}",
        f"chrF         {result.chrf.value:6.2f}   {result.chrf.signature}",
        *([f"TER          {result.ter.value:6.2f}   {result.ter.signature}"] if result.ter else ()),
        f"exact match  {result.exact_match:6.1%}   of {pairs}: the translation is a target listed for the source",
        f"exact match  {result.distinct_exact_match:6.1%}   of {sources}, each counted once",
        *(result.remarks if explain else ()),
    ]
