"""Small files in every format, whose jobs were counted by hand."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.io.parsing.opening import open_content

SWF_HEADER = (
    "; Version: 2.2\n; UnixStartTime: 893459112\n; MaxJobs: 6\n; MaxNodes: 8 (of which 2 spare)\n; MaxProcs: 32\n"
)
SWF = (
    SWF_HEADER
    + """\
  1   100  5  3600  8 -1 -1  8 7200 -1 1 17 1 -1 1 -1 -1 -1
  2   160 -1    60 -1 -1 -1  5   -1 -1 0 18 1 -1 1 -1 -1 -1
  3   170 -1     0 -1 -1 -1 16  600 -1 5 18 1 -1 1 -1 -1 -1
  4   180  0    -1  4 -1 -1  4  600 -1 1 18 1 -1 1 -1 -1 -1
  5   190  0   100  4 -1 -1  4  600 -1 2 18 1 -1 1 -1 -1 -1
  6   200  0   900 99 -1 -1 99  600 -1 1 18 1 -1 1 -1 -1 -1
"""
)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def reasons(jobs: rf.workloads.Workload) -> list[list[object]]:
    """Line and reason of every rejected row."""
    return jobs.rejected[["line", "reason"]].to_numpy().tolist()


def test_swf(tmp_path: Path) -> None:
    jobs = rf.read_workload(written(tmp_path, "log.swf", SWF))
    assert jobs.source.format == "swf"
    assert jobs.n_nodes == 8  # 32 processors, four a node
    assert jobs.job_id.tolist() == [1, 2]
    assert jobs.nodes.tolist() == [2, 2]  # five processors need two nodes
    assert jobs.run_time.tolist() == [3600.0, 60.0]
    assert jobs.requested.tolist() == [7200.0, np.inf]
    assert jobs.user.tolist() == [17, 18]
    assert jobs.origin == pd.Timestamp("1998-04-24 23:05:12", tz="UTC")
    assert reasons(jobs) == [
        [8, "cancelled before it ran"],
        [9, "run time not known"],
        [11, "asks for 25 nodes of a machine of 8"],
    ]
    assert jobs.source.rows_deselected == 1
    assert jobs.source.rows_read == 6 == len(jobs) + len(jobs.rejected) + 1
    notes = " / ".join(jobs.source.notes)
    assert "4 processors per node" in notes
    assert "1 job failed" in notes


def test_swf_with_processors_as_the_user_says(tmp_path: Path) -> None:
    jobs = rf.read_workload(written(tmp_path, "log.swf", SWF), processors_per_node=8)
    assert jobs.n_nodes == 4
    assert jobs.nodes.tolist() == [1, 1]
    alone = rf.read_workload(written(tmp_path, "plain", "\n".join(SWF.splitlines()[5:7])))
    assert alone.nodes.tolist() == [8, 5]
    assert alone.n_nodes is None
    assert "each processor is taken as a node" in alone.source.notes


def test_swf_with_a_number_that_no_number_holds(tmp_path: Path) -> None:
    lines = SWF.splitlines()
    lines[6] = f"  2   160 -1 {'9' * 400} -1 -1 -1  5   -1 -1 0 18 1 -1 1 -1 -1 -1"
    jobs = rf.read_workload(written(tmp_path, "log.swf", "\n".join(lines) + "\n"))
    assert jobs.job_id.tolist() == [1]
    assert reasons(jobs)[0] == [7, "a field is not a number"]


def test_truncated_swf(tmp_path: Path) -> None:
    cut = SWF_HEADER + SWF.splitlines()[5] + "\n" + SWF.splitlines()[6][:25]
    jobs = rf.read_workload(written(tmp_path, "log.swf", cut))
    assert reasons(jobs) == [[7, "6 fields where the format has 18; the file is cut short"]]
    assert any("the header says 6 jobs and the file has 2" in note for note in jobs.source.notes)
    with pytest.raises(rf.ReadError, match="line 7: 6 fields"):
        rf.read_workload(tmp_path / "log.swf", strict=True)
    packed = gzip.compress(SWF.encode())
    (tmp_path / "log.swf.gz").write_bytes(packed[:-30])
    with pytest.raises(rf.ReadError, match="cut short or damaged"):
        rf.read_workload(tmp_path / "log.swf.gz")
    with pytest.raises(rf.ReadError, match="no job"):
        rf.read_workload(written(tmp_path, "none.swf", SWF_HEADER))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_compressed(tmp_path: Path, pack: object) -> None:
    (tmp_path / "log").write_bytes(pack(SWF.encode()))  # type: ignore[operator]
    assert len(rf.read_workload(tmp_path / "log")) == 2


def test_jobs_out_of_order_are_sorted_and_counted(tmp_path: Path) -> None:
    rows = SWF.splitlines()
    path = written(tmp_path, "log.swf", "\n".join([*rows[:5], rows[6], rows[5]]))
    jobs = rf.read_workload(path)
    assert jobs.job_id.tolist() == [1, 2]
    assert "1 job submitted before the job ahead of it, the first on line 7; sorted" in jobs.source.notes
    with pytest.raises(rf.ReadError, match="line 7: job 1 was submitted before the job ahead of it"):
        rf.read_workload(path, strict=True)


SACCT = """\
JobID|User|Submit|Start|End|Elapsed|Timelimit|NNodes|State|
101|ann|2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-02T12:05:00|1-02:00:00|2-00:00:00|4|COMPLETED|
101.batch|ann|2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-02T12:05:00|1-02:00:00||1|COMPLETED|
101.extern|ann|2024-03-01T10:00:00|2024-03-01T10:05:00|2024-03-02T12:05:00|1-02:00:00||4|COMPLETED|
102|bob|2024-03-01T11:00:00|2024-03-01T11:00:10|2024-03-01T12:00:10|01:00:00|08:00:00|2|NODE_FAIL|
102|bob|2024-03-01T12:00:11|2024-03-01T12:10:00|2024-03-01T17:10:00|05:00:00|08:00:00|2|COMPLETED|
103_1|bob|2024-03-01T10:30:00|2024-03-01T10:31:00|2024-03-01T11:01:00|00:30:00|00:30:00|1|TIMEOUT|
104|cyd|2024-03-01T10:40:00|None|2024-03-01T10:41:00|00:00:00|01:00:00|1|CANCELLED by 1001|
105|cyd|2024-03-01T10:50:00|Unknown|Unknown|00:00:00|01:00:00|1|PENDING|
106|cyd|2024-03-01T10:55:00|2024-03-01T11:00:00|Unknown|5-00:00:00|UNLIMITED|1|RUNNING|
107|cyd|2024-03-01T13:00:00|2024-03-01T13:00:00|2024-03-01T13:45:00|00:45:00|UNLIMITED|1|FAILED|
108|cyd|2024-03-01T13:10:00|2024-03-01T13:10:00|2024-03-01T13:11:00|00:01:00|Partition_Limit|1|NODE_FAIL|
"""


def test_sacct(tmp_path: Path) -> None:
    jobs = rf.read_workload(written(tmp_path, "sacct.txt", SACCT), timezone="America/Denver")
    assert jobs.source.format == "slurm"
    assert jobs.job_id.tolist() == ["101", "103_1", "102", "107", "108"]
    # 102 was queued again after its node failed: its first submission stands, and its last run
    assert jobs.submit.tolist() == [0.0, 1800.0, 3600.0, 10800.0, 11400.0]
    assert jobs.run_time.tolist() == [93600.0, 1800.0, 18000.0, 2700.0, 60.0]
    assert jobs.requested.tolist() == [172800.0, 1800.0, 28800.0, np.inf, np.inf]
    assert jobs.nodes.tolist() == [4, 1, 2, 1, 1]
    assert jobs.origin == pd.Timestamp("2024-03-01 17:00", tz="UTC")
    assert reasons(jobs) == [
        [8, "cancelled before it ran"],
        [9, "had not started"],
        [10, "was still running: its run time is not known"],
    ]
    assert jobs.source.rows_read == 11
    assert jobs.source.rows_deselected == 3
    notes = jobs.source.notes
    assert "2 records of job steps left out" in notes
    assert "1 run that ended in a requeue left out: the last run of a job stands" in notes
    assert any(note.startswith("1 job ended by a node's failure") for note in notes)
    assert any(note.startswith("1 job stopped at their walltime") for note in notes)


@pytest.mark.parametrize("columns", [{}, {"nodes": "nodes"}])
def test_a_table_keeps_the_last_run_of_a_requeued_job_as_sacct_does(tmp_path: Path, columns: dict[str, str]) -> None:
    """Its column `nodes` is not Slurm's; job 2 ran for 1 hour until its node failed, then for 3."""
    rows = [
        "jobid,submit,start,end,nodes,state",
        "1,2024-03-01T10:00:00,2024-03-01T10:00:00,2024-03-01T12:00:00,4,COMPLETED",
        "2,2024-03-01T10:30:00,2024-03-01T11:00:00,2024-03-01T12:00:00,2,NODE_FAIL",
        "2,2024-03-01T12:00:00,2024-03-01T13:00:00,2024-03-01T16:00:00,2,COMPLETED",
        "3,2024-03-01T12:30:00,,,1,PENDING",
        "4,2024-03-01T13:00:00,2024-03-01T13:00:00,2024-03-01T13:30:00,1,TIMEOUT",
    ]
    table = rf.read_workload(written(tmp_path, "jobs.csv", "\n".join(rows)), **columns)
    lines = [row.replace("nodes,", "NNodes,").replace(",", "|") for row in rows]
    sacct = rf.read_workload(written(tmp_path, "sacct.txt", "\n".join(lines)))
    assert (table.source.format, sacct.source.format) == ("table", "slurm")
    for jobs in (table, sacct):
        assert jobs.to_frame()[["job_id", "submit", "nodes", "run_time"]].to_numpy().tolist() == [
            [1, 0.0, 4, 7200.0],
            [2, 1800.0, 2, 10800.0],
            [4, 10800.0, 1, 1800.0],
        ]
        assert reasons(jobs) == [[5, "had not started"]]
        assert (jobs.source.rows_read, jobs.source.rows_deselected) == (5, 1)
        assert "1 run that ended in a requeue left out: the last run of a job stands" in jobs.source.notes


