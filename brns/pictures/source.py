"""What pictures may ask of a run whose task or estimator is a user's own."""

from collections.abc import Iterable

from brns.runs.record import Record
from brns.search import NoveltySearch
from brns.settings import SettingsError


def search_for(record: Record, what: str) -> NoveltySearch:
    """The experiment that made the run; a `SettingsError` says that `what` needs it, and how to give it."""
    search = record.known_search
    if search is None:
        raise SettingsError(
            f"{what} needs the search that made {record.path}, which has parts of your own: give it with "
            "`--search module:object` on the command line, or in Python as `record.search = search`"
        )
    return search


def without_search(records: Iterable[Record]) -> str:
    """What is left out of runs whose search nobody gave, why, and how to have it; nothing where all are known."""
    unknown = [record for record in records if record.known_search is None]
    if not unknown:
        return ""
    return (
        "Left out: η, κ, maps of novelty and the walls of the world. They need the search that made "
        f"{unknown[0].path}, which has a task or an estimator of your own. Give it with --search module:object, or in "
        "Python as record.search = search."
    )
