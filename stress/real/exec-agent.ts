import type { RealProgram } from './program.js'

/** A small program of this lab, for the built-in provider that runs any command. */
export const execAgent: RealProgram = {
  name: 'exec',
  provider: 'exec',
  packages: {},
  executable: 'exec-agent.mjs',
  configure: ({ modelUrl }) => ({ LOOPBACK_URL: modelUrl }),
  flags: ({ program }) => ['--option', `command=exec '${process.execPath}' '${program}'`],
  runCall: (command) => ({ name: 'run', input: { command } }),
  vanish: () => undefined,
  cannot: { permission: 'exec cannot ask for permission' },
}