def test_sacct_of_raw_numbers_and_processors(tmp_path: Path) -> None:
    text = "JobIDRaw|Submit|ElapsedRaw|TimelimitRaw|NCPUS|State|Priority\n7|2024-03-01T10:00:00|90|2|9|COMPLETED|55\n"
    path = written(tmp_path, "sacct", text)
    with pytest.raises(rf.ReadError, match="how many a node has"):
        rf.read_workload(path)
    jobs = rf.read_workload(path, processors_per_node=4, n_nodes=10)
    assert (jobs.job_id[0], jobs.nodes[0], jobs.run_time[0], jobs.requested[0]) == (7, 3, 90.0, 120.0)
    assert jobs.priority.tolist() == [55.0]


def test_tables_of_los_alamos(tmp_path: Path) -> None:
    text = (
        "account_name,dispatch_time,end_state,end_time,jobid,num_procs_exe,req_nodes,start_time,submit_time,"
        "user_name,wallclock_limit\n"
        "account_name_19,2018-01-31 09:45:53,TIMEOUT,2018-01-31 13:46:23,15040144,2052,57,2018-01-31 09:45:53,"
        "2018-01-31 09:30:37,user_name_60,14400\n"
        "account_name_1,,CANCELLED,2018-01-31 09:20:00,15040145,36,1,,2018-01-31 09:10:00,user_name_2,600\n"
    )
    jobs = rf.read_workload(written(tmp_path, "sanitized_jobs.csv", text), timezone="America/Denver", n_nodes=1490)
    assert jobs.run_time.tolist() == [4 * 3600 + 30.0]
    assert jobs.requested.tolist() == [14400.0]
    assert jobs.nodes.tolist() == [57]
    assert jobs.rejected["reason"].tolist() == ["cancelled before it ran"]
    assert jobs.origin == pd.Timestamp("2018-01-31 16:30:37", tz="UTC")


