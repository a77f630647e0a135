// Loaded before a command (NODE_OPTIONS=--import): every file system looks like NFS, so that locks are directories.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const NFS = 0x6969
const { statfsSync } = fs
fs.statfsSync = (...args) => Object.assign(statfsSync(...args), { type: NFS })
syncBuiltinESMExports()
