/**
 * The canaries: broken programs that a lab must catch. A lab that does not is broken itself. Each canary is a mutant, most
 * of them from rules/. `--canary NAME` of a lab takes any mutant.
 */
import { repository } from '../support/lab.js'
import { MUTANTS } from './all.js'
import { type Sources, sourcesIn } from './code.js'
import { type Mutant, mutate } from './mutant.js'

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
    'a log shorter than its snapshot covers is accepted',
    'a damaged blob is returned',
    'a damaged page of the key index is used',
  ),
  faults: canariesOf(
    'a batch whose fsync failed counts as written',
    'a failed batch counts as written',
    'a temporary file that could not be written is renamed into place',
    "a storage failure in a tool becomes the tool's result",
    'an unreadable conversation counts as a failure of the provider',
    'a process writes after its lock file was removed',
  ),
  fuzz: canariesOf(
    'a message with a key is delivered without looking up the key',
    'append does not fsync the batch',
    'any secret with the right id opens a token',
    'the outbox counts as sent before it is sent',
    'a message file is removed before its delivery is recorded',
    'all messages of one sender get the same sequence',
    'two living siblings share a name',
    'markers are trusted after a reboot',
    'a duration ends when the clock is set back',
    'the due time of mail is compared with the time in the log',
  ),
  security: canariesOf(
    'a symlink in place of a home directory is followed',
    'a read in the home follows a symlink',
  ),
  tree: [
    { name: 'all messages of one sender get the same sequence' },
    {
      name: 'a message file is removed before its delivery is recorded',
      dies: { before: 'log.append', share: 0.05 },
    },
    {
      name: 'send returns before the message is stored',
      dies: { before: 'mail.put', share: 0.1 },
    },
    { name: 'a repeated tool call sends a second message', dies: { before: 'log.append', share: 0.05 } },
    {
      name: 'spawn prints the UUID before the agent is on disk',
      dies: { before: 'spawn.rename', share: 0.5 },
    },
    { name: 'a reply gets a new id each time it is sent', dies: { before: 'log.append', share: 0.05 } },
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
      const { file, source } = mutate(sources, each)
      return [file, source]
    }),
  )
}
