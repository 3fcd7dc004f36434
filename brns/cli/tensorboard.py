"""The rows of `progress.csv` as TensorBoard's scalars. Needs the extra `tensorboard`."""

import time
from pathlib import Path
from typing import Any

from brns.runs.progress import Row, read
from brns.runs.record import Record

SECONDS = 10.0  # between what is written and what a viewer sees of it


class TensorBoard:
    """Writes each run's rows to `tensorboard/` in its directory; `ImportError` without the extra.

    The first row of a run brings those before it along, and tells TensorBoard to forget what earlier files said: after
    a kill and `resume` no generation is missing or stands twice.
    """

    def __init__(self) -> None:
        try:
            from tensorboardX import event_file_writer  # not SummaryWriter, whose thread can hang on a full disk
            from tensorboardX.proto import event_pb2, summary_pb2
        except ImportError:
            raise ImportError("--tensorboard needs tensorboardX: pip install 'brns[tensorboard]'") from None
        self.make = event_file_writer.EventsWriter
        self.event: Any = event_pb2
        self.summary: Any = summary_pb2
        self.files: dict[Path, Any] = {}
        self.flushed = time.monotonic()

    def __enter__(self) -> "TensorBoard":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.close()

    def add(self, record: Record, row: Row) -> None:
        """Write the row of a generation that was saved."""
        rows = [row]
        if record.path not in self.files:
            folder = record.path / "tensorboard"
            folder.mkdir(exist_ok=True)
            self.files[record.path] = self.make(str(folder / "events"))
            begins = self.event.SessionLog(status=self.event.SessionLog.START)
            self.files[record.path].write_event(self.event.Event(step=0, wall_time=time.time(), session_log=begins))
            rows = [*read(record.path)[: row.generation], row]
        for one in rows:
            self.files[record.path].write_event(self._event(one))
        if time.monotonic() > self.flushed + SECONDS:
            self.flushed = time.monotonic()
            for file in self.files.values():
                file.flush()

    def _event(self, row: Row) -> Any:
        scalars = [
            self.summary.Summary.Value(tag=name, simple_value=value)
            for name, value in zip(Row._fields[1:], row[1:], strict=True)
            if value is not None
        ]
        summary = self.summary.Summary(value=scalars)
        return self.event.Event(step=row.generation, wall_time=time.time(), summary=summary)
