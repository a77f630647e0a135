/**
 * Runs the same commands on a home without faults, and compares the two homes at the end.
 *
 * These may differ: ids and times; errors that report an interruption, and the turns they open; status notices; the
 * order of mail from different senders; the mail that a terminated agent had received. For an interrupted command the
 * twin runs the part that took effect on the other home's disk.
 */
import { OPERATOR } from '../../src/format.js'
import type { Host } from './host.js'
import { Person } from './person.js'
import { recoverHome, settleHome } from './settle.js'
import type { Action } from './steps.js'
import type { StepDone, Story } from './story.js'
import { inWords, type Lived } from './victim.js'
import { type AgentInWorld, World } from './world.js'

export async function differences(host: Host, lived: Lived): Promise<string[]> {
  const twin = new Twin(host)
  for (const [index, step] of lived.story.steps.entries()) {
    const found = await twin.step(index, step).catch(inWords)
    if (found.length > 0) return found.map((each) => `step ${index}, in the twin: ${each}`)
  }
  const atEnd = World.read(host.home)
  const broken = await twin.rest().catch(inWords)
  if (broken.length > 0) return broken.map((each) => `idle, in the twin: ${each}`)
  return [
    ...compareViews('before rest', ...inBoth(stateOf(lived.atEnd), stateOf(atEnd))),
    ...compareViews('at rest', stateOf(lived.atRest), stateOf(World.read(host.home))),
    ...compareViews('at rest', mailOf(lived.atRest, lived.story), mailOf(World.read(host.home), lived.story)),
  ]
}

class Twin {
  private readonly person: Person
  private behindMs = 0

  constructor(private readonly host: Host) {
    this.person = new Person(host)
  }

  async step(index: number, { step, done, isHarmed }: StepDone): Promise<string[]> {
    if (step.kind === 'clock') {
      this.host.jump(step.ms)
      this.behindMs = Math.max(0, this.behindMs - step.ms)
      return []
    }
    // Each home uses its own words: a token of the other home is not valid here.
    const words = done.map(({ command, told }, place) =>
      this.person.words(asDecided(command.action, told.argv), `${index}x${place}`),
    )
    const planned = done.map(({ told, inTwin }, place) =>
      inTwin.map((argv) => (argv === told.argv ? (words[place]?.argv ?? []) : argv)),
    )
    const isWhole = planned.every((each) => each.length === 1)
    const groups = isWhole ? [planned.flat()] : planned.flat().map((argv) => [argv])
    const exits: string[] = []
    const startMs = (place: number): number => (isWhole ? (done[place]?.command.startMs ?? 0) : 0)
    const clockOffMs = step.kind === 'commands' ? step.clockOffMs : 0
    this.behindMs = Math.max(this.behindMs, clockOffMs)
    for (const group of groups) {
      this.host.jump(clockOffMs)
      const told = await this.host.run(
        group.map((argv, place) => ({ argv, harm: null, startMs: startMs(place) })),
      )
      this.host.jump(-clockOffMs)
      for (const each of told) this.person.hear(each)
      // Recovery leaves the interrupted turn of an agent on hold to the next command, and the twin has no such turn.
      const isAlike = done[0]?.words.hasInterruptedTurn === words[0]?.hasInterruptedTurn
      if (!isHarmed && isAlike && group.length === 1 && told[0] !== undefined)
        exits.push(...differentEnd(done[0], told[0]))
    }
    if (exits.length > 0) return exits
    return isHarmed ? recoverHome(this.host, [], (told) => this.person.hear(told)) : []
  }

  rest(): Promise<string[]> {
    return settleHome(this.host, this.behindMs, (told) => this.person.hear(told))
  }
}

/** A killed command may not have printed its token, so the user decided without it. In the twin the user knows the token. */
function asDecided(action: Action, [verb]: string[]): Action {
  const isWithoutToken = action.do === 'decide' && (verb === 'approve' || verb === 'deny')
  return isWithoutToken ? { ...action, decision: verb, by: 'machine' } : action
}

