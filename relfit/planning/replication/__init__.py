"""Replication of processes: yield of copies, break-even with checkpoints alone, the plan."""
