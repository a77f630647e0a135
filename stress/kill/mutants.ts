/**
 * Deliberately broken variants of the program, made by changing its bundle. The sweep must catch each of them: where it
 * does not, it is the sweep that is broken.
 */

export interface Mutant {
  name: string
  /** Where the sweep meets it. */
  scenario: string
  syscalls: string[]
  /** The one place in the bundle, and what stands there instead. */
  from: RegExp
  to: string
}

export const MUTANTS: Mutant[] = [
  {
    name: 'a uuid is printed before its agent is on disk',
    scenario: 'spawn',
    syscalls: ['fsync'],
    // Not that of `fork`, which declares it there.
    from: /(?<!const )\b\w+ = await createAgent\d*\(\s*ctx\.store,/,
    to: 'listener.onAgent({ id });\n  $&',
  },
  {
    name: 'a reply is printed before its record is written',
    scenario: 'send',
    syscalls: ['pwrite64'],
    from: /const \w+ = withRest\(this\.session\.state, records\);/,
    to: 'if (event.reply) process.stdout.write(event.reply + "\\n");\n      $&',
  },
  {
    name: 'a key is not looked up before its message is taken',
    scenario: 'send-key',
    syscalls: ['rename'],
    from: /function findKey\(\w+, state, key\) \{/,
    to: '$&\n  return undefined;',
  },
  {
    name: 'a torn tail is left where it is',
    scenario: 'recover',
    syscalls: ['kill'],
    from: /if \(log\.size\(\) > settledBytes\) log\.settle\(settledBytes, \w+\.log_bytes\);/,
    to: '',
  },
]

/** Throws where the place is not there, or not once: then the mutant has to follow the program. */
export function mutate(bundle: string, { name, from, to }: Pick<Mutant, 'name' | 'from' | 'to'>): string {
  const found = bundle.match(new RegExp(from, 'g'))?.length ?? 0
  if (found !== 1) throw new Error(`the mutant "${name}" finds its place in the bundle ${found} times`)
  return bundle.replace(from, to)
}
