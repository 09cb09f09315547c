"""Parts of the benchmark of many machines."""
