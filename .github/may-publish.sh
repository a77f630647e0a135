#!/usr/bin/env bash
# Ends with exit 1 if npm would refuse the package, or if the tag is not that of its version.
set -euo pipefail
cd "$(dirname "$0")/.."

refuse() {
  echo "not published: $1" >&2
  exit 1
}
version=$(node -p 'require("./package.json").version')
[ "${GITHUB_REF_NAME:-}" = "v$version" ] || refuse "the tag is ${GITHUB_REF_NAME:-missing}, but package.json has the version $version; tag v$version"
grep -q "^## $version (unreleased)" CHANGELOG.md && refuse "CHANGELOG.md says that $version is unreleased; give its date"
# npm compares this address with the repository in the provenance.
repository=$(node -p 'const { repository: at } = require("./package.json"); (at?.url ?? at ?? "").replace(/^git\+|\.git$/g, "")')
address=${GITHUB_SERVER_URL:-https://github.com}/${GITHUB_REPOSITORY:-}
[ -n "$repository" ] || refuse "package.json has no repository, which npm needs for the provenance; set it to $address"
[ "$repository" = "$address" ] || refuse "package.json has the repository $repository, but this is $address"
# Trusted publishing needs npm 11.5.1 or newer.
npm=$(npm --version)
[ "$(printf '%s\n' 11.5.1 "$npm" | sort -V | head -1)" = 11.5.1 ] || refuse "npm $npm cannot publish by a trusted workflow; use npm 11.5.1 or newer"
echo "$version may be published from $address"
