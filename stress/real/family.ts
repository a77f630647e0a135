/**
 * A tree with two programs. A root on the scripted provider writes to a child that runs Claude Code and to one that
 * runs Codex. It waits for each, and is killed during both.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { claudeCode } from './claude-code.js'
import { codex } from './codex.js'
import { install } from './install.js'
import { Trial } from './trial.js'

/** Returns the outcome for the table. Throws if a message was lost, doubled, or not answered. */
export async function family(): Promise<string> {
  const [claudeProgram, codexProgram] = [await install(claudeCode), await install(codex)]
  const trial = await Trial.open(claudeCode, claudeProgram)
  try {
    await trial.add(codex, codexProgram)
    const scenario = join(trial.place.workspace, 'root.json')
    writeFileSync(
      scenario,
      JSON.stringify({ responses: [write('one'), write('two'), { say: 'both have replied' }] }),
    )
    await trial.ok('spawn', '--name', 'root', '--option', `scenario=${scenario}`, '--allow', 'tree')
    const below = ['spawn', '--parent', 'root', '--provider']
    const place = { ...trial.place, program: codexProgram }
    await trial.ok(...below, claudeCode.provider, '--name', 'one', ...claudeCode.flags(trial.place))
    await trial.ok(...below, codex.provider, '--name', 'two', ...codex.flags(place))
    await killedAsking(trial, ['send', 'root', 'ask both'], 'mark-one')
    await killedAsking(trial, ['resume', 'root'], 'mark-two')
    const reply = await trial.ok('resume', 'root')
    if (reply !== 'both have replied') throw new Error(`the root said ${JSON.stringify(reply)}`)
    await trial.nothingRuns()
    for (const child of ['one', 'two']) await heardOnce(trial, child)
    const replies = (await records(trial, 'root')).filter(({ kind }) => kind === 'mail.delivered')
    if (replies.length !== 2) throw new Error(`the root got ${replies.length} replies, not 2`)
    return 'killed twice: each child got its message once, the root each reply once'
  } finally {
    await trial.close()
  }
}

function write(to: string): object {
  const input = { to, content: `this is mark-${to}, be late`, wait: true }
  return { tools: [{ name: 'send_message', input }] }
}

/** Kills the command when the child's model has been asked: in the middle of a turn within a turn. */
async function killedAsking(trial: Trial, argv: string[], mark: string): Promise<void> {
  const sender = await trial.meet(argv, mark)
  sender.child.kill('SIGKILL')
  await sender.ended
}

async function heardOnce(trial: Trial, child: string): Promise<void> {
  const heard = (await records(trial, `root/${child}`)).filter(({ kind }) => kind === 'mail.delivered')
  if (heard.length !== 1) throw new Error(`${child} got ${heard.length} messages, not 1`)
}

async function records(trial: Trial, agent: string): Promise<{ kind: string }[]> {
  const lines = (await trial.ok('log', agent, '--json')).split('\n')
  return lines.map((line) => JSON.parse(line) as { kind: string })
}
