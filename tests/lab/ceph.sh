#!/usr/bin/env bash
# One node of Ceph with an object gateway, as root and without systemd, for tests against a real store:
#
#   tests/lab/ceph.sh up FOLDER      a monitor, a manager, a disk in memory and a gateway; prints the gateway's host:port
#   tests/lab/ceph.sh down FOLDER    ends what it started
#
# The gateway's user has the access key AKTEST and the secret key SKTEST. Needs the packages radosgw, ceph-mon, ceph-mgr,
# ceph-osd and ceph-common (16.2 or newer); about 15 s and 800 MB of memory.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: tests/lab/ceph.sh up|down FOLDER" >&2 && exit 2; }
what=$1 folder=$2
conf=$folder/ceph.conf

down() {
  local pid
  # Without a monitor the others never end on their own, and nothing of them is worth keeping.
  for pid in "$folder"/run/*.pid; do
    [ ! -f "$pid" ] || kill -KILL "$(cat "$pid")" 2> /dev/null || true
  done
}

if [ "$what" = down ]; then down && exit 0; fi
[ "$what" = up ] || { echo "tests/lab/ceph.sh: \`$what\` is neither up nor down" >&2 && exit 2; }
mkdir -p "$folder"/{mon,mgr,osd0,rgw,run,log}
trap down ERR

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
monitor=$(free_port) gateway=$(free_port)
fsid=$(cat /proc/sys/kernel/random/uuid)
cat > "$conf" << CONF
[global]
fsid = $fsid
mon initial members = a
mon host = [v2:127.0.0.1:$monitor]
public network = 127.0.0.0/8
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon warn on pool no redundancy = false
mon allow pool size one = true
mon data avail warn = 1
mon data avail crit = 0
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 1073741824
osd data = $folder/osd0
mon data = $folder/mon
mgr data = $folder/mgr
rgw data = $folder/rgw
run dir = $folder/run
admin socket = $folder/run/\$name.asok
pid file = $folder/run/\$name.pid
log file = $folder/log/\$name.log
mon cluster log file = $folder/log/cluster.log
keyring = $folder/keyring
mgr initial modules =
ms bind ipv6 = false
# Buckets such as model_weights, as clusters have them.
rgw relaxed s3 bucket names = true
rgw frontends = beast endpoint=127.0.0.1:$gateway
CONF
{
  key() { ceph-authtool "$folder/keyring" --gen-key "$@"; }
  ceph-authtool --create-keyring "$folder/keyring" --gen-key -n mon. --cap mon 'allow *'
  key -n mgr.x --cap mon 'allow profile mgr' --cap osd 'allow *' --cap mds 'allow *'
  key -n osd.0 --cap mon 'allow profile osd' --cap mgr 'allow profile osd' --cap osd 'allow *'
  key -n client.rgw.a --cap mon 'allow rw' --cap mgr 'allow rw' --cap osd 'allow rwx'
  key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' --cap mds 'allow *'
  monmaptool --create --addv a "[v2:127.0.0.1:$monitor]" --fsid "$fsid" "$folder/monmap"
  ceph-mon -c "$conf" --mkfs -i a --monmap "$folder/monmap" --keyring "$folder/keyring"
  ceph-mon -c "$conf" -i a
  for _ in $(seq 60); do
    if timeout 5 ceph -c "$conf" -s; then break; fi
    sleep 0.3
  done
  uuid=$(cat /proc/sys/kernel/random/uuid)
  ceph -c "$conf" osd new "$uuid" 0
  ceph-mgr -c "$conf" -i x
  ceph-osd -c "$conf" -i 0 --mkfs --no-mon-config --osd-uuid "$uuid"
  ceph -c "$conf" osd crush add osd.0 1 root=default host=vm
  ceph-osd -c "$conf" -i 0
  radosgw -c "$conf" -n client.rgw.a
  for _ in $(seq 200); do
    if (exec 3<> "/dev/tcp/127.0.0.1/$gateway"); then break; fi
    sleep 0.3
  done
  radosgw-admin -c "$conf" user create --uid=t --display-name=t --access-key=AKTEST --secret-key=SKTEST
} > "$folder/log/setup.log" 2>&1
echo "127.0.0.1:$gateway"
