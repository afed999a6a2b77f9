"""Small files in every format, for the tests of the readers."""

from __future__ import annotations

from pathlib import Path

import relfit as rf

LANL_HEADER = (
    "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,node decom,fru type,mem,"
    "cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,Down Time,Facilities,Hardware,Human Error,Network,"
    "Undetermined,Software,Same Event"
)


def lanl_row(
    node: str = "0",
    start: str = "6/21/2003 10:54",
    end: str = "6/21/2003 11:00",
    down: str = "6",
    *,
    system: str = "20",
    install: str = "1-Oct",
    production: str = "1-Dec",
    decommissioned: str = "current",
    hardware: str = "CPU",
    nodes: str = "3",
) -> str:
    """One row of the LANL CSV."""
    return (
        f"{system},cluster,{nodes},8,4,{node},{node},{install},{production},{decommissioned},part,16,1,1,0,compute,"
        f"{start},{end},{down},,{hardware},,,,,No"
    )


def lanl(*rows: str) -> str:
    """A LANL CSV."""
    return "\n".join([LANL_HEADER, *rows]) + "\n"


TITAN_HEADER = "SN,location,insert,remove,duration,out,event"


def titan(*rows: str) -> str:
    """A Titan CSV."""
    return "\n".join([TITAN_HEADER, *rows]) + "\n"


FTA_HEADER = (
    "# event_id component_id node_id platform_id node_name event_type event_start_time event_stop_time event_end_reason"
)


def fta_row(number: int, node: int, kind: object, start: object, stop: object) -> str:
    """One padded row of an event trace."""
    name = f"site/node{node}"
    return f"{number:>5}\t    0\t{node:>5}\t    7\t{name:>16}\t{kind!s:>6}\t{start!s:>12}\t{stop!s:>12}\tNULL"


def fta(*rows: str) -> str:
    """An event trace."""
    return "\n".join([FTA_HEADER, *rows]) + "\n"


RAW = {
    "loghub": "- 1117838570 2005.06.03 R02 x RAS KERNEL INFO ok\n"
    "KERNDTLB 1117838573 2005.06.03 R02 x RAS KERNEL FATAL no\n",
    "journal": '{"__REALTIME_TIMESTAMP":"1704448800000000","_HOSTNAME":"n1","MESSAGE":"ok"}\n'
    '{"__REALTIME_TIMESTAMP":"1704448801000000","_HOSTNAME":"n1","SYSLOG_IDENTIFIER":"kernel",'
    '"MESSAGE":"NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x"}\n',
    "syslog": "Jan  5 10:00:00 n1 kernel: ok\nJan  5 10:00:01 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x\n",
    "slurmctld": "[2024-01-05T10:00:00.000] error: Nodes n[01-03] not responding, setting DOWN\n"
    "[2024-01-05T11:00:00.000] Node n01 now responding\n",
    "sacct": "JobID|State|Start|End|NodeList\n1|NODE_FAIL|2024-01-05T10:00:00|2024-01-05T11:00:00|n[1-3]\n"
    "2|COMPLETED|2024-01-05T10:00:00|2024-01-05T12:00:00|n4\n",
    "slurm_events": "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    "c||2024-01-05T08:00:00|Unknown||Cluster Registered TRES|\n"
    "c|n1|2024-01-05T10:00:00|2024-01-05T11:00:00|DOWN*|Not responding|slurm(64030)\n",
    "slurm_nodes": "NodeName=n1 Arch=x\n   State=DOWN* ThreadsPerCore=1\n   BootTime=2024-01-01T00:00:00\n"
    "   Reason=bad [slurm@2024-01-05T10:00:00]\n",
    "blue_gene": "RECID,MSG_ID,COMPONENT,SEVERITY,EVENT_TIME,LOCATION\n"
    "1,K,KERNEL,FATAL,2009-01-05-00.00.51.231467,R00\n",
    "backblaze": "date,serial_number,model,capacity_bytes,failure\n2024-01-01,S1,M,4,0\n2024-01-02,S1,M,4,1\n",
    "prometheus": '{"data":{"resultType":"matrix","result":[{"metric":{"instance":"a"},"values":[[1704067200,"1"],'
    '[1704067260,"0"]]}]}}\n',
    "machine_events": "0,5,0,HofL,0.5,0.25\n600,5,1,HofL,0.5,0.25\n900,5,0,HofL,0.5,0.25\n"
    "901,6,0,HofL,0.5,0.25\n902,7,0,HofL,0.5,0.25\n",
}
"""Small raw logs, each with a failure."""


def good_files(folder: Path) -> dict[str, Path]:
    """One valid file a format."""
    texts = RAW | {
        "lanl": lanl(lanl_row(), lanl_row("1", "7/1/2003 0:10", "7/1/2003 2:10", "120"), lanl_row("", hardware="")),
        "titan": titan(
            "A1,c11-2c1s4n1,2014-01-01 10:00:00,2014-02-01 10:00:00,2678400,FALSE,",
            "A1,c11-2c1s4n1,2014-02-02 10:00:00,2014-02-03 10:00:00,86400,TRUE,DBE",
            "A1,c11-2c1s4n1,,2014-02-03 10:00:00,,,OTB",
            "B2,c0-0c0s0n0,2014-01-01 10:00:00,2019-08-01 20:07:33,176018853,FALSE,",
        ),
        "fta": fta(
            fta_row(0, 3, 0, 1_000_000_000, 1_000_003_600),
            fta_row(1, 3, 1, 1_000_003_600, 1_000_010_800),
            fta_row(2, 3, 0, 1_000_010_800, 1_000_012_600),
            fta_row(3, 3, 1, 1_000_012_600, 1_000_020_000),
            fta_row(4, 4, 1, 1_000_000_000, 1_000_020_000),
        ),
        "table": "node,start,end,cause,rack\nn1,2024-01-01 10:00,2024-01-01 12:30,disk,r1\nn2,2024-01-02 10:00,,,r2\n",
        "prometheus": "time,instance,value\n1704067200,a:9100,1\n1704067260,a:9100,0\n1704067320,a:9100,1\n",
    }
    paths = {}
    for name, text in texts.items():
        paths[name] = folder / f"{name}.txt"
        paths[name].write_text(text)
    paths["relfit"] = rf.write(rf.read(paths["lanl"]), folder / "relfit.parquet")
    return paths


BAD_ROWS = {
    "lanl": lanl_row().replace("6/21/2003 10:54", "13/45/2003 10:54"),
    "titan": "A1,c11-2c1s4n1,2014-01-01 10:00:00,2014-02-01 10:00:00,-5,FALSE,",
    "fta": fta_row(5, 3, 0, 1_000_020_000, 999_999_999),
    "backblaze": "2024-13-45,S1,M,4,0",
    "blue_gene": "2,K,KERNEL,FATAL,soon,R00",
    "sacct": "6|NODE_FAIL|2024-01-05T10:00:00|Unknown|n7",
    "slurm_events": "c|n2|soon|Unknown|DOWN|bad|root(0)",
    "slurm_nodes": "NodeName=n2 Arch=x",
    "slurmctld": "error: Nodes n[01-03] not responding, setting DOWN",
    "loghub": "KERNDTLB and neither a time nor a node",
    "prometheus": "soon,a:9100,1",
    "machine_events": "900,5,9,HofL,0.5,0.25",
    "journal": '{"MESSAGE": "Kernel panic - not syncing"}',
    "syslog": "kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x",
    "table": "n9,yesterday-ish,,,",
}
"""A last row for each of `good_files` that its reader rejects."""