def test_printed_list_of_los_alamos(tmp_path: Path) -> None:
    first = {
        "calc_wallclock": "29610360",
        "end_state": "TIMEOUT",
        "end_time": "2018-01-31 13:46:23",
        "jobid": "15040144",
        "num_procs_exe": "2052",
        "req_nodes": "57",
        "start_time": "2018-01-31 09:45:53",
        "submit_time": "2018-01-31 09:30:37",
        "user_name": "user_name_60",
        "wallclock_limit": "14400",
    }
    second = {**first, "jobid": "15040145", "end_state": "CANCELLED", "end_time": "", "start_time": "Unknown"}
    text = "[   " + ",\n    ".join(str(row).replace(", ", ",\n        ") for row in (first, second)) + "]\n"
    jobs = rf.read_workload(written(tmp_path, "gr-slurm-logs_anon", text), timezone="America/Denver")
    assert jobs.source.format == "slurm"
    assert (jobs.job_id[0], jobs.nodes[0], jobs.run_time[0], jobs.requested[0]) == (15040144, 57, 14430.0, 14400.0)
    assert reasons(jobs) == [[11, "cancelled before it ran"]]
    with pytest.raises(rf.ReadError, match="cut short"):
        rf.read_workload(written(tmp_path, "cut", text[:-100]))


