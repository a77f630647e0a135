/** Ends the process where Node's inspector is open and nobody has asked for it on the command line. */
export function refuseInspector(): void {
  const url = inspectorUrl()
  const isAskedFor = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((text) =>
    /--inspect(-brk|-wait)?(=|\s|$)/.test(text),
  )
  if (url === undefined || isAskedFor) return
  console.error(
    `substrat: Node's inspector is open (${url}), and shows API keys to every user of this machine: nothing was done (SIGUSR1 has opened it; run the same command again)`,
  )
  process.exit(1)
}

/** Of Node, but not in its types. */
type ProcessWithBinding = NodeJS.Process & { binding(name: 'inspector'): { url(): string | undefined } }

/** The binding is loaded in every process; node:inspector is not. */
function inspectorUrl(): string | undefined {
  try {
    return (process as ProcessWithBinding).binding('inspector').url()
  } catch {
    return process.getBuiltinModule('node:inspector').url()
  }
}
