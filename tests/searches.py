"""A search of 8 + 6 that takes milliseconds."""

from worlds import HostIdentity, Identity

from brns import BehaviorRecognition, NoveltySearch, PolynomialMutation, PopulationKNN

SETTINGS = {"population_size": 8, "offspring_size": 6, "mutate": PolynomialMutation(eta=2.0, rate=0.5)}
ESTIMATOR = BehaviorRecognition(depths=(0, 1))


def search(task=None, estimator=ESTIMATOR, **changes):
    return NoveltySearch(task or Identity(), estimator, **(SETTINGS | changes))


HOST = search(HostIdentity(), PopulationKNN(k=2))
"""on the host, where nothing is compiled but the novelty"""
