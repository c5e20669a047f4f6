#!/bin/bash
# builds into build/ (or $IDEM_BUILD) with fail points and -Werror; arguments go to configure
. "$(dirname "$0")/common.sh"
build_tree --enable-failpoints --enable-werror "$@"
