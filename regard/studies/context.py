"""A word's representation depends on its context: one spelling, several meanings, by layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.corpora import grammar
from regard.data.batch import Padded
from regard.drawing.charts import Lines
from regard.runs.folder import Run
from regard.studies.base import Finding, Study, above, below, difference, mean
from regard.studies.grammar_task import GrammarTask
from regard.studies.laboratory import Laboratory

SPELLINGS = {
    "it": ("er", "sie", "es"),
    "when": ("als", "wenn"),
    "that": ("dass", "die", "das"),
    "the": ("der", "die", "das", "den"),
}
"""English words, and the German ones among which their context decides."""
MOST = 300
"""Occurrences of each meaning."""
FOLDS, RIDGE = 5, 0.1
"""Of the probe: parts that are held out in turn, and the penalty per vector."""

Occurrence = tuple[str, int, int]
"""A sentence, the index of the word in it, and the number of its meaning."""


def occurrences(examples: Sequence[grammar.Example], word: str) -> list[Occurrence]:
    """Where a word is translated into one of its meanings, as many times into each."""
    found: dict[int, list[Occurrence]] = defaultdict(list)
    for example in examples:
        source, target = example.source.split(), example.target.split()  # case is spelling
        for index, text in enumerate(source):
            links = [each for of, each in example.alignment if of == index]
            if text == word and len(links) == 1 and target[links[0]] in SPELLINGS[word]:
                meaning = SPELLINGS[word].index(target[links[0]])
                found[meaning].append((example.source, index, meaning))
    count = min(MOST, *(len(found[meaning]) for meaning in range(len(SPELLINGS[word]))))
    return [each for meaning in sorted(found) for each in found[meaning][:count]]


@torch.inference_mode()
def vectors(laboratory: Laboratory, run: Run, given: Sequence[Occurrence]) -> list[Tensor]:
    """The representations (N, D) of the occurrences: as embedded, and after each encoder layer."""
    model, tokenizer = laboratory.model(run), run.tokenizers().source
    kept: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: Tensor) -> None:
        kept.append(output)

    embeddings = [each for each in model.encoder.modules() if isinstance(each, nn.Embedding)]
    layers = next(each for each in model.encoder.modules() if isinstance(each, nn.ModuleList))
    handles = [each.register_forward_hook(keep) for each in (embeddings[0], *layers)]
    try:
        model.encoder(Padded.of(tokenizer.encode([text for text, _, _ in given])))
    finally:
        for handle in handles:
            handle.remove()
    rows, columns = torch.arange(len(given)), torch.tensor([index for _, index, _ in given])
    return [each[rows, columns] for each in kept]


def similarity(found: Tensor) -> float:
    """The mean cosine of the vectors (N, D) of two occurrences."""
    unit = nn.functional.normalize(found, dim=-1)
    count = len(unit)
    return float(((unit @ unit.T).sum() - count) / (count * (count - 1)))


def told_apart(found: Tensor, meanings: Tensor) -> float:
    """The percentage of vectors (N, D) whose meaning a linear probe tells, trained on the others.

    Each fold has as many of every meaning if `meanings` has, so that vectors without information
    are told apart by chance: equal scores share the point.
    """
    kinds = nn.functional.one_hot(meanings).float()
    before = (kinds.cumsum(dim=0) * kinds).sum(dim=1).long() - 1  # with the same meaning
    right = 0.0
    for fold in range(FOLDS):
        held = before % FOLDS == fold
        scores = _probe(found[~held], kinds[~held], found[held])
        best = scores >= scores.max(dim=1, keepdim=True).values - 1e-4
        right += float((best * kinds[held]).sum(dim=1).div(best.sum(dim=1)).sum())
    return 100 * right / len(found)


def _probe(inputs: Tensor, kinds: Tensor, held: Tensor) -> Tensor:
    """Scores (M, kinds) of vectors (M, D) by ridge regression from inputs (N, D) to kinds."""
    centre, scale = inputs.mean(dim=0), inputs.std(dim=0) + 1e-6
    x = (inputs - centre) / scale
    penalty = RIDGE * len(x) * torch.eye(x.shape[1])
    weights = torch.linalg.solve(x.T @ x + penalty, x.T @ (kinds - kinds.mean(dim=0)))
    return (held - centre) / scale @ weights + kinds.mean(dim=0)


def measure(laboratory: Laboratory) -> Finding:
    task = GrammarTask(laboratory)
    examples = grammar.generate(0, held_out=laboratory.effort(16_000, 1500)).test
    given = {word: occurrences(examples, word) for word in SPELLINGS}
    similar: dict[str, list[list[float]]] = {word: [] for word in SPELLINGS}
    apart: dict[str, list[list[float]]] = {word: [] for word in SPELLINGS}
    for run in task.runs():
        for word, each in given.items():
            found = vectors(laboratory, run, each)
            meanings = torch.tensor([meaning for _, _, meaning in each])
            similar[word].append([similarity(layer) for layer in found])
            apart[word].append([told_apart(layer, meanings) for layer in found])
    checks = []
    for word in SPELLINGS:
        first, last = ([seed[index] for seed in apart[word]] for index in (0, -1))
        checks.append(
            above(
                f"context tells the meanings of {word!r} apart", difference(last, first, "%"), 20.0
            )
        )
    last_similar = mean(
        [
            sum(similar[word][seed][-1] for word in SPELLINGS) / len(SPELLINGS)
            for seed in range(len(laboratory.seeds))
        ]
    )
    final = {word: mean([seed[-1] for seed in each], "%") for word, each in apart.items()}
    chance = {word: 100 / len(each) for word, each in SPELLINGS.items()}
    return Finding(
        f"The last layer tells the {len(SPELLINGS['it'])} meanings of 'it' apart in "
        f"{final['it'].value:.0f} % of the sentences (its embedding: {chance['it']:.0f} %).",
        {
            **{f"meaning known, {word}": number for word, number in final.items()},
            "cosine of one word in two sentences, last layer": last_similar,
        },
        (*checks, below("one spelling has many representations", last_similar, 0.9)),
        (
            _chart("Meanings told apart", "per cent", apart),
            _chart("Similarity of one word in two sentences", "cosine", similar),
        ),
    )


def _chart(title: str, label: str, values: dict[str, list[list[float]]]) -> Lines:
    lines = {
        word: [
            (float(layer), mean(each).value) for layer, each in enumerate(zip(*seeds, strict=True))
        ]
        for word, seeds in values.items()
    }
    return Lines(title, "encoder layer (0: embedding)", label, lines)


STUDY = Study(
    title="A word's representation depends on its context",
    claim="An embedding is the same wherever a word occurs; self-attention looks at the "
    "surrounding words and represents the word as what it means in this sentence.",
    formula="x_i = E[word_i], the same in every sentence; h_i = sum_j a_ij v_j, different in each",
    method="Four English spellings of the grammar corpus have several German translations, which "
    "the alignments tell apart: it (er, sie, es), when (als, wenn), that and the. Test sentences "
    "with each are encoded. For the embedding and after each layer: the cosine of two "
    "occurrences, and how often a linear probe (ridge regression, five folds) tells the meaning "
    "of an occurrence that it was not trained on.",
    change="Add a spelling to SPELLINGS; vectors(laboratory, run, occurrences) gives the "
    "representations in any run.",
    meaning="Take vectors of words from a layer of the encoder, not from the embedding, if their "
    "meaning in the sentence matters. What is told apart is what the task needs: here, what "
    "German says.",
    measure=measure,
)
