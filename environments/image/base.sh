#!/bin/sh
# Makes the base image of our images where no image registry is reachable, and prints its name.
#
#   BASE=python:3.11.13-slim-bookworm
#       printed as it is; BASE=debootstrap makes one from the Debian archive, with Python, PostgreSQL
#       and git (root)
#   SUITE=bookworm MIRROR=http://deb.debian.org/debian
#       for BASE=debootstrap
#   NEEDLESS=...
#       what to leave out, as paths below /
set -eu

base=${BASE:-python:3.11.13-slim-bookworm}
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}

docker version >/dev/null || { echo "base.sh: the Docker engine does not answer" >&2; exit 1; }
if [ "$base" != debootstrap ]; then
    echo "$base"
    exit
fi
base=nightshift-base:$suite-postgresql-git
if ! docker image inspect "$base" >/dev/null 2>&1; then
    [ "$(id -u)" -eq 0 ] || { echo "base.sh: BASE=debootstrap needs root: run it with sudo" >&2; exit 1; }
    command -v debootstrap >/dev/null || {
        echo "base.sh: BASE=debootstrap needs debootstrap: apt-get install debootstrap" >&2
        exit 1
    }
    folder=$(mktemp -d)
    trap 'rm -rf -- "$folder"' EXIT INT TERM
    echo "Making the base image $base with debootstrap" >&2
    debootstrap --variant=minbase --include=python3,postgresql,git \
        "$suite" "$folder/base" "$mirror" >&2
    (cd -- "$folder/base" && rm -rf -- ${NEEDLESS:-})
    tar -C "$folder/base" --numeric-owner -c . | docker import - "$base" >/dev/null
fi
echo "$base"
