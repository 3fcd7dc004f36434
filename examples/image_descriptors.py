"""Behavior as an image: a convolutional encoder in place of the fully connected one, and no distance between images.

    python examples/image_descriptors.py            (ends with image_descriptors.png)

The search draws rings in the left half. Rings that it never drew are familiar to it there, rings on the right are
novel, and so are crosses. The latter it tells apart thanks to a sample of past images to train on (`reservoir`): with
none, as in the paper, the encoder follows the population, which is always elsewhere, and forgets shapes.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from matplotlib.figure import Figure

import brns
from brns.estimators.recognition import he

SIDE = 16  # pixels; a descriptor is the image's 256 pixels, row by row


class ImageEncoder(eqx.Module):
    convolutions: tuple[eqx.nn.Conv2d, ...]
    head: eqx.nn.MLP

    def __init__(self, key, depth):
        keys = jax.random.split(key, 4)
        self.convolutions = he([eqx.nn.Conv2d(c, 8, 3, 2, padding=1, key=keys[0]) for c in (1, 8)], keys[1])
        self.head = he(eqx.nn.MLP(8 * 4 * 4, 16, 32, depth - 2, jax.nn.leaky_relu, key=keys[2]), keys[3])

    def __call__(self, descriptors):
        return jax.vmap(self.embed)(descriptors.reshape(-1, 1, SIDE, SIDE))

    def embed(self, image):
        for convolution in self.convolutions:
            image = jax.nn.leaky_relu(convolution(image))
        return self.head(image.ravel())


def draw(places, shape):
    """Images of rings or crosses: a row of `places` is the middle (x, y) and the radius, in pixels."""
    across, down = (abs(jnp.arange(SIDE) - places[:, i, None]) for i in (0, 1))
    x, y, radius = across[:, None, :], down[:, :, None], places[:, 2, None, None]
    away = jnp.hypot(x, y) - radius
    distance = away if shape == "rings" else jnp.abs(x - y) + jax.nn.relu(away)
    return jnp.exp(-(distance**2)).reshape(len(places), -1)


class LeftRings(eqx.Module):
    genotype_space: brns.Box = brns.Box([3.0, 4.0, 2.0], [6.0, 11.0, 5.0])
    behavior_space: brns.Box = brns.Box([0.0] * SIDE**2, [1.0] * SIDE**2)
    traceable: bool = True

    def evaluate(self, genotypes, key):
        n = len(genotypes)
        return brns.Evaluation(draw(genotypes, "rings"), jnp.zeros(n), jnp.zeros(n, bool))


def main(generations=150):
    task, key = LeftRings(), jax.random.key(0)
    estimator = brns.BehaviorRecognition(encoder=ImageEncoder, learning_rate=3e-3, reservoir=2000)
    search = brns.NoveltySearch(task, estimator, population_size=50, offspring_size=50)
    state = search.init(key)
    for _ in range(generations):
        state, _ = search.step(state, key)
    left = task.genotype_space.uniform(jax.random.key(1), 200)
    right = left.at[:, 0].set(SIDE - 1 - left[:, 0])
    figure, medians = Figure(figsize=(9, 3.6), layout="constrained"), []
    probes = {"rings, left": (left, "rings"), "rings, right": (right, "rings"), "crosses, left": (left, "crosses")}
    for row, (name, probe) in zip(figure.subplots(3, 9), probes.items(), strict=True):
        images = draw(*probe)
        novelty = estimator.score(state.estimator, images, state.population)
        medians.append(float(jnp.median(novelty)))
        print(f"{name:13} median novelty {medians[-1]:.3f}")
        for ax, image, value in zip(row, images, novelty.tolist(), strict=False):
            ax.imshow(image.reshape(SIDE, SIDE), cmap="gray_r")
            ax.set(title=f"{value:.2f}", xticks=[], yticks=[])
        row[0].set_ylabel(name.replace(", ", "\n"))
    figure.suptitle(f"Novelty after {generations} generations of rings on the left")
    figure.savefig("image_descriptors.png")
    return medians


if __name__ == "__main__":
    main()
