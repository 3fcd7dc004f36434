"""Any Gymnasium environment as a task."""

try:
    import gymnasium as _  # noqa: F401
except ImportError:
    raise ImportError("GymnasiumTask needs Gymnasium: pip install 'brns[gymnasium]'") from None

from brns.tasks.gymnasium.actions import Policy as Policy
from brns.tasks.gymnasium.episode import Episode as Episode
from brns.tasks.gymnasium.task import GymnasiumTask as GymnasiumTask
