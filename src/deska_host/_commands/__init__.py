"""What ``deska`` does: a module for each command, with ``run(argv) -> int``, and shared parts."""
