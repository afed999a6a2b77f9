"""A failure log and what follows from it: outages, times to failure and to repair, exposure.

``failurelog`` holds `FailureLog` with its window and source, ``outages`` the one extraction of outages, ``durations``
and ``lifedata`` the times to failure and to repair with what is censored or truncated, ``lifechecks`` checks of these,
``units_in_service`` which units still run, ``hints_of_rows`` what the rows say of planned work and new nodes.
Data comes from ``io`` or from a user's table, and goes to ``fitting`` and ``analyses``. Tables in a log are read only:
what changes a log makes a new one. A newcomer starts at `FailureLog.ttf`.
"""
