"""Systems from files of fits, and the command that shows them."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gamma
from scipy.stats import chi2, weibull_min

import relfit as rf
from relfit import ArgumentError, DataError, ReadError
from relfit.cli.app import main
from relfit.cli.fits_file import system_from_file


@pytest.fixture(scope="module")
def fits():
    log = rf.datasets.load("white")
    labels = log.ttf().groups[:6]
    return rf.fit(log.ttf().take(range(len(labels))), families=["weibull", "exponential"])


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
@pytest.mark.slow
def test_a_file_gives_the_system_of_the_fits(fits, tmp_path, ending):
    path = tmp_path / f"fits.{ending}"
    table = fits.to_frame()
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "parquet":
        table.to_parquet(path)
    else:
        path.write_text(json.dumps(fits.to_dict()), encoding="utf-8")
    found, expected = system_from_file(path, ages="3 days"), rf.system_from_fits(fits, ages="3 days")
    assert list(found.names) == list(expected.names)
    np.testing.assert_allclose(found.reliability([5.0, 50.0]), expected.reliability([5.0, 50.0]), rtol=1e-12)
    with pytest.raises(ArgumentError, match="no node 'zz'"):
        system_from_file(path, nodes=["zz"])


def test_faults_are_found_with_line_and_column(fits, tmp_path):
    path = tmp_path / "fits.csv"
    table = fits.to_frame().astype({"shape": object})
    table.loc[2, "shape"] = "much"
    table.to_csv(path, index=False)
    with pytest.raises(ReadError, match=r"fits\.csv, line 4, column shape: 'much' is not a number"):
        system_from_file(path)
    fits.to_frame().drop(columns="status").to_csv(path, index=False)
    with pytest.raises(ReadError, match="no column 'status'"):
        system_from_file(path)
    table = fits.to_frame()
    table["status"] = "too_few"
    table.to_csv(path, index=False)
    with pytest.raises(DataError, match="6 nodes"):
        system_from_file(path)
    (tmp_path / "bad.json").write_text('{"fits": [', encoding="utf-8")
    with pytest.raises(ReadError, match=r"line 1, column 11: not JSON"):
        system_from_file(tmp_path / "bad.json")


@pytest.mark.slow
def test_the_command(fits, tmp_path, capsys):
    path = tmp_path / "fits.csv"
    fits.to_frame().to_csv(path, index=False)
    arguments = ["system", str(path), "--age", "10days", "--horizon", "24h", "--k", "4", "--tolerate", "1", "--json"]
    assert main(arguments) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = rf.system_from_fits(fits, ages="10 days").take(range(4)).tolerating(1)
    assert shown["whole"][0]["value"] == pytest.approx(float(expected.mttf()), rel=1e-10)
    assert len(shown["sizes"]) == 4
    assert shown["sizes"][3]["reliability_24h"] == pytest.approx(float(expected.reliability(24.0)), rel=1e-10)
    assert main(["system", str(path), "--out", str(tmp_path / "sizes.csv")]) == 0
    assert "nodes run for" in capsys.readouterr().out
    assert (tmp_path / "sizes.csv").exists()


def test_the_most_reliable_nodes_are_taken_and_named(tmp_path, capsys):
    path = tmp_path / "fits.csv"
    rates = {"a": 0.004, "b": 0.001, "c": 0.009, "d": 0.002}
    lines = [f"{node},exponential,ok,9,0,{rate},10.0" for node, rate in rates.items()]
    path.write_text("\n".join(["node,family,status,failures,censored,rate,aicc", *lines]) + "\n")
    assert main(["system", str(path), "--k", "2", "--best", "--horizon", "100h", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["whole"][1]["value"] == pytest.approx(np.exp(-100.0 * (0.001 + 0.002)))
    assert main(["system", str(path), "--k", "2", "--best"]) == 0
    assert "These are b,d." in capsys.readouterr().out
    assert main(["system", str(path), "--best", "--json"]) == 0
    assert not any("These are" in note for note in json.loads(capsys.readouterr().out)["notes"])  # they are all


def test_nodes_without_an_estimate_are_said_to_be_left_out(tmp_path, capsys):
    path = tmp_path / "fits.csv"
    lines = [f"{node},exponential,ok,9,0,0.001,0.0003,10.0" for node in "abde"]
    lines.insert(2, "c,exponential,all_censored,0,1,,,")
    path.write_text("\n".join(["node,family,status,failures,censored,rate,rate_se,aicc", *lines]) + "\n")
    assert main(["system", str(path), "--k", "3", "--missing", "drop"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "1 node has no estimate and is left out, as are nodes that never failed: c." in text
    assert "These are the first 3 of the others, a to d." in text
    assert "No intervals: of a file of fits only the estimates are used, not their uncertainty." in text
    with pytest.raises(ArgumentError, match="only the estimates are used, not their uncertainty; give the log"):
        system_from_file(path, list("ab")).interval("mttf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--k 99", "--k 99 of 6 nodes"),
        ("--age 2000000h", "years"),
        ("--age 700", "--age 700 does not say its unit; write 700min, 700h or 700days"),
        ("--age old", "not a duration"),
        ("--horizon -3h", "is negative; give a time above zero"),
        ("--tolerate 6", "cannot lose 6"),
        ("--nodes ,", "names no node"),
        ("--missing pool", "--missing pool does not go with a file of fits"),
        ("--missing never", "is not known"),
    ],
)
def test_options_that_cannot_be(fits, tmp_path, capsys, options, message):
    path = tmp_path / "fits.csv"
    fits.to_frame().to_csv(path, index=False)
    assert main(["system", str(path), *options.split()]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_nodes_without_a_name_are_none_to_take(tmp_path, capsys):
    path = tmp_path / "log.csv"
    days = [(node, 3 + 11 * i + 5 * j) for i, node in enumerate("abcd") for j in range(6 + 3 * i)]
    rows = [f"{node},{pd.Timestamp('2024-01-01') + pd.Timedelta(days=day):%Y-%m-%d %H:%M}" for node, day in days]
    path.write_text("\n".join(["node,start", *rows]) + "\n")
    assert main(["system", str(path), "--n-nodes", "9", "--k", "4", "--best"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "5 nodes without a failure have no name: --population names them." in text
    assert set(re.search(r"These are ([\w,]+)\.", text)[1].split(",")) == set("abcd")


def test_the_file_of_fits_has_the_limits_that_are_printed(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file had Wald limits where the screen had those of the profile likelihood, and did not say so."""
    monkeypatch.setenv("COLUMNS", "120")
    rng = np.random.default_rng(7)
    hours = {"few": 100.0 * rng.weibull(0.6, 6), "many": 100.0 * rng.weibull(0.6, 40)}
    table = pd.DataFrame(
        [(name, value) for name, values in hours.items() for value in values], columns=["kind", "hours"]
    )
    table.rename_axis("unit").reset_index().to_csv("lives.csv", index=False)
    asked = ["fit", "lives.csv", "--unit", "hours", "--per", "kind", "--families", "weibull"]
    assert main([*asked, "--details", "--out", "fits.csv"]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines() if re.match(r"(few|many) +weibull", line)]
    written = pd.read_csv("fits.csv")
    assert written["mean_interval"].tolist() == ["profile", "Wald"]
    shown = written[["kind", "mean", "mean_low", "mean_high"]].round(6).to_numpy().tolist()
    assert len(printed) == 2
    for line, (kind, *values) in zip(printed, shown, strict=True):
        assert line[0] == kind
        mean, low, high = re.search(r"([\d.]+) \(([\d.]+)-([\d.]+)\)", " ".join(line).replace(",", "")).groups()
        numbers = [float(mean), float(low), float(high)]
        assert numbers == pytest.approx(values, rel=2e-3)
    # the profile of the mean by a plain search: its fall at the limits is half the quantile of chi-square
    times = hours["few"]

    def best(mean: float) -> float:
        def loss(log_shape: float) -> float:
            shape = np.exp(log_shape)
            return -float(weibull_min.logpdf(times, shape, scale=mean / gamma(1.0 + 1.0 / shape)).sum())

        return -float(minimize_scalar(loss, bounds=(-2.5, 1.5), method="bounded", options={"xatol": 1e-9}).fun)

    top, low, high = (best(value) for value in shown[0][1:])
    assert [top - low, top - high] == pytest.approx([0.5 * chi2.ppf(0.95, 1)] * 2, abs=1e-4)


