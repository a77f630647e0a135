#!/usr/bin/env node
// A demo in a temporary home: spawn, send, kill -9 during a turn, look at the disk, and continue with the next command. Each
// line after a `$` is a command that really runs, followed by its output.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const run = path.join(import.meta.dirname, 'run.js')
const scratch = mkdtempSync(path.join(tmpdir(), 'substrat-demo-'))
const home = path.join(scratch, 'home')
const env = { ...process.env, SUBSTRAT_HOME: home, XDG_CACHE_HOME: path.join(scratch, 'cache') }
delete env.NODE_EXTRA_CA_CERTS

try {
  await demo()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

async function demo() {
  say('The built-in scripted provider plays a slow model, which thinks for two seconds.')
  const scenario = path.join(scratch, 'slow.json')
  writeFileSync(
    scenario,
    JSON.stringify({ responses: [{ say: 'Hello.' }, { delay_ms: 2000, say: 'Forty-two.' }] }),
  )
  substrat('spawn', '--name', 'thinker', '--provider', 'scripted', '--option', `scenario=${scenario}`)
  substrat('send', 'thinker', 'Hello?')

  say('Kill the next turn while the model thinks. The key means: deliver this message at most once.')
  const isAsked = () =>
    records('thinker')
      .slice(-2)
      .some(({ kind }) => kind === 'model.requested')
  await killInMidTurn(isAsked, 'send', 'thinker', '--key', 'q1', 'What is the answer?')
  substrat('list')
  showLog('thinker')

  say(
    'Run the same command again, as cron would. It continues that turn and does not deliver the message twice.',
  )
  substrat('send', 'thinker', '--key', 'q1', 'What is the answer?')
  say('Run it once more. It prints the same reply at once, from the log.')
  substrat('send', 'thinker', '--key', 'q1', 'What is the answer?')

  say('Any program can be an agent. This one works for a minute. Kill it together with its command.')
  const workLog = path.join(scratch, 'work.log')
  const work = `n=$(wc -l < work.log 2>/dev/null || echo 0); date +%T >> work.log; [ "$n" -gt 0 ] || sleep 60; cat`
  substrat(
    'spawn',
    '--name',
    'worker',
    '--provider',
    'exec',
    '--option',
    `command=${work}`,
    '--workspace',
    scratch,
  )
  const isAtWork = () => existsSync(workLog) && readFileSync(workLog, 'utf8').endsWith('\n')
  await killInMidTurn(isAtWork, 'send', 'worker', 'Tidy up.')
  say('`recover --all` is for cron. It kills the orphaned program and continues the turn.')
  substrat('recover', '--all')
  substrat('log', 'worker')
  substrat('show', 'worker')
}

/** Runs a command and shows its output. */
function substrat(...argv) {
  console.log(`\n$ substrat ${argv.map(quoted).join(' ')}`)
  const { stdout, stderr, status } = spawnSync(process.execPath, [run, ...argv], { env, encoding: 'utf8' })
  process.stdout.write(stderr + stdout)
  if (status !== 0) {
    console.log(`exit ${status}`)
    process.exitCode = 1
  }
}

/** Starts a command, and kills it with SIGKILL when the condition holds. */
async function killInMidTurn(isSo, ...argv) {
  console.log(`\n$ substrat ${argv.map(quoted).join(' ')} &`)
  const child = spawn(process.execPath, [run, ...argv], { env, stdio: 'ignore' })
  const exited = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  while (!isSo() && child.exitCode === null) await sleep(20)
  console.log(`$ kill -9 ${child.pid}`)
  child.kill('SIGKILL')
  console.log(`the command ended by ${await exited}`)
}

/** Shows the last five records on disk. */
function showLog(agent) {
  const file = logFile(agent)
  console.log(`\n$ tail -n 5 ${path.relative(scratch, file)}`)
  for (const { seq, ts, kind, content } of records(agent).slice(-5)) {
    console.log(JSON.stringify({ seq, ts, kind, content }))
  }
}

function records(agent) {
  const lines = readFileSync(logFile(agent), 'utf8').split('\n')
  return lines.filter((line) => line.endsWith('"}')).map((line) => JSON.parse(line))
}

function logFile(agent) {
  const { stdout } = spawnSync(process.execPath, [run, 'show', agent, '--json'], { env, encoding: 'utf8' })
  return path.join(home, 'agents', JSON.parse(stdout).agent.id, 'events.jsonl')
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

function say(text) {
  console.log(`\n# ${text}`)
}
