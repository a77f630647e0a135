/**
 * Replays what a real agent said, byte by byte: node replay.mjs RECORDING PLAYED
 *
 * A recording has a line for each that went over the pipes, `> ` before those of the client. Each message of the client
 * has to be of the method that was recorded, and is followed by what the agent said then. PLAYED is a file that is made
 * when the last message of the client has come, before the last words of the agent: the client may kill it for them.
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
