"""What every other package stands on: errors, units, words, results, writing, and the compiled numerics.

``errors`` has the one hierarchy of errors with a remedy, ``units`` reads durations, ``results`` is the base of every
result, ``arrays`` holds `Ragged` (values of groups and their offsets), ``writing`` writes files in full or not at all,
``numeric`` has special functions, root finding and numba with a cache that is never stale. Nothing here knows of logs.
A newcomer changes nothing here without running all tests: everything imports it.
"""
