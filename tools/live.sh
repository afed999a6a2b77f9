#!/usr/bin/env bash
# Real programs for the tests of relfit watch, each on free ports of this machine and in a folder of its own. As root:
#   tools/live.sh install                  Debian's packages; the services that they bring are not started
#   tools/live.sh up FOLDER [PART...]      starts slurm, prometheus, alertmanager, exporter, postgres (all when left out)
#   tools/live.sh down FOLDER              ends what it started there, by process id
# `up` writes FOLDER/live.env: source it, then scontrol, sacctmgr and curl reach what runs.
# LIVE_NODES holds the lines NodeName= and PartitionName= of slurm.conf, LIVE_PAST a file of OpenMetrics text that
# Prometheus is given as its past, LIVE_TARGETS the addresses (a,b) that it scrapes every second as the job "node".
set -euo pipefail
packages="slurmctld slurm-client slurmdbd munge mariadb-server prometheus prometheus-node-exporter
    prometheus-alertmanager postgresql"

free_ports() { # COUNT: ports that nothing listens on
    python3 -c "import socket, sys
held = [socket.create_server(('127.0.0.1', 0)) for _ in range(int(sys.argv[1]))]
print(*(one.getsockname()[1] for one in held))" "$1"
}
until_ready() { # SECONDS COMMAND...: until it succeeds
    local end=$((SECONDS + $1))
    while [ $SECONDS -le $end ]; do timeout 5 "${@:2}" > /dev/null 2>&1 && return; sleep 0.2; done
    echo "not ready after $1 s: ${*:2}; see $dir/log" >&2
    return 1
}
started() { echo "$2" > "$dir/run/$1.pid"; } # NAME PID
say() { printf 'export %s=%q\n' "$1" "$2" >> "$dir/live.env"; } # NAME VALUE
answers=(python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])') # ADDRESS

install() {
    local policy=/usr/sbin/policy-rc.d made=
    if [ ! -e $policy ]; then made=1; printf '#!/bin/sh\nexit 101\n' > $policy; chmod 755 $policy; fi
    trap '[ -z "'$made'" ] || rm -f '$policy EXIT
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages
}

slurm() {
    local munge ctld slurmd dbd maria
    read -r ctld slurmd dbd maria < <(free_ports 4)
    munge=$dir/run/munge.sock
    mkdir -p "$dir"/slurm/{state,db}
    dd if=/dev/urandom of="$dir/slurm/munge.key" bs=1 count=1024 status=none
    chmod 400 "$dir/slurm/munge.key"
    munged --force --socket="$munge" --key-file="$dir/slurm/munge.key" --pid-file="$dir/run/munge.pid" \
        --log-file="$dir/log/munge.txt" --seed-file="$dir/slurm/munge.seed" 2> "$dir/log/munged.txt"
    mariadb-install-db --user=root --datadir="$dir/slurm/db" --auth-root-authentication-method=normal \
        > "$dir/log/install.txt" 2>&1
    mariadbd --no-defaults --user=root --datadir="$dir/slurm/db" --socket="$dir/run/maria.sock" --port="$maria" \
        --bind-address=127.0.0.1 --skip-name-resolve --innodb-buffer-pool-size=64M --pid-file="$dir/run/maria.pid" \
        > "$dir/log/maria.txt" 2>&1 &
    until_ready 30 mariadb -S "$dir/run/maria.sock" -e 'select 1'
    mariadb -S "$dir/run/maria.sock" -e "create database slurm_acct_db; create user slurm@'%' identified by 'trial';
        grant all on slurm_acct_db.* to slurm@'%'"
    printf '%s\n' AuthType=auth/munge "AuthInfo=socket=$munge" DbdHost=localhost "DbdPort=$dbd" SlurmUser=root \
        StorageType=accounting_storage/mysql StorageHost=127.0.0.1 "StoragePort=$maria" StorageUser=slurm \
        StoragePass=trial StorageLoc=slurm_acct_db "LogFile=$dir/log/slurmdbd.txt" "PidFile=$dir/run/slurmdbd.pid" \
        > "$dir/slurm/slurmdbd.conf"
    chmod 600 "$dir/slurm/slurmdbd.conf"
    printf '%s\n' ClusterName=trial 'SlurmctldHost=localhost(127.0.0.1)' SlurmUser=root AuthType=auth/munge \
        "AuthInfo=socket=$munge" "SlurmctldPort=$ctld" "SlurmdPort=$slurmd" "StateSaveLocation=$dir/slurm/state" \
        "SlurmctldLogFile=$dir/log/slurmctld.txt" "SlurmctldPidFile=$dir/run/slurmctld.pid" MpiDefault=none \
        ProctrackType=proctrack/linuxproc TaskPlugin=task/none SelectType=select/cons_tres ReturnToService=2 \
        AccountingStorageType=accounting_storage/slurmdbd AccountingStorageHost=localhost \
        "AccountingStoragePort=$dbd" "AccountingStoragePass=$munge" SlurmdTimeout=0 \
        "${LIVE_NODES:-NodeName=n[001-100] CPUs=4 RealMemory=1000 NodeAddr=127.0.0.1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP}" > "$dir/slurm/slurm.conf"
    export SLURM_CONF=$dir/slurm/slurm.conf
    say SLURM_CONF "$SLURM_CONF"
    say LIVE_ACCOUNTING "mysql+pymysql://slurm@127.0.0.1:$maria/slurm_acct_db"
    say LIVE_ACCOUNTING_PASSWORD trial
    slurmdbd
    until_ready 20 sacctmgr -n show cluster
    sacctmgr -i add cluster trial > "$dir/log/cluster.txt" 2>&1
    slurmctld -f "$SLURM_CONF"
    until_ready 20 sh -c 'scontrol ping | grep -q UP'
    # nodes without a daemon are of unknown state until they were down once; the record of that is removed
    scontrol update NodeName=ALL State=DOWN Reason=begun
    sleep 1
    scontrol update NodeName=ALL State=RESUME
    query="select min(time_end) from slurm_acct_db.trial_event_table where node_name <> '' having count(*) > 0"
    until_ready 20 sh -c "mariadb -N -S '$dir/run/maria.sock' -e \"$query\" | grep -qx '[1-9][0-9]*'"
    mariadb -S "$dir/run/maria.sock" -e "delete from slurm_acct_db.trial_event_table where node_name <> ''"
}

