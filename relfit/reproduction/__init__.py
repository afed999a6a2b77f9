"""The tables of the papers beside ours: what was printed, what comes out, and what is right."""
