"""Shapes in annotations are checked at run time in every test."""

import jaxtyping

jaxtyping.install_import_hook("brns", "beartype.beartype").__enter__()
