"""Islands on a cluster: four searches that share what they have seen,
as one array of constant size.

Each island is a search. Every 10 generations the visit counts of all islands are merged and sent
back: 4 MB to and from each island, however much it has seen. Islands with archives would have to
send all entries. Needs `pip install 'brns[dask]'`.
"""

import distributed
import equinox as eqx
import jax
import numpy as np

import brns

ARM, EVERY = brns.PlanarArm(), 10
VISITS = brns.VisitCounts()


@eqx.filter_jit
def evolve(search, state, key):
    """`EVERY` generations further, and the behaviors of all offspring."""

    def generation(state, _):
        state, facts = search.step(state, key)
        return state, facts.offspring.descriptor

    state, descriptors = jax.lax.scan(generation, state, length=EVERY)
    return state, descriptors.reshape(-1, 2)


def stretch(search, state, seed):
    """What a worker does. NumPy arrays travel well."""
    return jax.device_get(evolve(search, state, jax.random.key(seed)))


def islands(client, number, share, seed=0, generations=200, individuals=100):
    """The cells of 25 x 25 that `number` islands reach together, `individuals` in all."""
    search = brns.NoveltySearch(ARM, VISITS, individuals // number, individuals // number)
    seeds = [1000 * seed + i for i in range(number)]
    states = [jax.device_get(search.init(jax.random.key(one))) for one in seeds]
    first, _ = search.step(
        states[0], jax.random.key(seeds[0])
    )  # its founders give all islands their scale
    common = jax.device_get(VISITS.start_empty_island(first.estimator))
    states, visited = [state._replace(estimator=common) for state in states], []
    for _ in range(generations // EVERY):
        told = [
            client.submit(stretch, search, *one, pure=False)
            for one in zip(states, seeds, strict=True)
        ]
        states, descriptors = map(list, zip(*client.gather(told), strict=True))
        visited += descriptors
        if share:
            merged = VISITS.merge([state.estimator for state in states], ancestor=common)
            merged = jax.device_get(merged)
            states = [
                state._replace(estimator=estimator)
                for state, estimator in zip(states, merged, strict=True)
            ]
            common = merged[0]
    cells = np.floor(np.clip(np.concatenate(visited), 0, 0.999) * 25).astype(int)
    return len(np.unique(cells @ [25, 1]))


if __name__ == "__main__":
    with distributed.Client(n_workers=4, threads_per_worker=1, dashboard_address=None) as client:
        for name, number, share in (
            ("sharing", 4, True),
            ("apart", 4, False),
            ("one search", 1, False),
        ):
            print(f"{name}: {islands(client, number, share)} cells", flush=True)
