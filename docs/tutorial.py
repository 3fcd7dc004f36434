# %% [markdown]
# # Tutorial: a first search, step by step
#
# Robots in a maze, 40 a generation, without any reward: the most novel survive. This page
# was executed when the documentation was built; below each cell is its output.
# {download}`Download it as a notebook <executed/tutorial.ipynb>`; the script is `docs/tutorial.py`.
#
# ## A search is a task and a novelty estimator
#
# The robot has two wheels and a small neural network. A *genotype* is the weights of the network, a
# *behavior* is where the robot stands after 500 steps, and *novelty* is how much that differs from
# what the search has seen. No estimator is named here, so the default is used, visit counts.

# %%
import brns

search = brns.NoveltySearch(
    task=brns.DeceptiveMaze(steps=500), population_size=40, offspring_size=40
)
task = search.task
box = task.behavior_space
print(task.genotype_space.dimension, "genes; behaviors from", box.low, "to", box.high)

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
# On the left is every behavior that was evaluated, early ones light and late ones dark. On the
# right is the novelty map after the last generation, with its survivors: they stand where few
# have been.

# %%
from brns.pictures import draw, overview

overview(record)

# %% [markdown]
# ## Ask it
#
# A column of the record is an array: generation by individual by dimension. `coverage_of_record`
# gives the share of the maze's cells that survivors have visited by each generation.

# %%
from brns.metrics import coverage

ends = record.column("survivors.descriptor")
covered = coverage.coverage_of_record(record, (6, 6))
print("survivors.descriptor", ends.shape)
for generation in (0, 10, 20, 30):
    print(f"{covered[generation]:.0%} of the cells visited after generation {generation}")

# %% [markdown]
# ## Another novelty
#
# Visit counts are one way to tell what is new. Archive-based novelty search keeps behaviors and
# measures distances to them. It is another estimator for the same task.

# %%
archive = brns.NoveltySearch(task, brns.ArchiveKNN(), population_size=40, offspring_size=40)
(other,) = brns.run(archive, generations=30, out="runs/tutorial-archive", checkpoint_every=3)
draw("coverage", [record, other])

# %% [markdown]
# One seed of each says little. `brns.run(..., seeds=range(20))` runs twenty, spread over the cores;
# the line is then their mean, and the band their spread.
#
# ## Does it forget?
#
# `Q(i, j)` is the mean novelty of the population of generation *i*, scored by the estimator's state
# of generation *j*. Along a row, it falls where the estimator remembers. Where it rises again,
# places that were visited are novel again, and the search may return to them.

# %%
draw("q", [record, other])

# %% [markdown]
# ## Novelty without a search
#
# An estimator works without a search, too: `init`, `score` and `update` are functions of arrays.
# The founders, scored by the first state and by the last:

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
# `brns.resume` continues the run, bit-identical to one that never stopped. On the command line it
# is `brns resume runs/tutorial --generations 60`. `brns report runs/tutorial runs/tutorial-archive`
# writes an interactive page.

# %%
(record,) = brns.resume("runs/tutorial", generations=32)
print(record.generations[-1], "generations")

# %% [markdown]
# Next: [a task and an estimator of your own](extending.rst), [benchmark tasks and
# comparisons](worlds.rst), or [the equations](method.rst).