BATSIM = {
    "nb_res": 4,
    "jobs": [
        {"id": 1, "subtime": 10.5, "walltime": 100, "res": 4, "profile": "short"},
        {"id": "w0!2", "subtime": 5, "res": 1, "profile": "long"},
        {"id": 3, "subtime": 20, "walltime": 12, "res": 1, "profile": "msg"},
        {"id": 4, "subtime": 20, "walltime": -3, "res": 1, "profile": "long"},
        {"id": 5, "subtime": 20, "walltime": 12, "res": 5, "profile": "long"},
        {"id": 6, "subtime": 20, "walltime": -1, "res": 2, "profile": "absent"},
    ],
    "profiles": {
        "short": {"type": "delay", "delay": 12.25},
        "long": {"type": "delay", "delay": 50},
        "msg": {"type": "parallel", "cpu": [1e9]},
    },
}


def test_batsim(tmp_path: Path) -> None:
    path = written(tmp_path, "workload.json", json.dumps(BATSIM, indent=2))
    jobs = rf.read_workload(path)
    assert jobs.n_nodes == 4
    assert jobs.job_id.tolist() == ["w0!2", "1"]
    numbered = {**BATSIM, "jobs": [{**job, "id": 7 + i} for i, job in enumerate(BATSIM["jobs"][:1])]}
    assert rf.read_workload(written(tmp_path, "numbered.json", json.dumps(numbered))).job_id.tolist() == [7]
    assert jobs.submit.tolist() == [5.0, 10.5]
    assert jobs.run_time.tolist() == [50.0, 12.25]
    assert jobs.requested.tolist() == [np.inf, 100.0]
    assert reasons(jobs) == [
        [3, "profile 'msg' is of type 'parallel': its run time is not known"],
        [4, "walltime below zero or not a number"],
        [5, "asks for 5 nodes of a machine of 4"],
        [6, "no profile 'absent'"],
    ]
    with pytest.raises(rf.ReadError, match=r"line .*not JSON"):
        rf.read_workload(written(tmp_path, "cut.json", json.dumps(BATSIM, indent=2)[:300]))
    for other in ('{"a": 1}', json.dumps({"jobs": BATSIM["jobs"]}), '{"jobs": [], "profiles": {}}', "[1, 2]"):
        with pytest.raises(rf.ReadError, match="no list of jobs"):
            rf.read_workload(written(tmp_path, "other.json", other), format="batsim")


def test_list_of_finished_jobs_of_batsim(tmp_path: Path) -> None:
    header = (
        "job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,"
        "final_state,starting_time,execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources"
    )
    rows = [
        "1,w0,delay,10.0,4,100.000000,1,COMPLETED_SUCCESSFULLY,10.0,12.250000,22.25,0,12.25,1,0-3",
        "2,w0,delay,12.0,9,100.000000,0,REJECTED,-1,,-1,-1,-1,-1,",
    ]
    jobs = rf.read_workload(written(tmp_path, "out_jobs.csv", "\n".join([header, *rows])))
    assert (jobs.submit[0], jobs.nodes[0], jobs.run_time[0], jobs.requested[0]) == (10.0, 4, 12.25, 100.0)
    assert jobs.rejected["reason"].tolist() == ["the scheduler rejected it"]


