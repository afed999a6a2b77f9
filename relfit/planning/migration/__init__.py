"""Migration on predicted failures, compared with checkpoints alone: throughput, imperfect predictions, the plan."""
