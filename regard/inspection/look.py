"""A look at how one sentence was read and written: everything as arrays, and as a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional, Union

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.annotation import Points
from regard.data.batch import Batch, Padded, Row
from regard.data.line import Line, Pair, Text
from regard.data.pictures import Picture
from regard.data.targets import check_target
from regard.data.tokenizer import Tokenizer
from regard.data.words import Side, merge
from regard.errors import UsageError
from regard.inspection.aligning import agreeing_heads, moments_of
from regard.inspection.alignment import AttentionHeads, Method, between_words, links
from regard.inspection.attention import entropy
from regard.inspection.search_tree import Node, Trace
from regard.inspection.vectors import Neighbours, Part, PositionTable, neighbours, position_table
from regard.messages import counted
from regard.metrics.alignment import Links, pharaoh
from regard.models.base import Model
from regard.nn.captured import Attention, by_sentence, watch
from regard.predict import Predictor
from regard.search.base import Hypothesis

RUNNERS_UP = 6


@dataclass(frozen=True)
class Written:
    """A token of the target: how probable it was, and what else might have stood there."""

    piece: str
    log_probability: float
    best: tuple[tuple[str, float], ...]  # pieces and log-probabilities, most probable first
    word: str = ""  # of the source, if the model writes a tag for each


@dataclass(frozen=True)
class Look:
    """How a model read one source and wrote one target, or read a target that was given.

    The weights are those of one teacher-forced pass over exactly these tokens. `read` is what the
    decoder had read at each position: it begins with BOS where `target` ends with EOS. A model that
    writes all at once has read nothing. One without some kind of attention has no layers of it, and
    a language model's source is empty.
    """

    text: str
    translation: str
    given: bool  # the target was given, not searched for
    prefix: str  # what the target had to begin with
    source: Side
    target: Side
    read: Optional[Side]
    layers: Attention
    written: tuple[Written, ...]
    search_tree: tuple[Node, ...]
    search_pieces: tuple[str, ...]  # one for each node
    source_neighbours: tuple[Neighbours, ...]
    target_neighbours: tuple[Neighbours, ...]
    positions: Optional[PositionTable]
    attention_heads: AttentionHeads  # whose attention gives the alignment
    source_values: Mapping[str, tuple[int, ...]]  # what the model found for each source token
    title: str  # the text as pages show it
    picture: Optional[Picture] = None  # if that is what the source is
    points: Points = ()  # if that is what its words are

    @property
    def log_probability(self) -> float:
        return sum(each.log_probability for each in self.written)

    def sides(self, kind: str) -> tuple[Side, Side]:
        """The axis that attends and the axis it attends to."""
        return self.layers.sides(kind, self.source, self.target, self.read)

    def kind(self, kind: Optional[str] = None) -> str:
        """The same, if the model has such attention; by default cross, or the first that it has."""
        kinds = list(self.layers.kinds)
        if not kinds:
            raise UsageError("This model has no attention to show: save the page as .html instead.")
        if kind is None:
            return "cross" if "cross" in kinds else kinds[0]
        if kind not in kinds:
            raise UsageError(f"This model has no {kind} attention: choose {' or '.join(kinds)}.")
        return kind

    def attention(
        self,
        kind: Optional[str] = None,
        layer: Optional[int] = None,
        head: Optional[int] = None,
        words: bool = False,
    ) -> NDArray[np.float64]:
        """(T, S): who looks at whom. Layer and head count from 1; without, it is their mean."""
        kind = self.kind(kind)
        found = self.layers.of(kind)
        for name, value, most in (("layer", layer, len(found)), ("head", head, len(found[0]))):
            if value is not None and not 1 <= value <= most:
                raise UsageError(f"There is no {name} {value}: choose one from 1 to {most}.")
        chosen = found if layer is None else found[layer - 1 : layer]
        of_head = [each if head is None else each[head - 1 : head] for each in chosen]
        mean = np.mean([each.astype(np.float64).mean(axis=0) for each in of_head], axis=0)
        return merge(mean, *self.sides(kind)) if words else mean

    def entropy(self, kind: str = "cross") -> list[list[float]]:
        """Bits by layer and head: 0 attends to one position, log2 n to all n equally."""
        return [entropy(layer).tolist() for layer in self.layers.of(kind)]

    def alignment(
        self, heads: Optional[AttentionHeads] = None, method: Method = "grow-diag"
    ) -> Links:
        """Pairs (source word, target word) from 0, by the attention of some heads."""
        chosen = heads or self.attention_heads
        weights = chosen.mean(self.layers.cross)
        return links(between_words(weights, self.source, self.target, chosen.moment), method)

    def pharaoh(self, heads: Optional[AttentionHeads] = None, method: Method = "grow-diag") -> str:
        """The alignment as text: 0-0 1-2 2-1."""
        return pharaoh(self.alignment(heads, method))

    def html(self) -> str:
        """One page that needs no network."""
        from regard.inspection.page import page

        return page([self])

    def _repr_html_(self) -> str:
        from regard.inspection.page import frame

        return frame(self.html())

    def save(
        self,
        path: Union[str, Path],
        kind: Optional[str] = None,
        layer: Optional[int] = None,
        head: Optional[int] = None,
        words: bool = False,
    ) -> None:
        """The whole page as .html; one heat map as .svg or .png, which is laid over the picture if
        the source is one."""
        from regard.drawing.heat_map import save_heat_map
        from regard.drawing.pictures import save_overlays
        from regard.inspection.page import save_page

        path = Path(path)
        if path.suffix.lower() in (".html", ".htm"):
            save_page([self], path)
            return
        weights = self.attention(kind, layer, head, words)
        looking, looked_at = self.sides(self.kind(kind))
        if self.picture is not None and looked_at is self.source and not words:
            save_overlays(path, self.picture.laid_over(weights), looking.pieces)
        else:
            names = [side.words if words else side.pieces for side in (looking, looked_at)]
            save_heat_map(path, weights, names[0], names[1])


def look(
    predictor: Predictor,
    text: Text,
    target: Optional[str] = None,
    attention_heads: Optional[AttentionHeads] = None,
    prefix: Optional[str] = None,
) -> Look:
    """Look at how a sentence is translated, or how a given target is read with it.

    With a prefix, the translation begins with it. A model that reads dependency trees gets a `Line`
    with its tree, as for translating. A language model continues the text, and the look is at what
    it wrote. Without `attention_heads`, words are aligned by the heads whose two directions agree
    most in this sentence.
    """
    model, sides, line = predictor.model, predictor.tokenizers, Line.of(text).stripped()
    source, tokens, nodes = _both(predictor, line, target, prefix)
    batch = Batch(Padded.of_rows([source]), Padded.of_rows([Row(tokens)])).to(model.device)
    written, attention = _read(model, sides.target, batch)
    source_side, target_side = Side.of(sides.source, source.ids), Side.of(sides.target, tokens)
    picture = predictor.picture(source)
    if picture is not None:
        source_side = source_side.by_piece(picture.names)
    if model.writes == "tags":
        words = zip(written, source_side.words, strict=False)
        written = tuple(replace(each, word=word) for each, word in words)
    shown = max(16, len(source_side.ids), len(target_side.ids))
    part: Part = "encoder" if model.reads_source else "decoder"
    return Look(
        text=line.text,
        translation=sides.target.decode(tokens),
        given=target is not None,
        prefix=(prefix or "").strip(),
        source=source_side,
        target=target_side,
        read=target_side.shifted(sides.target) if model.reads_target else None,
        layers=attention,
        written=written,
        search_tree=nodes,
        search_pieces=tuple(sides.target.pieces([node.token for node in nodes])),
        source_neighbours=neighbours(model, "encoder", sides.source, source.ids),
        target_neighbours=neighbours(model, "decoder", sides.target, tokens),
        positions=position_table(
            model, part, min(shown, model.length_limit or shown), _most_heads(attention)
        ),
        attention_heads=attention_heads
        or agreeing_heads(attention, source_side, target_side, moments_of(model)),
        source_values={
            name: tuple(values[0].tolist()) for name, values in model.source_values(batch).items()
        },
        title=predictor.shown(line),
        picture=picture,
        points=predictor.points(line),
    )


Ids = tuple[int, ...]


def _both(
    predictor: Predictor, line: Line, target: Optional[str], prefix: Optional[str]
) -> tuple[Row, Ids, tuple[Node, ...]]:
    """The source, the ids of a target, given or found, and the search tree."""
    source, begun = Row(()), None
    if predictor.model.reads_source:
        (source,) = predictor.read_sources([line])
        _must_be_whole(source.ids, predictor.length_limit, "sentence")
        begun = _begun(predictor, line, prefix) if prefix and prefix.strip() else None
    elif prefix is not None:
        raise UsageError("A language model continues the text itself: give no prefix.")
    else:
        begun = _encode(predictor, line.text, "sentence")
    if target is not None and prefix is not None:
        raise UsageError("Give a target or a prefix, not both.")
    if target is not None:
        check_target(predictor.model.writes, Pair(1, line, Line(target)), "The target")
        return source, _encode(predictor, target, "target"), ()
    trace = Trace()
    found = _search(predictor, source, begun, trace)
    return source, found[0].tokens, trace.nodes(found)


def _begun(predictor: Predictor, line: Line, prefix: str) -> Ids:
    if predictor.model.writes == "indices":
        check_target("indices", Pair(1, line, Line(prefix)), "The prefix")
    return _encode(predictor, prefix, "prefix")


def _encode(predictor: Predictor, text: str, name: str) -> Ids:
    (row,) = predictor.read_targets([text.strip()])
    _must_be_whole(row.ids, predictor.length_limit, name)
    return tuple(row.ids)


def _must_be_whole(ids: Sequence[int], longest: int, name: str) -> None:
    if not ids:
        raise UsageError(f"There is no text in the {name}: give some to look at.")
    if len(ids) > longest:
        raise UsageError(
            f"The {name} has {counted(len(ids), 'piece')}, more than the {longest:,} that are "
            "read: shorten it."
        )


def _search(
    predictor: Predictor, source: Row, prefix: Optional[Ids], trace: Trace
) -> list[Hypothesis]:
    """All hypotheses that were finished, best first, while the trace is told of each step."""
    device = predictor.model.device
    begun = None if prefix is None else Padded.of([prefix]).to(device)
    search = predictor.search.observed(trace)
    limits, given = None, Padded.of_rows([source]).to(device)
    if begun is not None and not predictor.model.reads_source:
        limits, given = search.limits(begun.lengths + 1), Padded.of([[]]).to(device)
    found = predictor.model.generate(given, search, begun, limits)[0]
    if trace.totals and found[0].tokens and found[0].tokens not in trace.totals:
        raise UsageError("A shortlist renumbers tokens: use a predictor without one.")
    return found


@torch.inference_mode()
def _read(
    model: Model, tokenizer: Tokenizer, batch: Batch
) -> tuple[tuple[Written, ...], Attention]:
    """One captured pass: each target token with what else was probable, and all weights."""
    choices, captured = watch(model, model.choices, batch)
    if choices is None:
        logs, captured = watch(model, model.log_probabilities, batch)
        best: list[list[tuple[int, float]]] = [[] for _ in logs[0]]
    else:
        logs = choices.gather(2, batch.target.values[:, :, None])[:, :, 0]
        best = _best(choices[0])
    pieces = tokenizer.pieces(batch.target.values[0].tolist())
    written = tuple(
        Written(piece, log, tuple((tokenizer.pieces([id])[0], value) for id, value in others))
        for piece, log, others in zip(pieces, logs[0].tolist(), best, strict=True)
    )
    return written, by_sentence(captured, batch)[0]


def _best(logs: Tensor) -> list[list[tuple[int, float]]]:
    """The most probable tokens at each position of (T, V); impossible ones are left out."""
    top = logs.topk(min(RUNNERS_UP, logs.shape[1]), dim=1)
    return [
        [(id, value) for id, value in zip(ids, values, strict=True) if math.isfinite(value)]
        for ids, values in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]


def _most_heads(attention: Attention) -> int:
    return max((len(layer) for kind in attention.kinds for layer in attention.of(kind)), default=0)
