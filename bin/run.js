#!/bin/sh
':' //; SUBSTRAT_TRAPPED=; trap 'SUBSTRAT_TRAPPED=1' HUP; kill -HUP $$; [ "$SUBSTRAT_TRAPPED" ] || SUBSTRAT_HANGUP=ignored; unset SUBSTRAT_TRAPPED; export SUBSTRAT_HANGUP="${SUBSTRAT_HANGUP:-default}"; exec node "$0" "$@"
// The line above is for the shell alone. `nohup` protects by having SIGHUP ignored, which a shell cannot trap then; Node
// sets every signal to its default before any script runs, so that only what starts it can tell.

// Starts the bundle from V8's compiled code, kept in oclif's cache directory: compiling it anew takes 25 ms of every
// start. Invariants: code is used only with the very source it was made from, and only if it is whole (V8 compares
// the source's length, no more, and damaged code crashes the process); only if nobody else could have written it (a
// checksum is no signature); a cache that cannot be used costs time only.

// First of all: SIGUSR1 opens Node's inspector on a port of this machine, through which every local user could read the
// environment, and the keys in it. A listener keeps it shut; a signal that came before it may have opened it.
process.on('SIGUSR1', () => undefined)
refuseInspector()
if (isHangupIgnored()) {
  // For the turn that is stopped by signals, and for what substrat starts in its turn.
  process.env.SUBSTRAT_HANGUP = 'ignored'
  process.on('SIGHUP', () => undefined)
} else delete process.env.SUBSTRAT_HANGUP

// Like import, for the builtin modules; import takes 1 ms more, since it evaluates every getter of node:fs.
const builtin = process.getBuiltinModule
const { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } =
  builtin('node:fs')
const { Module, createRequire } = builtin('node:module')
const path = builtin('node:path')
const { Script } = builtin('node:vm')
const { crc32 } = builtin('node:zlib')

const root = path.dirname(__dirname)
const file = path.join(root, 'dist', 'substrat.cjs')
const bridgeFile = path.join(root, 'dist', 'mcp.cjs')
// V8 takes no code that was made under other flags of its own.
const made = crc32(JSON.stringify([file, process.execArgv, process.env.NODE_OPTIONS])).toString(16)
const codeFile = path.join(cacheDir(), `${process.version}-${process.arch}-${made}.code`)
const codeSavedWithinMs = 10_000
// What a command does only with an agent of some age is then among it too.
const codeRenewedAfterMs = 24 * 60 * 60 * 1000

if (!existsSync(file)) {
  console.error(`substrat is not built: ${file} is missing. Run: npm run build`)
  process.exit(1)
}
// An agent's program waits for `substrat mcp` at the start of each of its turns; to carry bytes takes no oclif.
if (process.argv.length === 3 && process.argv[2] === 'mcp') {
  require(bridgeFile)
  refuseInspector()
} else start()

function start() {
  const source = readFileSync(file)
  const saved = readCode(source)
  const script = new Script(wrapped(source), { filename: file, cachedData: saved?.code })
  const bundle = new Module(file)
  bundle.filename = file
  bundle.importModule = (specifier) => import(specifier)
  // oclif loads the commands from this file by its name: it must get this instance, not a second one.
  const requireBundle = createRequire(file)
  requireBundle.cache[file] = bundle
  script.runInThisContext()(bundle.exports, requireBundle, bundle, file, path.dirname(file))
  bundle.loaded = true
  // A signal that came before the listener has had its effect by now.
  refuseInspector()
  process.once('exit', (exitCode) => saveCode(exitCode, { bundle, saved, script, source }))
  bundle.exports.main(root, {
    whyUntrusted: (files) => whyUntrusted(files.filter((file) => existsSync(file))),
  })
}

/** Of who runs this file with `node` itself: whether that was by `nohup`, or in a shell that ignores it. */
function isHangupIgnored() {
  const { SUBSTRAT_HANGUP: told, _: program = '' } = process.env
  if (told !== undefined) return told === 'ignored'
  if (program.endsWith('/nohup')) return true
  try {
    const status = process.getBuiltinModule('node:fs').readFileSync(`/proc/${process.ppid}/status`, 'utf8')
    return (Number.parseInt(/^SigIgn:.*(.)$/m.exec(status)[1], 16) & 1) === 1
  } catch {
    return false
  }
}

/** Ends the process where the inspector is open and nobody has asked for it on the command line. */
function refuseInspector() {
  const url = inspectorUrl()
  const isAskedFor = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((text) =>
    /--inspect(-brk|-wait)?(=|\s|$)/.test(text),
  )
  if (url === undefined || isAskedFor) return
  console.error(
    `substrat: Node's inspector is open (${url}), and shows API keys to every user of this machine: nothing was done (SIGUSR1 has opened it; run the same command again)`,
  )
  process.exit(1)
}

/** To load node:inspector takes 2 ms of every start; its binding is there already. */
function inspectorUrl() {
  try {
    return process.binding('inspector').url()
  } catch {
    return process.getBuiltinModule('node:inspector').url()
  }
}

