"""What a library's error advises, in the words of the command line: options and commands instead of Python calls."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["in_options", "only_options", "with_options"]

_FIELDS = (  # of a table: set by --column
    "node", "start", "end", "duration", "system", "cause", "detail", "scope", "observed", "censored", "state", "rack",
    "system_name", "node_name", "time_format", "day_first", "decimal", "time_origin", "time_unit", "n_nodes",
)  # fmt: skip
_ASSIGNED = r"(?<![-\w])(?<!--column )(?<!--where )([a-z][a-z_]*)=('[^']*'|\"[^\"]*\"|\.\.\.|[A-Za-z0-9]\w*)?"
_BESIDE = r"(?<![-\w])[a-z][a-z_]*=[^\s()]*(?: or [a-z][a-z_]*=[^\s()]*)* \((--[^()]*)\)"
_CALLS = (
    (r"n_nodes=\.\.\. or population=\.\.\. \(--[^()]*\)", "--column n_nodes=NUMBER or --population FILE"),
    (r"max_size=\.\.\. \(--max-size 32GB\)", "--max-size 32GB"),
    (r" \(--column[^()]*\)", ""),
    (r"window_start(=\.\.\.)? (and|or) window_end(=\.\.\.)?", "--observed FROM/TO"),
    (r"\bduration_unit=", "unit="),
    (r"\bmost_replicas=", "replicas="),
    (r"\bn_draws=", "draws="),
    (r"\btolerance=", "tolerate="),
    (r"longest_age=None", "a shorter --age"),
    (
        r"fit it and give the ages: rf\.system_from_fits\(.*\)$",
        "write its fits (relfit fit LOG --out fits.csv) and give them --age",
    ),
    (r"make (it|the system) from (pooled )?fits: .*$", "give the log itself, or a file that relfit fit --out wrote"),
    (r"rf\.fit\((log\.ttf\(\)|lives\.pooled\(\)|times)\)", "relfit fit LOG"),
    (r"log\.ttf\(competing='cause'\)", "relfit fit LOG --per cause"),
    (r"Checkpoint\(every=\.\.\.\)", "--checkpoint-every"),
    (r"Checkpoint\(save=\.\.\., restore=\.\.\.\)", "--save and --restore"),
    (r"log\.where\(system=\.\.\.\)|(?<!--column )\bsystem=(?=,)", "--where system=NAME"),
    (r"log\.where", "--where"),
    (r"put them into Job\(\.\.\.\)", "leave them out"),
    (r", or pool the groups: fits\.pool\(\.\.\.\)", ", or give relfit system LOG --missing pool"),
    (r"rf\.(\w+)\([^()]*\)", r"relfit \1"),
    (r"\(since, until\)", "--since and --until"),
    (r"give Fits, FamilyFit or PooledFit, as .* returns", "give a log, or a file that relfit fit --out wrote"),
    (r"rf\.screening\.repair_kinds", "relfit trend"),
    (r", (as|or) EstimatedReliability\(\)", ""),
    (r"relfit\.families", "those that relfit fit --families all names"),
)


def in_options(text: str, known: Collection[str] = ()) -> str:
    """Advice for somebody at a command line.

    Parameters
    ----------
    text : str
        What the error of a function advises.
    known : collection of str
        The options that there are; any, when empty. What no option says stays as it is, as the key of a file may.

    Examples
    --------
    >>> in_options("use missing='pool', or a family with one parameter")
    'use --missing pool, or a family with one parameter'
    >>> in_options("name one with start=... or duration=...; there is a, b")
    'name one with --column start=NAME or --column duration=NAME; there is a, b'
    >>> in_options("say it with day_first=true, or declare a window with window_start=... and window_end=...")
    'say it with --column day_first=true, or declare a window with --observed FROM/TO'
    >>> in_options("give a speedup and scheduler='fcfs'", known=["--seed"])
    "give a speedup and scheduler='fcfs'"
    >>> in_options("fit them: rf.fit(log.ttf())")
    'fit them: relfit fit LOG'
    """
    for pattern, words in _CALLS:
        text = re.sub(pattern, words, text)
    return re.sub(_ASSIGNED, lambda found: _option(found, known), text)


def only_options(text: str) -> str:
    """A note that says what to write in Python, and the option in brackets behind it, with the option alone.

    Examples
    --------
    >>> only_options("change one with node=... (--column node=NAME)")
    'change one with --column node=NAME'
    >>> only_options("read with nodeless=node or nodeless=ignore (--nodeless node or ignore) if they are not")
    'read with --nodeless node or ignore if they are not'
    """
    return re.sub(_BESIDE, r"\1", text) if " (--" in text else text


def with_options(text: str, known: Collection[str]) -> str:
    """What is wrong, with parameters that are options called so; what is quoted stays as it is.

    Examples
    --------
    >>> with_options("two levels need global_save, not 'global_save'", ["--global-save"])
    "two levels need --global-save, not 'global_save'"
    """

    def named(found: re.Match[str]) -> str:
        option = f"--{found[0].replace('_', '-')}"
        return option if option in known else found[0]

    return re.sub(r"(?<![\w'\"/.=-])[a-z]+(?:_[a-z]+)+(?![\w'\"/.=(])", named, text)


def _option(found: re.Match[str], known: Collection[str]) -> str:
    name, value = found.group(1), (found.group(2) or "...").strip("'\"")
    if name in _FIELDS:
        return f"--column {name}={'NAME' if value == '...' else value}"
    option = f"--{name.replace('_', '-')}"
    if known and option not in known:
        return found.group(0)
    return option if value in ("...", "None", "True", "False") else f"{option} {value}"
