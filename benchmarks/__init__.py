"""How fast Deska is, beside other ways to do the same: ``python -m benchmarks --help``."""
