"""What every other package uses: errors, units, text, results, writing, and the compiled numerics.

``errors`` has the one hierarchy of errors with a remedy, ``units`` reads durations, ``results`` is the base of every
result, ``arrays`` has the types of arrays, ``writing`` writes files in full or not at all, ``numeric`` has special
functions, root finding, ragged arrays of groups, and numba with a cache that is never stale. Nothing here knows logs.
A newcomer changes nothing here without running all tests: everything imports it.
"""