def test_any_table(tmp_path: Path) -> None:
    text = (
        "name;queued;begun;done;cores;limit\nb;2024-01-01 10:00:30;2024-01-01 11:00;2024-01-01 12:30;9;2:00:00\n"
        "a;2024-01-01 10:00;2024-01-01 10:00;2024-01-01 10:01;1;\n"
    )
    path = written(tmp_path, "jobs.csv", text)
    with pytest.raises(rf.ReadError, match=r"no column for run_time.*name it with run_time="):
        rf.read_workload(path, submit="queued")
    jobs = rf.read_workload(
        path,
        job_id="name",
        submit="queued",
        start="begun",
        end="done",
        processors="cores",
        requested="limit",
        processors_per_node=4,
        timezone="Europe/Berlin",
    )
    assert jobs.job_id.tolist() == ["a", "b"]
    assert jobs.submit.tolist() == [0.0, 30.0]
    assert jobs.run_time.tolist() == [60.0, 5400.0]
    assert jobs.nodes.tolist() == [1, 3]
    assert jobs.requested.tolist() == [np.inf, 7200.0]
    assert jobs.origin == pd.Timestamp("2024-01-01 09:00", tz="UTC")
    with pytest.raises(rf.ArgumentError, match="no column 'x'"):
        rf.read_workload(path, submit="x")
    with pytest.raises(rf.ArgumentError, match="unknown option 'sumbit'"):
        rf.read_workload(path, sumbit="queued")
    with pytest.raises(rf.ArgumentError, match="did you mean swf"):
        rf.read_workload(path, "sfw")
    with pytest.raises(rf.ArgumentError, match="n_nodes is 0"):
        rf.read_workload(path, n_nodes=0)


def test_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"job_id": [1, 2], "submit": [0.0, 0.1], "nodes": [1, 2], "run_time": [0.1, 2e5]})
    frame.to_parquet(tmp_path / "jobs.parquet")
    jobs = rf.read_workload(tmp_path / "jobs.parquet")
    assert jobs.to_frame().drop(columns="requested").equals(frame)


def test_numbers_are_read_to_the_last_digit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    exact = rng.exponential(1e5, 500)
    submit = np.cumsum(exact)
    table = pd.DataFrame({"submit": submit, "nodes": 1, "run_time": exact})
    table.to_csv(tmp_path / "jobs.csv", index=False)
    jobs = rf.read_workload(tmp_path / "jobs.csv")
    assert np.array_equal(jobs.submit, submit)
    assert np.array_equal(jobs.run_time, exact)


@pytest.mark.parametrize("ending", ["swf", "swf.gz", "json", "json.xz", "csv"])
def test_written_and_read_again(tmp_path: Path, ending: str) -> None:
    jobs = rf.workloads.Workload(
        [3, 1, 2],
        [0.0, 60.0, 60.0],
        [1, 5, 2],
        [30.0, 45.0, 7.0],
        [60.0, np.inf, 8.0],
        16,
        user=[4, 5, 4],
        origin=pd.Timestamp("2024-01-01", tz="UTC"),
    )
    back = rf.read_workload(rf.workloads.write_workload(jobs, tmp_path / f"jobs.{ending}"), n_nodes=16)
    for name in ("submit", "nodes", "run_time", "requested"):
        assert np.array_equal(getattr(back, name), getattr(jobs, name)), name
    assert [str(name) for name in back.job_id] == ["3", "1", "2"]
    assert back.n_nodes == 16
    if "swf" in ending:
        assert back.origin == jobs.origin
        assert back.user.tolist() == [4, 5, 4]
        last = open_content(tmp_path / f"jobs.{ending}").data.decode().splitlines()[-1]
        assert last == "2 60 -1 7 2 -1 -1 2 8 -1 1 4 -1 -1 -1 -1 -1 -1"
    with pytest.raises(rf.ArgumentError, match="no format of this ending"):
        rf.workloads.write_workload(jobs, tmp_path / "jobs.txt")


