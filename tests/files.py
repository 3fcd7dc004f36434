"""A run's files, as tests compare and spoil them."""

import zipfile
from pathlib import Path

from brns import Record
from brns.runs.storage import Seal, comment, write_arrays


def unsealed(file):
    """A file's content; of arrays all but the comment at its end, which names the run, another for every run."""
    content = file.read_bytes()
    return content[: content.rindex(b"PK\x05\x06") + 20] if file.suffix == ".npz" else content


def bits(path):
    """The content of every file of generations and states by its name."""
    return {str(file.relative_to(path)): unsealed(file) for file in sorted(Path(path).rglob("0*.npz"))}


def seal(file):
    """The seal that a run expects of one of its files of arrays."""
    return Seal(Record(file.parent.parent).identifier, int(file.stem))


def reseal(file, arrays):
    """Put other arrays into a file as the run itself would have: sealed."""
    write_arrays(file, arrays, seal(file))


def spoil(file, member, content):
    """The same .npz file with one member replaced, and sealed again."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, kept in (members | {member: content}).items():
            archive.writestr(name, kept)
        archive.comment = comment(seal(file), archive)
