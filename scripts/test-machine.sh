#!/bin/sh
# Install what the tests need beside Python, where that is missing and we may: Chromium, PostgreSQL, npm and curl, from Debian.
# Where we may not, the tests that need them are skipped with one summary line, or fail when CI=true.
set -u
need=""
command -v chromium >/dev/null 2>&1 || need="$need chromium fonts-noto-color-emoji"
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || need="$need postgresql"
command -v npm >/dev/null 2>&1 || need="$need nodejs npm"
command -v curl >/dev/null 2>&1 || need="$need curl"
[ -n "$need" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing for the tests:$need"
  export DEBIAN_FRONTEND=noninteractive
  # A package must not start a server of its own here: the tests start theirs on a free port.
  # shellcheck disable=SC2086
  apt-get update -qq && apt-get install -y -qq --no-install-recommends $need >/dev/null && exit 0
fi
echo "Not installed:$need. Tests that need them will be skipped (with CI=true they fail). As root: apt-get install$need"
exit 0
