/**
 * The canaries: broken programs that a lab must catch. A lab that does not is broken itself. Each canary is a mutant, most
 * of them from rules/. `--canary NAME` of a lab takes any mutant.
 */
import { repository } from '../support/lab.js'
import { MUTANTS } from './all.js'
import { type Mutant, mutate } from './mutant.js'
import { type Sources, sourcesIn } from './place.js'
import { shapesOf } from './shapes.js'

export interface Canary {
  /** The name of the mutant. */
  name: string
  /** Some defects show only if the program dies at one moment: before this step, in this share of the times. */
  dies?: { before: string; share: number }
}

/** For the labs that take --canary. The test of the kill sweep has its own. */
export const CANARIES = {
  damage: canariesOf(
    'a wrong checksum is ignored',
    'a snapshot is trusted although the log before its end is damaged',
    'the log of another agent is accepted',
    'a log shorter than its snapshot says is accepted',
    'a damaged blob is returned',
    'a page of the key index is not checked',
  ),
  faults: canariesOf(
    'a batch with a failed sync counts as written',
    'a failed batch counts as written',
    'a temporary file that could not be written takes its name',
    "a storage failure in a tool becomes the tool's result",
    'an unreadable conversation counts as a failure of the provider',
    'a lock file that was removed while it is held still writes',
  ),
  fuzz: canariesOf(
    'a key is not looked up before its message is taken',
    'an appended batch is not synced',
    'any secret with the right id opens a token',
    'answers count as sent before they are',
    'a message is removed before its record is made',
    'messages of one sender have one place',
    'two living siblings have one name',
    'markers are trusted after a reboot',
    'a duration ends when the clock is set back',
    'mail is due by the clock of the log',
  ),
  security: canariesOf('a linked directory of the home is followed', 'a read follows a link in the home'),
  tree: [
    { name: 'messages of one sender have one place' },
    { name: 'a message is removed before its record is made', dies: { before: 'log.append', share: 0.05 } },
    {
      name: 'the id of a message is returned before the message is stored',
      dies: { before: 'mail.put', share: 0.1 },
    },
    { name: 'a call that is made again sends another message', dies: { before: 'log.append', share: 0.05 } },
    { name: 'a uuid is printed before its agent is on disk', dies: { before: 'spawn.rename', share: 0.5 } },
    { name: 'a reply has another id each time that it is sent', dies: { before: 'log.append', share: 0.05 } },
  ],
} satisfies Record<string, Canary[]>

function canariesOf(...names: string[]): Canary[] {
  return names.map((name) => ({ name }))
}

/** The files of src/ that the canary changes. */
export function brokenSources({ name, dies }: Canary): Sources {
  const mutant = MUTANTS.find((each) => each.name === name)
  if (mutant === undefined)
    throw new Error(`no mutant is "${name}": stress/mutants/canaries.ts has those to try`)
  const sources = sourcesIn(repository)
  const death: Mutant[] =
    dies === undefined ? [] : [{ name, step: dies.before, dies: dies.share, suites: [] }]
  return new Map(
    [mutant, ...death].map((each) => {
      const { file, source } = mutate(sources, each, shapesOf(each))
      return [file, source]
    }),
  )
}
