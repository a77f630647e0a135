/** The name of this process in `pg_stat_activity`: its command and its agent. */

/** A longer name is cut by the server. */
const BYTES_MAX = 63
/** The commands whose first word is an agent. The words of others may be a prompt. */
const OF_AGENT =
  /^(answer|approve|cancel|deliver|deny|export|fork|gate|log|outbox|recover|remove|resume|retry|send|set|show|suspend|terminate|token:rotate|tree|ungate|unlock|usage|wait)$/
const PLAIN = /^[\w./@-]{1,128}$/

export function applicationName([command = '', agent = '']: string[] = process.argv.slice(2)): string {
  const words = ['substrat']
  if (/^[a-z][a-z:-]*$/.test(command)) words.push(command)
  if (OF_AGENT.test(command) && PLAIN.test(agent) && !agent.startsWith('-')) words.push(agent)
  return words.join(' ').slice(0, BYTES_MAX)
}
