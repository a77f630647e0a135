/**
 * Deliberately broken variants of the program, made by changing its bundle: the run must catch each of them. Most would
 * show only where a kill hits one moment, so they die there by themselves, now and then.
 */
import { mutate } from '../kill/mutants.js'

export interface TreeMutant {
  name: string
  /** The one place in the bundle of each, and what stands there instead. */
  edits: { from: RegExp; to: string }[]
}

const DIES = (share: number): string => `if (Math.random() < ${share}) process.kill(process.pid, "SIGKILL");`

export const MUTANTS: TreeMutant[] = [
  {
    name: 'messages of one sender have no order',
    edits: [{ from: /sequence: placeOf\w*\(store\w*, draft\)/, to: 'sequence: 1' }],
  },
  {
    name: 'a message leaves the inbox before its record is in the log',
    edits: [
      {
        from: /noteTaken\(ctx, (session\w*), messages\);/,
        to: `for (const { message_id } of messages) $1.store.mail.remove($1.id, message_id);
    ${DIES(0.1)}
    $&`,
      },
    ],
  },
  {
    name: 'the id of a message is told before it is stored',
    edits: [
      {
        from: /const isNew = post\(store\w*, \{\s*message_id: messageId,/,
        to: `process.stderr.write("as message " + messageId + "\\n");
  ${DIES(0.5)}
  $&`,
      },
    ],
  },
  {
    name: 'a call that is made again has another id',
    edits: [
      {
        from: /const made_at = `\$\{this\.session\.id\}[^`]*`;/,
        to: 'const made_at = String(Math.random());',
      },
      { from: /post\(store\w*, draft, \{ isRepeat: call\w*\.isRepeat \}\);/, to: `$&\n  ${DIES(0.2)}` },
    ],
  },
  {
    name: 'a uuid is printed before its agent is on disk',
    edits: [
      {
        // Not that of `fork`, which declares it there.
        from: /(?<!const )\bsession\w* = await createAgent\w*\(\s*ctx\.store,/,
        to: `if (request.parent !== null) {
      listener.onAgent({ id, provider_name: request.provider });
      ${DIES(0.5)}
    }
    $&`,
      },
    ],
  },
  {
    name: 'a reply that is sent again has another id',
    edits: [
      { from: /return deriveId\w*\(requestId\w*, "response"\);/, to: 'return crypto.randomUUID();' },
      {
        from: /post\(store\w*, draftOf\(session\w*, owed\w*\), \{ isRepeat\w* \}\);/,
        to: `$&\n      ${DIES(0.1)}`,
      },
    ],
  },
]

export function broken(bundle: string, { name, edits }: TreeMutant): string {
  return edits.reduce((changed, edit) => mutate(changed, { name, ...edit }), bundle)
}
