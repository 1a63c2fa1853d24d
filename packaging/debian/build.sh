#!/usr/bin/env bash
# Builds the Debian packages of the commit that is checked out, into FOLDER (default: dist/debian). The source
# package is the commit and debian/ of this folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${1:-$root/dist/debian}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$root/pyproject.toml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder" "$work/stepstore-$version"
git -C "$root" archive HEAD | tar -x -C "$work/stepstore-$version"
cp -r "$here/debian" "$work/stepstore-$version/debian"
cd "$work/stepstore-$version"
dpkg-buildpackage -us -uc
cp ../*.deb ../*.dsc ../*.tar.* ../*.changes ../*.buildinfo "$folder/"
ls -l "$folder"
