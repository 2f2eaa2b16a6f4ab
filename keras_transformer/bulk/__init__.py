"""Translation of large corpora on several cores, GPUs or machines."""