/** Put together as bytes: V8 would make another text of texts, and collect garbage in the middle of the start for it. */
function wrapped(source) {
  const head = Buffer.from('(function (exports, require, module, __filename, __dirname) {')
  return Buffer.concat([head, source, Buffer.from('\n})')]).latin1Slice()
}

function readCode(source) {
  try {
    const stat = lstatSync(codeFile, { throwIfNoEntry: false })
    if (stat === undefined) return undefined
    const why = whyUntrusted([codeFile], { isOwn: true })
    if (why !== undefined) {
      console.error(`substrat: warning: the compiled code ${codeFile} is not used: ${why}`)
      return undefined
    }
    const bytes = readFileSync(codeFile)
    const end = bytes.indexOf('\n')
    const header = JSON.parse(bytes.toString('utf8', 0, end))
    const code = bytes.subarray(end + 1)
    if (header.source === crc32(source) && header.code === crc32(code))
      return { code, commands: header.commands, isDue: Date.now() - stat.mtimeMs > codeRenewedAfterMs }
  } catch {}
}

/** The code holds the functions that have run, so each command adds its own: the first time it ends well, and once a day. */
function saveCode(exitCode, { bundle, saved, script, source }) {
  const known = script.cachedDataRejected ? [] : (saved?.commands ?? [])
  const command = process.argv[2]
  const isOurs = Object.keys(bundle.exports.COMMANDS).some((id) => id.split(':')[0] === command)
  const isKnown = known.includes(command) && !saved.isDue
  if (exitCode !== 0 || !isOurs || isKnown || process.argv.includes('--help')) return
  // After a long run V8 has dropped the code of what ran at the start.
  if (performance.now() > codeSavedWithinMs) return
  try {
    // In another user's directory a link could lead what we write to any file of ours.
    if (whyUntrusted([path.dirname(codeFile)], { isOwn: true }) !== undefined) return
    process.umask(0o077)
    const code = script.createCachedData()
    const header = { source: crc32(source), code: crc32(code), commands: [...new Set([...known, command])] }
    mkdirSync(path.dirname(codeFile), { recursive: true, mode: 0o700 })
    // One temporary name for all: a killed writer leaves one file behind at most, and a mixed one fails its checksum.
    writeFileSync(`${codeFile}.tmp`, Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), code]), {
      mode: 0o600,
    })
    renameSync(`${codeFile}.tmp`, codeFile)
  } catch {}
}

/**
 * Why the code that files hold, or name, could be another user's: each file, and each directory on the way to it, must
 * belong to this user or to root, and nobody else may write there. `isOwn`: the file is this user's, and no link. All
 * that is wrong, as one sentence; undefined where they can be trusted, and where nothing is there. A sticky directory
 * keeps others from our entries.
 */
function whyUntrusted(files, { isOwn = false } = {}) {
  const self = process.geteuid?.()
  if (self === undefined) return undefined
  const foreign = new Map()
  const [links, writable] = [[], []]
  for (const at of new Set(files.flatMap((file) => [...wayTo(file), ...wayTo(realPath(file))]))) {
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (stat === undefined) continue
    const isOwnFile = isOwn && files.includes(at)
    const isOurs = stat.uid === self || (stat.uid === 0 && !isOwnFile)
    if (!isOurs) foreign.set(stat.uid, [...(foreign.get(stat.uid) ?? []), at])
    else if (stat.isSymbolicLink()) {
      if (isOwnFile) links.push(at)
    } else if (isOpenToOthers(stat, self)) writable.push(at)
  }
  const wrong = [...foreign].map(
    ([uid, paths]) => `${listed(paths, 'belongs', 'belong')} to user ${uid}, and this runs as user ${self}`,
  )
  if (links.length > 0) wrong.push(listed(links, 'is a symbolic link', 'are symbolic links'))
  if (writable.length > 0) wrong.push(`other users can write to ${listed(writable)} (chmod go-w)`)
  return wrong.length === 0 ? undefined : wrong.join('; ')
}

function isOpenToOthers(stat, self) {
  const { uid, gid, mode } = stat
  if (stat.isDirectory() && (mode & 0o1000) !== 0) return false
  // A group of this user alone, as Debian gives each user, is nobody else: umask 002 goes with it.
  const isPrivate = uid === self && gid === self && process.getegid() === self && self !== 0
  return (mode & (isPrivate ? 0o002 : 0o022)) !== 0
}

function listed(paths, one, several) {
  const verb = paths.length === 1 ? one : several
  return [paths.join(', '), verb].filter(Boolean).join(' ')
}

function wayTo(file) {
  const way = [file]
  for (let at = file; at !== path.dirname(at); at = path.dirname(at)) way.push(path.dirname(at))
  return way
}

function realPath(file) {
  try {
    return realpathSync.native(file)
  } catch {
    return file
  }
}

/** oclif's own rule, before oclif is there. */
function cacheDir() {
  const { SUBSTRAT_CACHE_DIR, XDG_CACHE_HOME } = process.env
  const home = path.join(
    builtin('node:os').homedir(),
    process.platform === 'darwin' ? 'Library/Caches' : '.cache',
  )
  return SUBSTRAT_CACHE_DIR || path.join(XDG_CACHE_HOME || home, 'substrat')
}
