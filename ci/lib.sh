# What the scripts in ci/ share: where things are, and how a fresh machine gets what it lacks. Sourced, not run.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=$root/.cache
venv=$cache/venv
target=${CARGO_TARGET_DIR:-$root/target}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
jar=$root/jvm/spark/target/fulgurite-spark-4.3_2.13-$version.jar

say() { printf '\n== %s\n' "$*"; }

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# install_debian COMMAND PACKAGE...: installs the packages where this may be done, else says what is missing.
install_debian() {
  local command=$1
  shift
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "Installing $*"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
  fi
  command -v "$command" >/dev/null || die "$command is missing: install $* (Debian's names) and run this again."
}

need_rust() {
  command -v cargo >/dev/null || die "cargo is missing: install Rust 1.95 or newer (rustup installs it) and run this again."
  command -v cc >/dev/null || install_debian cc gcc libc6-dev
}

need_java() {
  if ! command -v javac >/dev/null; then install_debian javac openjdk-17-jdk-headless; fi
  local major
  major=$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
  [ "$major" -ge 17 ] || die "JDK 17 or newer is needed, javac on the PATH is version $major: put a newer one first on the PATH."
  command -v mvn >/dev/null || install_debian mvn maven
  if [ -z "${JAVA_HOME:-}" ]; then
    JAVA_HOME=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
    export JAVA_HOME
  fi
}

# need_venv FOLDER REQUIREMENTS: a virtual environment with just these packages; made again when they change.
need_venv() {
  local folder=$1 requirements=$2 python
  python=$(command -v python3) || { install_debian python3 python3 python3-venv; python=$(command -v python3); }
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || die "Python 3.10 or newer is needed, $python is older."
  if ! cmp -s "$requirements" "$folder/requirements.txt"; then
    say "Python packages: $(basename "$requirements")"
    rm -rf "$folder"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_debian python3 python3-venv
    "$python" -m venv "$folder"
    "$folder/bin/pip" install -q -r "$requirements"
    cp "$requirements" "$folder/requirements.txt"
  fi
}
