/**
 * The cases that every real program must pass under substrat. A case throws an Error that describes the failure, or
 * returns a remark.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CaseName } from './program.js'
import { oneLine, type Trial } from './trial.js'

export const CASES: Record<CaseName, (trial: Trial) => Promise<string | undefined>> = {
  async 'new turn'(trial) {
    const { code, stdout, stderr } = await trial.spawn('a', 'this is mark-one')
    must(code === 0 && stdout.includes('heard mark-one'), `it replied: ${oneLine(stdout + stderr)} (${code})`)
    const log = await trial.ok('log', 'a', '--json')
    must(log.includes('"provider.state"'), 'the log has the native session')
    await trial.nothingRuns()
  },

  async resume(trial) {
    await trial.replies(['send', 'a', 'this is mark-two'], 'mark-one', 'mark-two')
  },

  async kill(trial) {
    const sender = await trial.startSlow('a', 'this is mark-three')
    sender.child.kill('SIGKILL')
    await sender.ended
    trial.isSlow = false
    await trial.ok('resume', 'a')
    await trial.nothingRuns()
    await trial.replies(['send', 'a', 'what is there?'], 'mark-one', 'mark-two', 'mark-three')
  },

  async 'reply kept'(trial) {
    const sender = await trial.startAndMeet('a', 'be late')
    sender.child.kill('SIGKILL')
    await sender.ended
    // The program's output is no longer read. Some programs complete their turn anyway, and keep the reply.
    const hasEnded = await trial.nothingRuns(ORPHAN_MS).then(
      () => true,
      () => false,
    )
    const before = trial.askedWith('be late')
    await trial.ok('resume', 'a')
    await trial.nothingRuns()
    if (trial.askedWith('be late') === before) return 'its stored reply was recovered'
    return hasEnded ? 'it had stored no reply: continued' : 'it did not end by itself: killed and continued'
  },

  async cancel(trial) {
    const sender = await trial.startSlow('a', 'this is mark-four')
    const started = performance.now()
    await trial.ok('cancel', 'a')
    const { code } = await sender.ended
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    trial.isSlow = false
    must(code === 14, `the sender exited 14: ${code}`)
    await trial.nothingRuns()
    await trial.replies(['send', 'a', 'what is there?'], 'mark-one')
    return `${seconds} s`
  },

  async permission(trial) {
    const file = await parkForApproval(trial, 'b')
    await trial.ok('approve', 'b')
    must(existsSync(file), 'the approved call ran')
    await trial.nothingRuns()
  },

  async denial(trial) {
    const file = await parkForApproval(trial, 'c')
    await trial.ok('deny', 'c')
    must(!existsSync(file), 'the denied call did not run')
    await trial.replies(['send', 'c', 'this is mark-five'], 'mark-five')
  },

  async allowed(trial) {
    trial.file = join(trial.place.workspace, 'd.txt')
    const { code, stdout, stderr } = await trial.spawn('d', '--allow', 'all', 'use the tool')
    must(code === 0, `it exited 0: ${oneLine(stderr + stdout)} (${code})`)
    must(existsSync(trial.file), 'the allowed call ran')
  },

  async tools(trial) {
    const { code, stdout, stderr } = await trial.spawn('e', '--allow', 'all', 'list your children')
    must(code === 0, `it exited 0: ${oneLine(stderr + stdout)} (${code})`)
    must(stdout.includes('the tool said'), `it used a tool of substrat: ${oneLine(stdout)}`)
    const log = await trial.ok('log', 'e', '--json')
    must(/"tool":"list_children"/.test(log.replaceAll(' ', '')), 'the call is in the log')
  },

  async 'wrong key'(trial) {
    for (const words of ['be unknown', 'be forbidden']) {
      const { code, stdout, stderr } = await trial.spawn(words.replace(' ', '-'), words)
      must(code === 8, `${words}: it exited 8: ${oneLine(stderr + stdout)} (${code})`)
      await trial.nothingRuns()
    }
  },

  async refusal(trial) {
    const { code, stdout, stderr } = await trial.spawn('f', 'be filtered')
    const log = await trial.ok('log', 'f', '--json')
    must(code === 9 && log.includes('"refused"'), `it exited 9: ${oneLine(stderr + stdout)} (${code})`)
    const said = stderr.includes('First you') ? 'with its partial reply' : 'without a partial reply'
    await trial.replies(['send', 'f', 'this is mark-nine'], 'mark-nine')
    return said
  },

  async vanished(trial) {
    trial.program.vanish(trial.place)
    const sent = await trial.run('send', 'a', 'this is mark-six', '--json')
    must(sent.code !== 0, 'a turn without its session does not succeed')
    const log = await trial.ok('log', 'a', '--json')
    must(log.includes('"session_lost"'), `it says so: ${oneLine(sent.stdout)}`)
    await trial.ok('resume', 'a', '--reseed')
    await trial.replies(['send', 'a', 'what is there?'], 'mark-one', 'mark-six')
  },

  async overhead(trial) {
    const { bare } = trial.program
    if (bare === undefined) return 'not compared'
    const times = { bare: [] as number[], substrat: [] as number[] }
    const [program, ...argv] = bare.argv(trial.place, 'hello')
    for (let turn = 0; turn < TURNS_COMPARED; turn++) {
      times.bare.push(await timeOf(() => runBare(trial, program, argv)))
      times.substrat.push(
        await timeOf(async () => {
          const { code, stderr } = await trial.spawn(`timed-${turn}`, 'hello')
          must(code === 0, oneLine(stderr))
        }),
      )
    }
    // The minimum of each: other load on the machine only adds time.
    const [alone, under] = [Math.min(...times.bare), Math.min(...times.substrat)]
    const said = `${(under / alone).toFixed(2)}x (${under.toFixed(0)} ms, alone ${alone.toFixed(0)} ms)`
    must(
      under / alone <= (bare.ratioMax ?? Number.POSITIVE_INFINITY),
      `${said} is more than ${bare.ratioMax}x`,
    )
    return said
  },

  async warm(trial) {
    if (trial.program.isWarm !== true) return 'keeps no server'
    const times = { cold: [] as number[], warm: [] as number[] }
    const send = (words: string): Promise<number> =>
      timeOf(() => trial.replies(['send', 'warm', words], 'mark-seven'))
    try {
      must((await trial.spawn('warm', '--allow', 'all', 'this is mark-seven')).code === 0, 'it begins')
      for (let turn = 0; turn < TURNS_COMPARED; turn++) times.cold.push(await send('what is there?'))
      await trial.nothingRuns()
      trial.env.SUBSTRAT_WARM_MAX = '1'
      await send('and now?')
      const server = trial.leftProcesses()
      must(server.length > 0, 'the server is kept')
      for (let turn = 0; turn < TURNS_COMPARED; turn++) times.warm.push(await send('what is there?'))
      must(trial.leftProcesses().includes(server[0] as number), 'the server is the same in all of them')
      await trial.replies(['send', 'warm', 'list your children'], 'the tool said')
      await trial.replies(['send', 'warm', 'list your children again'], 'the tool said')
      for (const pid of trial.leftProcesses()) process.kill(pid, 'SIGKILL')
      await send('what is there?')
      const sender = await trial.startSlow('warm', 'this is mark-eight')
      sender.child.kill('SIGKILL')
      await sender.ended
      trial.isSlow = false
      await trial.ok('resume', 'warm')
      await trial.replies(['send', 'warm', 'what is there?'], 'mark-seven', 'mark-eight')
      await trial.ok('suspend', 'warm')
      await trial.nothingRuns()
    } finally {
      trial.env.SUBSTRAT_WARM_MAX = '0'
    }
    const [warm, cold] = [Math.min(...times.warm), Math.min(...times.cold)]
    return `${warm.toFixed(0)} ms, cold ${cold.toFixed(0)} ms (${(cold / warm).toFixed(1)}x)`
  },
}

const TURNS_COMPARED = 9
const ORPHAN_MS = 10_000

/** An agent whose turn waits for approval, and the file that it wants to create. */
async function parkForApproval(trial: Trial, name: string): Promise<string> {
  const file = join(trial.place.workspace, `${name}.txt`)
  trial.file = file
  const { code, stdout, stderr } = await trial.spawn(name, '--json', 'use the tool')
  must(code === 5, `it exited 5: ${oneLine(stderr + stdout)} (${code})`)
  must(!existsSync(file), 'nothing runs before it is approved')
  await trial.nothingRuns()
  return file
}

function runBare(trial: Trial, program: string, argv: string[]): Promise<void> {
  const options = { cwd: trial.place.workspace, env: trial.userEnvironment }
  const child = spawn(program, argv, { ...options, stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`${program} exited ${code}`))))
  })
}

async function timeOf(act: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await act()
  return performance.now() - started
}

function must(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new Error(sentence)
}
