/** `shell`: runs a command in the workspace, in its own process group. The group never outlives the call. */
import { limits } from '../../limits.js'
import { fatalSignalOf } from '../../provider/deaths.js'
import type { LaunchedProgram } from '../../provider/host-contract.js'
import { ProcessEnd, type Tool, textField } from './tool.js'

const TERMINATE_MS = 500
/** After the command's exit, how long to read output of processes that it left running. */
const DRAIN_MS = 100

export const shell: Tool = {
  name: 'shell',
  description:
    'Runs a command with /bin/sh in the workspace. Returns its output, and its exit status if that is not 0.',
  input_schema: {
    type: 'object',
    properties: { command: { type: 'string', description: 'The command line.' } },
    required: ['command'],
  },
  kind: 'program',
  async run(input, { workspace, signal, launch }) {
    const program = await launch({ argv: ['/bin/sh', '-c', textField(input, 'command')], cwd: workspace })
    const killed = killOnAbort(program, signal)
    try {
      program.stdin.end()
      const output = gather([program.stdout, program.stderr])
      const { code, signal: killedBy } = await program.exited
      await untilDrained(program)
      const text = output()
      if (code === 0) return text
      const how = killedBy === null ? `exit status ${code}` : `killed by ${killedBy}`
      const end = fatalSignalOf({ code, signal: killedBy }) === undefined ? 'failed' : 'killed'
      throw new ProcessEnd(`${text.toString('utf8')}${text.length === 0 ? '' : '\n'}[${how}]`, end)
    } finally {
      killed.close()
      await program.kill(0)
    }
  },
}

export function killOnAbort(program: LaunchedProgram, signal: AbortSignal): { close(): void } {
  const kill = (): void => void program.kill(TERMINATE_MS)
  if (signal.aborted) kill()
  signal.addEventListener('abort', kill, { once: true })
  return { close: () => signal.removeEventListener('abort', kill) }
}

/** Collects the streams in order of arrival. Output over the bound is read and dropped, so the program does not block. */
export function gather(streams: LaunchedProgram['stdout'][]): () => Buffer {
  const pieces: Buffer[] = []
  let bytes = 0
  for (const stream of streams) {
    stream.on('data', (piece: Buffer) => {
      const room = limits.toolOutputBytesMax - bytes
      if (room <= 0) return
      pieces.push(piece.subarray(0, room))
      bytes += Math.min(piece.length, room)
    })
  }
  return () => Buffer.concat(pieces)
}

export function untilDrained(program: LaunchedProgram): Promise<unknown> {
  const ended = [program.stdout, program.stderr].map(
    (stream) =>
      new Promise((resolve) => {
        if ((stream as { readableEnded?: boolean }).readableEnded === true) resolve(undefined)
        else stream.once('end', resolve)
      }),
  )
  return Promise.race([Promise.all(ended), untilQuiet()])
}

/** Waits, then reads the pipes once more: if our own process was delayed, its timers run before pending input. */
function untilQuiet(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => setImmediate(() => setImmediate(resolve)), DRAIN_MS)
  })
}
