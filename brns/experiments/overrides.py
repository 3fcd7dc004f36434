"""A search with settings changed by texts, as `--set` takes them."""

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

from brns.search import NoveltySearch
from brns.settings.configuration import configure, find_setting_types_and_meanings
from brns.settings.parts import PARTS, PLACES, SettingsError, find_part
from brns.tasks.chunked import rewrap_task, unwrap_task

KINDS = {place: kind for kind, place in PLACES.items()}
"""the kind of part in each place of a search"""


def apply_overrides(search: NoveltySearch, changes: Sequence[str]) -> NoveltySearch:
    """The search with settings changed by texts; a `SettingsError` reports all that are wrong."""
    wrapper = search.task
    search = dataclasses.replace(search, task=unwrap_task(wrapper))
    overrides: dict[str, dict[str, Any]] = {place: {} for place in (*KINDS, "")}
    problems = []
    for change in changes:
        name, equals, text = (piece.strip() for piece in change.partition("="))
        place, _, setting = name.rpartition(".")
        if name in KINDS and name not in ("task", "estimator"):
            try:
                operator = find_part(name, text, KINDS[name])
                search = dataclasses.replace(search, **{name: operator.load()()})
            except SettingsError as error:
                problems.append(str(error))
        elif equals and place in overrides and name not in KINDS:
            overrides[place][setting] = parse_value(text)
        else:
            begin = ", ".join(f"{place}." for place in KINDS)
            problems.append(
                f"--set takes NAME=VALUE, where NAME may begin with {begin}; another task or "
                f"estimator is taken by `brns run TASK --estimator NAME`; got {change!r}"
            )
    for place, values in overrides.items():
        part = getattr(search, place) if place else search
        settings = find_setting_types_and_meanings(type(part))
        for name in [name for name in values if name not in settings]:
            if hint := _suggest_other_places_of_setting(search, place, name, values[name]):
                problems.append(hint)
                del values[name]
        try:
            changed = configure(part, values) if values else part
            search = dataclasses.replace(search, **{place: changed}) if place else changed
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return dataclasses.replace(search, task=rewrap_task(wrapper, search.task))


def _suggest_other_places_of_setting(
    search: NoveltySearch, place: str, name: str, value: Any
) -> str | None:
    """Where the setting is that a part does not have: in other parts, or in parts not chosen."""
    typed = f"{place}.{name}".lstrip(".")
    begin = f"--set {typed}={value}: {typed} is no setting here"
    right = [
        f"{each}.{name}={value}"
        for each in KINDS
        if name in find_setting_types_and_meanings(type(getattr(search, each)))
    ]
    if right:
        return f"{begin}; did you mean {' or '.join(right)}?"
    holders = [
        f"{part.command_line_usage} ({part.search_argument}.{name})"
        for part in PARTS
        if part.kind not in ("task", "preset")
        and place in ("", part.search_argument)
        and name in find_setting_types_and_meanings(part.load())
    ]
    return f"{begin}; {', '.join(holders)} would have it" if holders else None


def parse_value(text: str) -> Any:
    """The value of a setting: a Python literal, or none, true or false; other words are strings."""
    words = {"none": "None", "true": "True", "false": "False"}
    try:
        return ast.literal_eval(words.get(text.lower(), text))
    except (ValueError, TypeError, SyntaxError):
        return text
