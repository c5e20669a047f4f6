#!/bin/bash
# make distcheck: the tarball builds, tests and installs by itself
. "$(dirname "$0")/common.sh"
tests/dev/deps.sh
targets=(distcheck)
build_tree "$@"
