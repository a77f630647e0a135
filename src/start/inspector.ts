import { url as inspectorUrl } from 'node:inspector'

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