def test_users_of_hostile_names_steer_nothing_and_are_read_back(tmp_path: Path) -> None:
    users = ["=1+1", "\x1b[31mred", "\u202eabc", "'=1+1", "plain"]
    jobs = rf.workloads.Workload(range(5), np.arange(5.0), [1] * 5, [30.0] * 5, user=users, n_nodes=2)
    path = rf.workloads.write_workload(jobs, tmp_path / "jobs.csv")
    text = path.read_text(encoding="utf-8")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert ",=1+1" not in text
    assert rf.read_workload(path, n_nodes=2).user.tolist() == users


def test_the_jobs_that_batsim_placed(shared: Path) -> None:
    jobs = rf.read_workload(shared / "data" / "batsim-easy-20k.csv.xz", n_nodes=1000)
    table = pd.read_csv(shared / "data" / "batsim-easy-20k.csv.xz", float_precision="round_trip")
    assert len(jobs) == 20_000
    assert jobs.rejected.empty
    for name, column in (
        ("submit", "submission_time"),
        ("nodes", "nodes"),
        ("run_time", "run_time"),
        ("requested", "walltime"),
    ):
        assert np.array_equal(getattr(jobs, name), table[column].to_numpy()), name


@pytest.mark.slow
def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    """Every row of a damaged file is kept, rejected or left out and counted; otherwise an error says what is wrong."""
    tokens = ["", "-1", "nan", "1e400", "999999999999999999999", "|", ",", "\n", '"', "'", "UNLIMITED", "::", "[]", "é"]
    random = np.random.default_rng(17)
    path, read = tmp_path / "damaged", 0
    for trial in range(80):
        text = (SWF, SACCT, json.dumps(BATSIM), "job_id,submit,nodes,run_time\n1,0,4,7\n2,60,9,60\n")[trial % 4]
        for _ in range(random.integers(1, 4)):
            begin = int(random.integers(len(text)))
            end = begin + int(random.choice([0, 1, 3, 30]))
            text = text[:begin] + str(random.choice(tokens)) + text[end:]
        path.write_text(text)
        try:
            jobs = rf.read_workload(path, n_nodes=20, processors_per_node=4)
        except rf.RelfitError:
            continue
        read += 1
        assert jobs.source.rows_read == len(jobs) + len(jobs.rejected) + jobs.source.rows_deselected
    assert read > 20


def test_findings_count_what_was_rejected_and_what_was_out_of_order(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,submit,nodes,walltime,run_time\n1,9,2,5,5\n2,5,9,5,5\n3,6,1,-3,5\n4,7,1,-2,5\n5,3,1,5,5\n6,8,0,5,5\n"
    )
    jobs = rf.read_workload(path, n_nodes=4)
    assert jobs.job_id.tolist() == [5, 1]
    text = "\n".join(jobs.findings)
    assert "4 rows rejected: walltime below zero or not a number (2); " in text
    assert "asks for 9 nodes of a machine of 4 (1)" in text
    assert "1 job submitted before the job ahead of it, the first on line 6; sorted" in text


def test_swf_with_only_a_number_of_nodes(tmp_path: Path) -> None:
    """Each processor is taken as a node where the header has no number of processors."""
    text = SWF.replace("; MaxProcs: 32\n", "")
    assert rf.read_workload(written(tmp_path, "log.swf", text)).n_nodes == 8
    jobs = rf.read_workload(written(tmp_path, "log.swf", text), processors_per_node=4)
    assert jobs.n_nodes == 8
    assert jobs.nodes.tolist() == [2, 2]


def test_a_job_submitted_half_a_second_before_the_one_ahead_of_it_is_sorted(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,submission_time,nodes,run_time\na,5.5,1,9\nb,5,1,9\n", encoding="utf-8")
    read = rf.read_workload(path)
    assert read.job_id.tolist() == ["b", "a"]
    assert any("1 job submitted before the job ahead of it" in note for note in read.source.notes)


def test_times_are_seconds_where_half_of_them_are_numbers(tmp_path: Path) -> None:
    rows = "a,5,1,9\nb,6,1,9\nc,2024-01-01,1,9\nd,2024-01-02,1,9\n"
    path = tmp_path / "jobs.csv"
    for text, submitted in ((rows, [5.0, 6.0]), (rows.replace("a,5,1,9\n", ""), [0.0, 86_400.0])):
        path.write_text(f"job_id,submission_time,nodes,run_time\n{text}", encoding="utf-8")
        assert rf.read_workload(path).submit.tolist() == submitted
