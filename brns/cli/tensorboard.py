"""The rows of `progress.csv` as TensorBoard's scalars. Needs the extra `tensorboard`."""

import time
from pathlib import Path
from typing import Any

from brns.runs.progress import Row, read
from brns.runs.record import Record

SECONDS = 10.0  # between what is written and what a viewer sees of it


class TensorBoard:
    """Writes each run's rows to `tensorboard/` in its directory; `ImportError` without the extra.

    A run's first row brings the rows before it along and tells TensorBoard to forget earlier files. So no generation is
    missing or stands twice after a kill and `resume`.
    """

    def __init__(self) -> None:
        try:
            from tensorboardX import event_file_writer, summary  # not SummaryWriter: it can hang on a full disk
            from tensorboardX.proto import event_pb2
        except ImportError:
            raise ImportError("--tensorboard needs tensorboardX: pip install 'brns[tensorboard]'") from None
        self.tools: Any = event_file_writer.EventsWriter, event_pb2, summary.scalar
        self.files: dict[Path, Any] = {}
        self.flushed = time.monotonic()

    def __enter__(self) -> "TensorBoard":
        return self

    def __exit__(self, *_: object) -> None:
        for file in self.files.values():
            file.close()

    def add(self, record: Record, row: Row) -> None:
        """Write the row of a generation that was saved."""
        writer, proto, scalar = self.tools
        rows = [row]
        events = []
        if record.path not in self.files:
            folder = record.path / "tensorboard"
            folder.mkdir(exist_ok=True)
            self.files[record.path] = writer(str(folder / "events"))
            events = [{"step": 0, "session_log": proto.SessionLog(status=proto.SessionLog.START)}]
            rows = [*read(record.path)[: row.generation], row]
        for one in rows:
            for name, value in one._asdict().items():
                if name != "generation" and value is not None:
                    events.append({"step": one.generation, "summary": scalar(name, value)})
        for event in events:
            self.files[record.path].write_event(proto.Event(wall_time=time.time(), **event))
        if time.monotonic() > self.flushed + SECONDS:
            self.flushed = time.monotonic()
            for file in self.files.values():
                file.flush()
