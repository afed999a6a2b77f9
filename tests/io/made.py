"""Small files in every format, for the tests of the readers."""

from __future__ import annotations

from pathlib import Path

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


def good_files(folder: Path) -> dict[str, Path]:
    """One valid file a format."""
    texts = {
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
    }
    paths = {}
    for name, text in texts.items():
        paths[name] = folder / f"{name}.txt"
        paths[name].write_text(text)
    return paths
