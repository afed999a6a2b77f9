"""Whether migration on predictions pays beside checkpoints: throughput, imperfect predictions, the plan."""
