"""Whether to run every process twice or more: yields of copies, the break-even with checkpoints, the plan."""
