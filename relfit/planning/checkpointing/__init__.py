"""Checkpoint intervals: for exponential failures or any distribution, with one or two levels, by size of job."""
