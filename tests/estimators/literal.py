"""Algorithm 1 written out in NumPy, and what the tests of behavior recognition train."""

import dataclasses

import jax
import numpy as np
from learning import SQUARE, people

from brns import Generation
from brns.experiments import make_paper_brns

SMALL = {"depths": (0, 1)}  # where the depth plays no part: quick to compile


def paper(**changes):
    """BR-NS with the paper's settings but for the changes."""
    return dataclasses.replace(make_paper_brns(), **changes)


def generation(number, parents, offspring, survivors=None):
    survivors = offspring if survivors is None else survivors
    return Generation(people(parents, 0), people(offspring, number), people(survivors, number))


def uniform(seed, n, space=SQUARE):
    return space.uniform(jax.random.key(seed), n)


class Literal:
    """The equations of section 3 in NumPy, float64: layers of (V, c), MSE gradient by hand,
    Adam."""

    def __init__(self, estimator, state):
        self.target, self.predictor = (
            [_float64(layer) for layer in e.layers] for e in (state.target, state.predictor)
        )
        self.first, self.second = (jax.tree.map(np.zeros_like, self.predictor) for _ in range(2))
        self.steps, self.rate = 0, estimator.learning_rate

    @staticmethod
    def forward(layers, points):
        """The output of every layer, the input first."""
        outputs = [np.asarray(points, np.float64)]
        for number, (weight, bias) in enumerate(layers):
            y = outputs[-1] @ weight.T + bias
            outputs.append(y if number == len(layers) - 1 else np.where(y > 0, y, 0.01 * y))
        return outputs

    def novelty(self, points):
        target, found = (self.forward(e, points)[-1] for e in (self.target, self.predictor))
        return ((target - found) ** 2).sum(axis=1)

    def gradient(self, points):
        """Of the mean of M over the points, layer by layer."""
        outputs = self.forward(self.predictor, points)
        delta = 2 * (outputs[-1] - self.forward(self.target, points)[-1]) / len(points)
        gradients = []
        for number in reversed(range(len(self.predictor))):
            gradients.append([delta.T @ outputs[number], delta.sum(axis=0)])
            slope = np.where(outputs[number] > 0, 1.0, 0.01)
            delta = (delta @ self.predictor[number][0]) * slope
        return gradients[::-1]

    def descend(self, points):
        """One step of Adam with the constants of its paper."""
        self.steps += 1
        for i, layer in enumerate(self.gradient(points)):
            for j, g in enumerate(layer):
                self.first[i][j] = 0.9 * self.first[i][j] + 0.1 * g
                self.second[i][j] = 0.999 * self.second[i][j] + 0.001 * g**2
                m = self.first[i][j] / (1 - 0.9**self.steps)
                v = self.second[i][j] / (1 - 0.999**self.steps)
                self.predictor[i][j] = self.predictor[i][j] - self.rate * m / (np.sqrt(v) + 1e-8)

    def distance(self, predictor):
        """The largest difference of a weight from that of a predictor."""
        theirs = [_float64(layer) for layer in predictor.layers]
        return max(
            np.abs(a - b).max()
            for x, y in zip(self.predictor, theirs, strict=True)
            for a, b in zip(x, y, strict=True)
        )


def _float64(layer):
    return [np.asarray(layer.weight, np.float64), np.asarray(layer.bias, np.float64)]
