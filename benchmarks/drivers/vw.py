"""Runs Vowpal Wabbit in a process of its own: `vw.py ARGUMENTS` takes what the program `vw` takes.

The package has no executable. The last line on stdout is JSON: `import_seconds` is what Python took to load the
library, `seconds` is what Vowpal Wabbit took from its first byte to its last (reading, learning, writing the model).
"""

import json
import sys
import time

started = time.perf_counter()
import vowpalwabbit  # noqa: E402

loaded = time.perf_counter()
workspace = vowpalwabbit.Workspace(arg_list=sys.argv[1:])
workspace.finish()
finished = time.perf_counter()
print(json.dumps({"import_seconds": loaded - started, "seconds": finished - loaded}), flush=True)