alertmanager() {
    local port
    port=$(free_ports 1)
    mkdir -p "$dir/alertmanager"
    printf '%s\n' 'route: {receiver: nobody}' 'receivers: [{name: nobody}]' > "$dir/alertmanager/alertmanager.yml"
    prometheus-alertmanager --config.file="$dir/alertmanager/alertmanager.yml" --cluster.listen-address= \
        --storage.path="$dir/alertmanager/data" --web.listen-address="127.0.0.1:$port" \
        > "$dir/log/alertmanager.txt" 2>&1 &
    started alertmanager $!
    say LIVE_ALERTMANAGER "http://127.0.0.1:$port"
    until_ready 20 "${answers[@]}" "http://127.0.0.1:$port/-/ready"
}

exporter() {
    exporter_port=$(free_ports 1)
    mkdir -p "$dir/textfile"
    prometheus-node-exporter --web.listen-address="127.0.0.1:$exporter_port" --collector.disable-defaults \
        --collector.textfile --collector.textfile.directory="$dir/textfile" > "$dir/log/exporter.txt" 2>&1 &
    started exporter $!
    say LIVE_EXPORTER "http://127.0.0.1:$exporter_port/metrics"
    say LIVE_TEXTFILES "$dir/textfile"
    until_ready 20 "${answers[@]}" "http://127.0.0.1:$exporter_port/metrics"
}

prometheus() {
    local port targets=${LIVE_TARGETS:-}
    port=$(free_ports 1)
    mkdir -p "$dir/prometheus"
    targets=${targets:-${exporter_port:+127.0.0.1:$exporter_port}}
    printf '%s\n' 'global: {scrape_interval: 1s, scrape_timeout: 1s}' 'scrape_configs:' '- job_name: node' \
        "  static_configs: [{targets: [$targets]}]" > "$dir/prometheus/prometheus.yml"
    if [ -n "${LIVE_PAST:-}" ]; then
        promtool tsdb create-blocks-from openmetrics "$LIVE_PAST" "$dir/prometheus/data" > "$dir/log/past.txt" 2>&1
    fi
    command prometheus --config.file="$dir/prometheus/prometheus.yml" --storage.tsdb.path="$dir/prometheus/data" \
        --storage.tsdb.retention.time=10y --web.listen-address="127.0.0.1:$port" > "$dir/log/prometheus.txt" 2>&1 &
    started prometheus $!
    say LIVE_PROMETHEUS "http://127.0.0.1:$port"
    until_ready 30 "${answers[@]}" "http://127.0.0.1:$port/-/ready"
}

postgres() {
    local port programs
    port=$(free_ports 1)
    programs=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/postgres | sort -V | tail -n 1)")
    mkdir -p "$dir/postgres"
    chown postgres "$dir/postgres"
    su postgres -s /bin/sh -c "'$programs/initdb' -D '$dir/postgres/data' -U relfit --auth=trust -E UTF8 --no-sync" \
        > "$dir/log/initdb.txt" 2>&1
    su postgres -s /bin/sh -c "exec '$programs/postgres' -D '$dir/postgres/data' -p $port -h 127.0.0.1 -k /tmp -F" \
        > "$dir/log/postgres.txt" 2>&1 &
    say LIVE_POSTGRES "postgresql+psycopg://relfit@127.0.0.1:$port/postgres"
    until_ready 30 "$programs/pg_isready" -h 127.0.0.1 -p "$port"
    started postgres "$(head -n 1 "$dir/postgres/data/postmaster.pid")"
}

down() {
    local file pids=()
    for file in "$dir"/run/*.pid; do
        [ -s "$file" ] || continue
        pids+=("$(cat "$file")")
        kill -"$(case $file in */postgres.pid) echo INT ;; *) echo TERM ;; esac)" "${pids[-1]}" 2> /dev/null || true
        rm -f "$file"
    done
    for _ in $(seq 20); do kill -0 "${pids[@]}" 2> /dev/null || break; sleep 0.1; done
    [ ${#pids[@]} = 0 ] || kill -KILL "${pids[@]}" 2> /dev/null || true
}

case ${1:-} in
    install) install; exit ;;
    up | down) [ -n "${2:-}" ] && mkdir -p "$2" && dir=$(cd "$2" && pwd) || { sed -n '2,8s/^# //p' "$0" >&2; exit 2; } ;;
    *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
esac
if [ "$1" = down ]; then down; exit; fi
mkdir -p "$dir"/{log,run}
chmod 755 "$dir"
[ -s "$dir/live.env" ] || : > "$dir/live.env"
shift 2
for part in ${*:-slurm postgres alertmanager exporter prometheus}; do
    case $part in
        slurm | postgres | alertmanager | exporter | prometheus) $part ;;
        *) echo "no part $part" >&2; exit 2 ;;
    esac
done
