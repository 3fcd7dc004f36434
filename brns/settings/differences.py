"""In what settings differ, from other ones and from the defaults, and in words."""

import dataclasses
import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from brns.settings.description import (
    descriptions_equal,
    is_array,
    key_of_setting,
    list_public_dataclass_fields,
    part_to_json,
)

SHORT = reprlib.Repr()
"""the text of a value, of a list with six items"""
SHORT.maxstring = 200  # a path


def flatten_settings(description: Any, prefix: str = "") -> dict[str, Any]:
    """The settings of a part's JSON by dotted name, such as `estimator.epochs` to 5."""
    if not isinstance(description, Mapping):
        return {prefix.lstrip("."): description}
    flat = {}
    for name, part in description.items():
        flat |= flatten_settings(part, f"{prefix}.{name}")
    return flat


def find_differences(
    before: Mapping[str, Any], after: Mapping[str, Any], ignored: Collection[str] = ()
) -> dict[str, tuple[Any, Any]]:
    """The settings in which descriptions differ, but for `ignored`: dotted name to both."""
    inner = tuple(f"{name}." for name in ignored)
    old, new = flatten_settings(before), flatten_settings(after)
    both = {name: (old.get(name), new.get(name)) for name in {**old, **new}}
    return {
        name: (was, now)
        for name, (was, now) in both.items()
        if not (descriptions_equal(was, now) or name in ignored or name.startswith(inner))
    }


def follow_moved_paths(before: Any, after: Any, folders: Collection[str]) -> Any:
    """`before` with those paths of `after` that are the same in a project moved to `folders`."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        parts = ((name, part, after.get(name)) for name, part in before.items())
        return {name: follow_moved_paths(part, now, folders) for name, part, now in parts}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = zip(before, after, strict=True)
        return [follow_moved_paths(*pair, folders) for pair in pairs]
    if isinstance(before, str) and isinstance(after, str):
        inner = [after[len(each) :] for each in folders if after.startswith(f"{each}/")]
        return after if any(map(before.endswith, inner)) else before
    return before


def format_diff(changed: Mapping[str, Sequence[Any]]) -> str:
    """The first five of some changes in words; of a part that is another, the settings it has."""
    classes = [name for name in changed if name.endswith(".name")]
    replaced = tuple(name.removesuffix("name") for name in classes)
    texts = []
    for name, (old, new) in changed.items():
        if name in classes or not name.startswith(replaced):
            show = SHORT.repr if SHORT.repr(old) != SHORT.repr(new) else "{!r:.1000}".format
            texts.append(f"{name} was {show(old)} and is {show(new)}")
        elif new is not None:
            texts.append(f"{name} is {SHORT.repr(new)}")
    return "; ".join(texts[:5])


def find_changed_settings(part: Any, reference: Any = None) -> dict[str, Any]:
    """The settings, by dotted name, that differ from those of a reference, or from defaults."""
    overrides, described = {}, part_to_json(part)
    for field in list_public_dataclass_fields(part):
        value = getattr(part, field.name)
        default = field.default if reference is None else getattr(reference, field.name)
        key = key_of_setting(field.name)
        if key not in described or descriptions_equal(described[key], part_to_json(default)):
            continue
        same = type(value) is type(default)
        inner = find_changed_settings(value, default if same else None)
        if not same or not inner:
            overrides[field.name] = (
                type(value).__name__ if dataclasses.is_dataclass(value) else part_to_json(value)
            )
        overrides |= {f"{field.name}.{name}": setting for name, setting in inner.items()}
    return overrides


def format_changed_settings(changed: Mapping[str, Any]) -> str:
    """Changed settings in a line, such as `estimator.grids=256, mutate=gaussian`."""
    return ", ".join(f"{name}={value}" for name, value in changed.items())


def short_repr(value: Any) -> str:
    """A part in a line, with the settings that are not its defaults; an array as its shape."""
    if is_array(value) and value.shape:
        return f"{value.dtype}{list(value.shape)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}({format_changed_settings(find_changed_settings(value))})"
    return f"{getattr(value, '__qualname__', None) or repr(value):.60}"
