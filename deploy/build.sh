#!/bin/sh
# Builds the image of the application: Nightshift, Prefect and Dask in one locked environment.
#
#   BASE=python:3.11.13-slim-bookworm
#       any image of Debian's with python3 as its Python; or BASE=debootstrap, as in
#       environments/image/base.sh, for hosts without an image registry (root)
#   IMAGE=nightshift:latest
#       name of the result
#   UV=scripts/uv
#       the uv to install the libraries with
#
# The libraries are installed on the host, because containers may have no network.
set -eu

image=${IMAGE:-nightshift:latest}
here=$(cd -- "$(dirname -- "$0")" && pwd)
project=$(cd -- "$here/.." && pwd)
uv=${UV:-$project/scripts/uv}
needless="var/cache/apt/* var/lib/apt/lists/* var/lib/postgresql/* usr/lib/*/libLLVM*
    usr/share/doc usr/share/man usr/share/info usr/share/i18n usr/share/locale"

# A base that is made here brings everything, because containers may have no network.
[ "${BASE:-}" = debootstrap ] && network=none || network=default
base=$(NEEDLESS=$needless "$project/environments/image/base.sh")
context=$(mktemp -d)
trap 'rm -rf -- "$context"' EXIT INT TERM

python=$(docker run --rm --label nightshift=image-build --network none --entrypoint python3 "$base" -c \
    'import sys; print("%d.%d" % sys.version_info[:2])')
echo "Installing the locked environment for Python $python" >&2
cd -- "$project"
"$uv" export --quiet --frozen --no-dev --all-extras --no-extra default-model --no-extra mpnet \
    --no-extra local-models --no-hashes --no-emit-project >"$context/requirements.txt"
# What the lock has no room for (OpenCV with its window system) is not in the export.
"$uv" pip install --quiet --python-version "$python" --only-binary :all: --no-deps \
    --target "$context/libraries" --requirements "$context/requirements.txt"
"$uv" pip install --quiet --python-version "$python" --no-deps --target "$context/libraries" .
rm -rf -- "$context/libraries/bin" "$context/requirements.txt"
# World-readable whatever the umask: the container's user owns nothing.
chmod -R u+rwX,go+rX,go-w "$context/libraries"
cp -- "$here/Dockerfile" "$here/dask.yaml" "$context"

echo "Building $image on $base" >&2
docker build --quiet --network "$network" --build-arg "BASE=$base" \
    --build-arg "NEEDLESS=$needless" --build-arg "PYTHON=$python" --tag "$image" "$context"
