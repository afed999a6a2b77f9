"""The command line: a thin layer over the library, cheap to import.

``app`` has the commands, each a function in a module of its kind that asks a `Study` and prints the answer; ``options``
are those that several commands share, ``screen`` and ``output`` draw tables and write files. Nothing imports it.
A newcomer adds a command: its module, and its name in ``app``.
"""