/** The output of these depends on concurrent commands, or on an earlier token. */
function isOfTheMoment({ command: { action } }: StepDone['done'][number]): boolean {
  return (
    ['deliver', 'recover', 'wait', 'look', 'prune'].includes(action.do) ||
    (action.do === 'decide' && action.by !== 'machine')
  )
}

function differentEnd(
  done: StepDone['done'][number] | undefined,
  told: StepDone['done'][number]['told'],
): string[] {
  if (done === undefined || isOfTheMoment(done) || done.told.status === told.status) return []
  const [here, there] = [done.told, told].map(
    ({ status, stderr }) => `${status} (${stderr.trim().slice(0, 300)})`,
  )
  return [
    `a command ends as in the twin: ${done.told.argv.slice(0, 5).join(' ').slice(0, 300)} ended with ${here}, there with ${there}`,
  ]
}

type View = Map<string, string>

function compareViews(when: string, here: View, there: View): string[] {
  const keys = [...new Set([...here.keys(), ...there.keys()])].sort()
  return keys
    .filter((key) => here.get(key) !== there.get(key))
    .map((key) => `the twin agrees ${when}: ${key} is ${here.get(key)}, there ${there.get(key)}`)
}

/** Scheduled mail may have been delivered or not, and may have created agents. */
function inBoth(here: View, there: View): [View, View] {
  const both = (view: View): View => new Map([...view].filter(([key]) => here.has(key) && there.has(key)))
  return [both(here), both(there)]
}

/** Keys each agent by its path and its number among the agents that had that path. */
function agentsByPath({ agents }: World): [string, AgentInWorld][] {
  const sorted = [...agents].sort((a, b) => (a.state.created_at < b.state.created_at ? -1 : 1))
  const seen = new Map<string, number>()
  return sorted.map((agent) => {
    const { path } = agent.state
    const count = (seen.get(path) ?? 0) + 1
    seen.set(path, count)
    return [`${path}~${count}`, agent]
  })
}

function stateOf(world: World): View {
  return new Map(
    agentsByPath(world).map(([name, { state }]) => {
      const life =
        state.state === 'terminated'
          ? 'terminated'
          : `living${state.hold ? ', held' : ''}${state.gate.isGated ? ', gated' : ''}`
      return [name, life]
    }),
  )
}

/** The messages that each living agent received and their results, and the answers to the operator. */
function mailOf(world: World, story: Story): View {
  const view: View = new Map()
  const add = (key: string, what: string): void =>
    void view.set(key, [view.get(key), what].filter(Boolean).sort().join('; '))
  const again = new Set(
    story.steps.flatMap(({ done }) =>
      done.filter(({ words }) => words.message?.key != null).map(({ words }) => words.message?.id),
    ),
  )
  for (const [name, { state, taken, fates }] of agentsByPath(world)) {
    if (state.state === 'terminated') continue
    for (const { id, content, kind, run_id, from } of taken) {
      if (kind === 'error' || (id === undefined && kind !== 'response')) continue
      const sender = world.agent(from)?.state.path ?? (from === OPERATOR ? from : 'a removed one')
      const fate = fates.get(run_id)
      const what =
        kind === 'request' && !again.has(id) ? `${fate?.status} ${fate?.reply?.slice(0, 60) ?? ''}` : 'taken'
      add(`${name} ${id === undefined ? content.slice(0, 60) : `#${id}`} from ${sender}`, what)
    }
  }
  // A repeated key may have printed the reply instead of mailing it.
  const isPrinted = (content: string): boolean => again.has(/^done ([\w.]+)/.exec(content)?.[1])
  for (const { kind, content, from_path } of world.toOperator)
    if (kind === 'response' && !isPrinted(content))
      add(`the operator ${content.slice(0, 60)} from ${from_path}`, 'there')
  return view
}
