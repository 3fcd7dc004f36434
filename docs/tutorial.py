# %% [markdown]
# # Tutorial: a first search, step by step
#
# Forty robots a generation live in a maze, without any reward: only what is new survives. This page
# was executed when the documentation was built; below each cell is its output.
# {download}`Download it as a notebook <executed/tutorial.ipynb>`; the script is `docs/tutorial.py`.
#
# ## A search is a task and a novelty
#
# The robot has two wheels and a small neural network. A *genotype* is the weights of the network, a
# *behavior* is where the robot stands after 500 steps, and *novelty* says how unlike that is to
# what the search has seen. No novelty is named here, so it is visit counts.

# %%
import brns

search = brns.NoveltySearch(
    task=brns.DeceptiveMaze(steps=500), population_size=40, offspring_size=40
)
world = search.task
box = world.behavior_space
print(world.genotype_space.dimension, "genes; behaviors from", box.low, "to", box.high)

# %% [markdown]
# ## Run it
#
# Each generation is written to the folder `out` as soon as it is finished. The first one takes some
# seconds longer, because JAX compiles it. A run is never overwritten: to run this cell again, add
# `exist="resume"`. `brns.run` returns a list with a record for each seed, here one.

# %%
(record,) = brns.run(search, generations=30, out="runs/tutorial", checkpoint_every=3)
print("generations on disk:", record.generations[0], "to", record.generations[-1])

# %% [markdown]
# ## Look at it
#
# On the left is every behavior that was tried, early ones light and late ones dark. On the right is
# what is novel to the search now: the robots of the last generation live where few have been.

# %%
from brns.pictures import draw, overview

overview(record)

# %% [markdown]
# ## Ask it
#
# A column of the record is an array: generation by individual by dimension. The share of the maze
# that was visited is a function of the record.

# %%
from brns.metrics import coverage

ends = record.column("survivors.descriptor")
covered = coverage.of_record(record, (6, 6))
print("survivors.descriptor", ends.shape)
for generation in (0, 10, 20, 30):
    print(f"{covered[generation]:.0%} of the cells visited after generation {generation}")

# %% [markdown]
# ## Another novelty
#
# Visit counts are one way to tell what is new. Archive-based novelty search keeps behaviors and
# measures distances to them: it is another estimator in the same search.

# %%
archive = brns.NoveltySearch(world, brns.ArchiveKNN(), population_size=40, offspring_size=40)
(other,) = brns.run(archive, generations=30, out="runs/tutorial-archive", checkpoint_every=3)
draw("coverage", [record, other])

# %% [markdown]
# One seed of each says little. `brns.run(..., seeds=range(20))` runs twenty, a batch for each core;
# the line is then their mean, and the band their spread.
#
# ## Does it forget?
#
# `Q(i, j)` is how novel the population of generation *i* is to the novelty of generation *j*. Where
# it falls from left to right, the search remembers; where it rises again, the search goes back to
# old ground.

# %%
draw("q", [record, other])

# %% [markdown]
# ## Novelty without a search
#
# The estimator alone is useful, too: `init`, `score` and `update` are functions of arrays. The
# founders were novel when the search began, and are not any more:

# %%
import jax

state = record.state(30)
founders = ends[0]
now = search.estimator.score(state.estimator, founders, state.population)
before = search.init(jax.random.key(0))
then = search.estimator.score(before.estimator, founders, before.population)
print(
    f"mean novelty of the founders: {then.mean():.3g} at first, {now.mean():.3g} after 30 "
    "generations"
)

# %% [markdown]
# ## Go on
#
# `brns.resume` makes the run longer, to the same bits as if it had never stopped. On the command
# line it is `brns resume runs/tutorial --generations 60`, and
# `brns report runs/tutorial runs/tutorial-archive` writes an interactive page.

# %%
(record,) = brns.resume("runs/tutorial", generations=32)
print(record.generations[-1], "generations")

# %% [markdown]
# Next: [a task and a novelty of your own](extending.rst), [the worlds that come with
# it](worlds.rst), or [the equations](method.rst).
