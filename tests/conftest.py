"""For every test: shapes in annotations are checked at run time, and what one test compiled the others need not."""

import atexit
import os
import shutil
import tempfile

import jaxtyping

jaxtyping.install_import_hook("brns", "beartype.beartype").__enter__()

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # once; the test processes begun by this one inherit it
    compiled = tempfile.mkdtemp(prefix="brns-compiled-")
    atexit.register(shutil.rmtree, compiled, ignore_errors=True)
    os.environ |= {
        "JAX_COMPILATION_CACHE_DIR": compiled,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
