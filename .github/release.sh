#!/usr/bin/env bash
# Writes the files of a release into a new directory: the tarball, its list of components (CycloneDX) and the checksums.
set -euo pipefail
directory=$(mkdir "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.."

npm pack --pack-destination "$directory"
name=$(node -p 'const { name, version } = require("./package.json"); `${name}-${version}`')
# The tarball contains the plugins, which are workspaces here. It also contains code of the development dependencies.
npm sbom --sbom-format cyclonedx --sbom-type application > "$directory/all.json"
# npm names the root after its directory.
node -e '
  const list = JSON.parse(require("node:fs").readFileSync(0, "utf8"))
  list.metadata.component.name = require("./package.json").name
  console.log(JSON.stringify(list, null, 2))
' < "$directory/all.json" > "$directory/$name.cdx.json"
rm "$directory/all.json"
cd "$directory"
sha256sum -- *.tgz *.json > SHA256SUMS
cat SHA256SUMS
