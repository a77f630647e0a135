/**
 * Replays a recorded agent, byte by byte: node replay.mjs RECORDING PLAYED
 * A recording has one line per message; those of the client begin with `> `. Each message of the client must have the
 * recorded method, and gets the recorded answers. The file PLAYED is made when the client's last message has arrived,
 * before the last answers: the client may kill the agent because of them.
 */
import { readFileSync, writeFileSync } from 'node:fs'

const recorded = readFileSync(process.argv[2], 'utf8').split('\n').slice(0, -1)
let at = 0
let text = ''
process.stdin.setEncoding('utf8').on('data', (piece) => {
  const lines = (text + piece).split('\n')
  text = lines.pop()
  for (const line of lines) next(JSON.parse(line))
})

function next(message) {
  const expected = recorded[at]?.startsWith('> ') ? JSON.parse(recorded[at].slice(2)) : undefined
  if (expected?.method !== message.method || expected?.id !== message.id) {
    process.stderr.write(`not as it was recorded: ${JSON.stringify(message)}\n`)
    process.exit(9)
  }
  at += 1
  if (!recorded.slice(at).some((line) => line.startsWith('> '))) writeFileSync(process.argv[3], '')
  for (; at < recorded.length && !recorded[at].startsWith('> '); at += 1)
    process.stdout.write(`${recorded[at].slice(2)}\n`)
}
