"""The source as a model reads it: ids and, for positions in a tree, the heads of the pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

from regard.data.batch import EOS, Padded
from regard.data.trees import Heads, check_tree, cut_heads, encode_trees
from regard.predict import Predictor


class Source(NamedTuple):
    """The ids of a line, without EOS, and the heads of its pieces if the model reads them."""

    ids: Sequence[int]
    heads: Optional[Sequence[int]] = None

    def cut(self, length: int) -> Source:
        heads = None if self.heads is None else cut_heads(self.heads, length)
        return Source(self.ids[:length], heads)


def read_sources(
    predictor: Predictor, lines: Sequence[str], heads: Optional[Sequence[Heads]], first: int = 1
) -> list[Source]:
    """Each line as translating reads it, by the heads of its words; `first` is for errors, the
    number of the first line."""
    encode, texts = predictor.tokenizers.source.encode, [line.strip() for line in lines]
    if heads is None:
        return [Source(ids) for ids in encode(texts)]
    for number, (text, tree) in enumerate(zip(texts, heads, strict=True), first):
        check_tree(tree, len(text.split()), f"Line {number}")
    return [Source(*each) for each in zip(*encode_trees(texts, heads, encode), strict=True)]


def padded(sources: Sequence[Source]) -> Padded:
    """What the model is given: EOS ends each of them."""
    heads = [source.heads for source in sources if source.heads is not None]
    return Padded.of([[*source.ids, EOS] for source in sources], heads or None)
