#!/bin/sh
# Builds the image of the Docker sandbox.
#
#   BASE=python:3.11.13-slim-bookworm
#       any image of Debian's with python3 as its Python, which gets PostgreSQL and git from the
#       archive while the image is built; or BASE=debootstrap, which makes a base with all of them
#       from the Debian archive, for hosts without an image registry (root)
#   IMAGE=nightshift-sandbox:latest
#       name of the result
#   SUITE=bookworm MIRROR=http://deb.debian.org/debian
#       for BASE=debootstrap
#   UV=scripts/uv
#       the uv to install the libraries with
#
# The libraries are installed on the host, because containers may have no network.
set -eu

image=${IMAGE:-nightshift-sandbox:latest}
here=$(cd -- "$(dirname -- "$0")" && pwd)
project=$(cd -- "$here/../.." && pwd)
uv=${UV:-$project/scripts/uv}

# Neither a server nor a client needs them.
needless="var/cache/apt/* var/lib/apt/lists/* var/lib/postgresql/* usr/lib/*/libLLVM*
    usr/share/doc usr/share/man usr/share/info usr/share/i18n usr/share/locale"

context=$(mktemp -d)
trap 'rm -rf -- "$context"' EXIT INT TERM

# A base that is made here brings everything, because containers may have no network.
[ "${BASE:-}" = debootstrap ] && network=none || network=default
base=$(NEEDLESS=$needless "$here/base.sh")

python=$(docker run --rm --label nightshift=image-build --network none --entrypoint python3 "$base" -c \
    'import sys; print("%d.%d" % sys.version_info[:2])')
echo "Installing the libraries for Python $python" >&2
cd -- "$project"
"$uv" export --quiet --frozen --no-dev --all-extras --no-hashes --no-emit-project \
    >"$context/constraints.txt"
# OpenCV without its window system: the same package twice would overwrite itself.
echo "opencv-python ; python_version < '0'" >"$context/overrides.txt"
"$uv" pip install --quiet --python-version "$python" --only-binary :all: \
    --target "$context/libraries" --constraints "$context/constraints.txt" \
    --overrides "$context/overrides.txt" --requirements "$here/libraries.txt"
# Programs for a shell, and tests, are of no use inside.
rm -rf -- "$context/libraries/bin"
find "$context/libraries" -type d -name tests -prune -exec rm -rf -- {} +
# World-readable whatever the umask: the sandbox's user owns nothing.
chmod -R u+rwX,go+rX,go-w "$context/libraries"
cp -- "$here/Dockerfile" "$context/Dockerfile"
rm -- "$context/constraints.txt" "$context/overrides.txt"

former=$(docker image inspect --format '{{.Id}}' "$image" 2>/dev/null || true)
echo "Building $image on $base" >&2
docker build --quiet --network "$network" --build-arg "BASE=$base" \
    --build-arg "NEEDLESS=$needless" --tag "$image" "$context"

# Its name has gone to the new one, unless they are the same; with another name it is somebody's.
if [ -n "$former" ] && tags=$(docker image inspect --format '{{join .RepoTags " "}}' "$former" \
    2>/dev/null) && [ -z "$tags" ]; then
    docker image rm "$former" >/dev/null || echo "build.sh: the former image is left" >&2
fi
