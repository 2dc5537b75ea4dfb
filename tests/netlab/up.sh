#!/usr/bin/env bash
# Two clusters behind NAT and a public side, as network namespaces of this machine; needs root, ip and nft.
#
#   hub 10.60.0.10 ── public ── router ──┬── bridge S: s1 10.61.0.11
#                                        └── bridge A: a1 10.62.0.11
#
# Clusters dial out to the public side through NAT; no host dials in, and they do not see each other. Every name begins with
# the first argument, so that down.sh removes exactly these. Chain `faults` of the router's table is for the test to fill.
set -euo pipefail
lab=${1:?a prefix for the names of the namespaces, at most 6 characters}

router() { ip netns exec "$lab-rt" "$@"; }

bridge() { # name, the router's address on it
  ip -n "$lab-rt" link add "$1" type bridge
  ip -n "$lab-rt" addr add "$2" dev "$1"
  ip -n "$lab-rt" link set "$1" up
}

host() { # name, bridge, address, gateway
  ip netns add "$lab-$1"
  ip link add "$lab-v$1" type veth peer name "$lab-r$1"
  ip link set "$lab-v$1" netns "$lab-$1"
  ip link set "$lab-r$1" netns "$lab-rt"
  ip -n "$lab-rt" link set "$lab-r$1" master "$2"
  ip -n "$lab-rt" link set "$lab-r$1" up
  ip -n "$lab-$1" link set lo up
  ip -n "$lab-$1" link set "$lab-v$1" name eth0
  ip -n "$lab-$1" addr add "$3/24" dev eth0
  ip -n "$lab-$1" link set eth0 up
  ip -n "$lab-$1" route add default via "$4"
}

ip netns add "$lab-rt"
ip -n "$lab-rt" link set lo up
router sysctl -qw net.ipv4.ip_forward=1
# Where bridged frames pass the firewall, hosts of one bridge would not see each other.
router sysctl -qw net.bridge.bridge-nf-call-iptables=0 2>/dev/null || true
bridge public 10.60.0.1/24
bridge brS 10.61.0.1/24
bridge brA 10.62.0.1/24
host hub public 10.60.0.10 10.60.0.1
host s1 brS 10.61.0.11 10.61.0.1
host a1 brA 10.62.0.11 10.62.0.1

router nft -f - <<'RULES'
table ip lab {
  chain faults {
  }
  chain through {
    type filter hook forward priority 0; policy drop;
    jump faults
    ct state established,related accept
    iifname { "brS", "brA" } oifname "public" accept
  }
  chain out {
    type nat hook postrouting priority 100;
    iifname { "brS", "brA" } oifname "public" masquerade
  }
}
RULES
