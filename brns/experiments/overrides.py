"""A search with settings changed by texts, as `--set` takes them."""

import ast
import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx

from brns.search import NoveltySearch
from brns.settings.configuration import configure, settings
from brns.settings.parts import Kind, SettingsError, lookup, parts
from brns.tasks.chunked import Chunked, innermost

OPERATORS: dict[str, Kind] = {"mutate": "mutation", "select": "selection", "founders": "founders"}
"""the operators of a search and their kinds of part"""
PARTS = ("task", "estimator", *OPERATORS)


def apply_overrides(search: NoveltySearch, changes: Sequence[str]) -> NoveltySearch:
    """The search with settings changed by texts.

    Args:
        search: as it is.
        changes: such as `estimator.epochs=5` or `mutate=gaussian`.

    Raises:
        SettingsError: which reports all changes that are wrong.
    """
    overrides: dict[str, dict[str, Any]] = {part: {} for part in (*PARTS, "")}
    problems = []
    for change in changes:
        name, equals, text = (piece.strip() for piece in change.partition("="))
        part, _, setting = name.rpartition(".")
        if name in OPERATORS:
            try:
                operator = lookup(name, text, OPERATORS[name])
                search = dataclasses.replace(search, **{name: operator.load()()})
            except SettingsError as error:
                problems.append(str(error))
        elif name in ("task", "estimator"):
            problems.append(
                f"--set changes a setting, as {name}.NAME=VALUE; another {name} is taken by "
                "`brns run WORLD --estimator NAME`"
            )
        elif equals and part in overrides:
            overrides[part][setting] = parse_value(text)
        else:
            prefixes = ", ".join(f"{part}." for part in PARTS)
            problems.append(
                f"--set takes NAME=VALUE, where NAME may begin with {prefixes}; got {change!r}"
            )
    for part, values in overrides.items():
        target = getattr(search, part) if part else search
        for name in [name for name in values if name not in _settings_by_name(target)]:
            if hint := _hint(search, part, name, values[name]):
                problems.append(hint)
                del values[name]
        if not values:
            continue
        try:
            changed = _configure(target, values)
            search = dataclasses.replace(search, **{part: changed}) if part else changed
        except ValueError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return search


def _hint(search: NoveltySearch, part: str, name: str, value: Any) -> str | None:
    """Where the setting is that a part does not have: in other parts, or in parts not chosen."""
    typed = f"{part}.{name}" if part else name
    begin = f"--set {typed}={value}: {typed} is no setting here"
    places = [other for other in PARTS if name in _settings_by_name(getattr(search, other))]
    if places:
        right = " or ".join(f"{other}.{name}={value}" for other in places)
        return f"{begin}; did you mean {right}?"
    holders = ", ".join(_holders(part, name))
    return f"{begin}; {holders} would have it" if holders else None


def _holders(part: str, name: str) -> list[str]:
    """How a command line chooses the parts, in this place if given, that have a setting."""
    uses = {"estimator": "--estimator ", **{operator: f"{operator}=" for operator in OPERATORS}}
    holders = []
    for place, use in uses.items():
        kind = OPERATORS.get(place, "estimator")
        for other in parts(kind).values() if part in ("", place) else ():
            if name in settings(other.load()):
                holders.append(f"{use}{other.name} ({place}.{name})")
    return holders


def _settings_by_name(part: Any) -> dict[str, Any]:
    """The settings of a part; of a task in chunks those of the task itself."""
    part = innermost(part) if isinstance(part, Chunked) else part
    return settings(type(part)) if dataclasses.is_dataclass(part) else {}


def _configure(part: Any, changes: dict[str, Any]) -> Any:
    """The part with some settings changed; of a task in chunks those of the task itself."""
    if isinstance(part, Chunked):
        return eqx.tree_at(lambda chunked: chunked.task, part, _configure(part.task, changes))
    return configure(part, changes)


def parse_value(text: str) -> Any:
    """The value of a setting: a Python literal, or none, true or false; other words are strings."""
    words = {"none": "None", "true": "True", "false": "False"}
    try:
        return ast.literal_eval(words.get(text.lower(), text))
    except (ValueError, TypeError, SyntaxError):
        return text
