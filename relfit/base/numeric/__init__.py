"""Compiled special functions and the handing out of groups to threads, below every statistical package."""
