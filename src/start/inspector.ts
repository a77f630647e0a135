/** Ends the process if Node's inspector is open without a flag on the command line. */
export function refuseInspector(): void {
  const url = inspectorUrl()
  const isAskedFor = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((text) =>
    /--inspect(-brk|-wait)?(=|\s|$)/.test(text),
  )
  if (url === undefined || isAskedFor) return
  console.error(
    `substrat: refused to run: a SIGUSR1 has opened Node's inspector (${url}), which shows API keys to every user of this machine (run the same command again)`,
  )
  process.exit(1)
}

/** A method of Node that its types lack. */
type ProcessWithBinding = NodeJS.Process & { binding(name: 'inspector'): { url(): string | undefined } }

/** Uses the binding, which every process has loaded. Loading node:inspector takes time. */
function inspectorUrl(): string | undefined {
  try {
    return (process as ProcessWithBinding).binding('inspector').url()
  } catch {
    return process.getBuiltinModule('node:inspector').url()
  }
}
