"""What is refused, and why: at every start and generation, and by `check_...` before a long run."""
