"""Behavior as an image: a convolutional encoder in place of the fully connected one,
and no distance between images.

    python examples/image_descriptors.py

The search draws rings on the left. Other rings there are familiar; rings on the right are novel,
and so are crosses. The picture shows some of each.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import brns
from brns.estimators.encoder import init_he

SIDE = 16  # pixels; a descriptor is the image, row by row


class ImageEncoder(eqx.Module):
    layers: eqx.nn.Sequential

    def __init__(self, key, depth):
        first, second = (
            eqx.nn.Conv2d(channels, 8, 3, stride=2, padding=1, key=key) for channels in (1, 8)
        )
        head = eqx.nn.MLP(8 * 4 * 4, 16, 32, depth - 2, jax.nn.leaky_relu, key=key)
        relu, flatten = eqx.nn.Lambda(jax.nn.leaky_relu), eqx.nn.Lambda(jnp.ravel)
        self.layers = init_he(eqx.nn.Sequential([first, relu, second, relu, flatten, head]), key)

    def __call__(self, descriptors):
        return jax.vmap(self.layers)(descriptors.reshape(-1, 1, SIDE, SIDE))


def draw(places, shape="rings"):
    x = abs(jnp.arange(SIDE) - places[:, 0, None, None])
    y = abs(jnp.arange(SIDE)[:, None] - places[:, 1, None, None])
    away = jnp.hypot(x, y) - places[:, 2, None, None]
    distance = away if shape == "rings" else abs(x - y) + jax.nn.relu(away)
    return jnp.exp(-(distance**2)).reshape(len(places), -1)


class LeftRings(eqx.Module):
    genotype_space: brns.Box = brns.Box(
        [3.0, 4.0, 2.0], [6.0, 11.0, 5.0]
    )  # the middle (x, y) and the radius
    behavior_space: brns.Box = brns.Box([0.0] * SIDE**2, [1.0] * SIDE**2)
    traceable: bool = True

    def evaluate(self, genotypes, key):
        return brns.Evaluation(draw(genotypes))


if __name__ == "__main__":
    estimator = brns.BehaviorRecognition(encoder=ImageEncoder)
    search = brns.NoveltySearch(LeftRings(), estimator, population_size=50, offspring_size=50)
    state = search.init(jax.random.key(0))
    for _ in range(150):
        state, _ = search.step(state, jax.random.key(0))
    left = search.task.genotype_space.uniform(jax.random.key(1), 200)
    right = left.at[:, 0].set(SIDE - 1 - left[:, 0])
    probes = {
        "rings, left": draw(left),
        "rings, right": draw(right),
        "crosses, left": draw(left, "crosses"),
    }
    figure, axes = plt.subplots(
        3, 8, figsize=(8, 3.6), layout="constrained", subplot_kw={"xticks": [], "yticks": []}
    )
    for row, (name, images) in zip(axes, probes.items(), strict=True):
        novelty = estimator.score(state.estimator, images, state.population)
        print(f"{name:13} median novelty {jnp.median(novelty):.3f}")
        row[0].set_ylabel(name)
        for ax, image, value in zip(row, images, novelty, strict=False):
            ax.imshow(image.reshape(SIDE, SIDE), cmap="gray")
            ax.set_title(f"{value:.2f}", fontsize="small")
    figure.savefig("image_descriptors.png", dpi=150)
