"""The nouns of novelty search, and the contracts between its parts."""

from brns.core.box import Box as Box
from brns.core.contracts import Compactable as Compactable
from brns.core.contracts import Founders as Founders
from brns.core.contracts import Mutation as Mutation
from brns.core.contracts import NoveltyEstimator as NoveltyEstimator
from brns.core.contracts import Recombination as Recombination
from brns.core.contracts import Selection as Selection
from brns.core.contracts import Task as Task
from brns.core.population import Evaluation as Evaluation
from brns.core.population import Generation as Generation
from brns.core.population import Population as Population