def two_batches(path, means, shape=1.0):
    """A log of a year of two batches of 40 nodes with these mean times between failures, out of plain draws."""
    rng, rows, scale = np.random.default_rng(5), [], 1.0 / math.gamma(1.0 + 1.0 / shape)
    for batch, mean in enumerate(means):
        for node in range(40):
            at = mean * scale * rng.weibull(shape)
            while at < 8760.0:
                start = pd.Timestamp("2024-01-01") + pd.Timedelta(hours=at)
                rows.append((f"b{batch}n{node:02d}", start, start + pd.Timedelta(hours=1)))
                at += 1.0 + mean * scale * rng.weibull(shape)
    pd.DataFrame(rows, columns=["node", "start", "end"]).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("means", "shape", "differ"), [((300.0, 1500.0), 1.0, True), ((500.0, 500.0), 0.6, False)], ids=["mixed", "ageing"]
)
@pytest.mark.slow
def test_a_fit_of_all_nodes_says_that_their_rates_differ(tmp_path, capsys, means, shape, differ):
    two_batches(tmp_path / "log.csv", means, shape)
    assert main(["fit", str(tmp_path / "log.csv"), "--per", "all", "--out", str(tmp_path / "fits.csv")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert ("The rates of nodes differ, and a mixture of rates has a Weibull shape below 1" in told) == differ


def test_a_file_of_fits_says_which_ages_it_takes(tmp_path, capsys):
    new, together = "Every node is new (age 0)", "use relfit system LOG, or give --age"
    path = tmp_path / "fits.csv"
    for group, rows, options, expected in (
        ("all", "weibull,ok,0.7,900,", [], (True, True)),
        ("all", "weibull,ok,0.7,900,", ["--age", "30days"], (False, False)),
        ("all", "exponential,ok,,,0.001", [], (False, False)),  # of any age
        ("a", "weibull,ok,0.7,900,", [], (True, False)),
    ):
        path.write_text(f"group,family,status,shape,scale,rate\n{group},{rows}\n")
        assert main(["system", str(path), *options]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert (new in told, together in told) == expected
