"""Inputs that reached something new in a reader, found by a search that coverage guided, are read or refused."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator

import pytest

from benchmarks.fuzz_reading import CORPUS, Trial, seeds_of

with zipfile.ZipFile(CORPUS) as _archive:
    INPUTS = {name: _archive.read(name) for name in _archive.namelist()}
KINDS = sorted({name.split("/")[0] for name in INPUTS})


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    folder = tmp_path_factory.mktemp("corpus")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Trial(folder, seeds_of(folder), None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_reached_something_new_is_read_or_refused(kind: str, trial: Trial) -> None:
    mine = [data for name, data in INPUTS.items() if name.split("/")[0] == kind]
    for data in mine:
        trial(kind, data)
    assert not trial.found
    assert trial.done[kind] == len(mine)


def test_the_corpus_has_every_kind_and_both_ends(trial: Trial) -> None:
    assert set(KINDS) == set(trial.seeds)
    for kind in KINDS:
        trial(kind, trial.seeds[kind])
    assert min(trial.done["read"], trial.done["refused"]) > 0
