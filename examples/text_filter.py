"""A filter for texts before an expensive evaluation, such as an experiment: familiar texts are
left out.

    python examples/text_filter.py

A stream of 2,000 sentences on 40 topics: 883 sentences on one, a single sentence on another. The
embedding is a stand-in without a model. `1 / novelty - 1` are effective visits. An evaluated
sentence always has at least 1, so a sentence below 1 is less familiar than any evaluated one. A
fifth of this stream is below 0.5.
"""

import zlib
from functools import cache

import numpy as np

import brns

DIMENSIONS = 384
BOX = brns.Box([-3 / DIMENSIONS**0.5] * DIMENSIONS, [3 / DIMENSIONS**0.5] * DIMENSIONS)
"""unit vectors have coordinates of 1 / sqrt(d): in a box much larger all of them would be alike"""


@cache
def direction(word):
    return np.random.default_rng(zlib.crc32(word.encode())).normal(size=DIMENSIONS)


def embed(sentences):
    """Unit vectors; with a model: model.encode(sentences, normalize_embeddings=True)."""
    sums = np.array([sum(map(direction, sentence.split())) for sentence in sentences])
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def write(topic, random):
    """Ten of the fifteen words that a topic has, and two of any."""
    own = [f"word{topic}-{number}" for number in random.choice(15, 10, replace=False)]
    return " ".join(own + [f"any{number}" for number in random.choice(99, 2)])


def main(batch=50):
    random = np.random.default_rng(0)
    sizes = 1 / np.arange(1, 41) ** 1.5
    topics = random.choice(40, 2000, p=sizes / sizes.sum())
    embeddings = embed([write(topic, random) for topic in topics])
    novelty, evaluated = brns.Novelty(brns.VisitCounts(), BOX), []
    for first in range(0, len(topics), batch):
        rows = np.arange(first, first + batch)
        visits = 1 / novelty.score(embeddings[rows]) - 1
        rows = rows[visits < 0.5]
        evaluated.extend(rows)  # here the expensive evaluation of these
        novelty.learn(embeddings[rows])
    n = len(evaluated)
    for name, part in {"all": topics, "evaluated": topics[evaluated], "first": topics[:n]}.items():
        large = np.bincount(part).max()
        print(f"{name}: {len(part)} sentences, {len(set(part))} topics, {large} of the largest")


if __name__ == "__main__":
    main()
