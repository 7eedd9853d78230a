"""One of several processes of a test: runs the tasks that it is given, and keeps what they gave."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from distributed import tasks
from transformer_mb.distributed import Alone, Place
from transformer_mb.registry import join_processes


def main(backend, folder, wanted, *shard):
    place = Place.from_environment()
    processes = join_processes(backend, place, bool(shard)) if place.size > 1 or shard else Alone()
    results = {}
    for name, (function, arguments) in wanted.items():
        results[name] = getattr(tasks, function)(backend, processes, Path(folder), **arguments)
        processes.barrier()  # some tasks are those of one process
    Path(folder, f"results.{place.rank}.json").write_text(json.dumps(results))
    processes.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), *sys.argv[4:])
