/** Many processes use one token at the same moment: it is consumed once, and every process gets a true answer. */
import type { Ended, Lab } from '../support/lab.js'
import { Agent } from './agent.js'

export interface TokenReport {
  rounds: number
  processes: number
  /** Processes that got the outcome of the decision, and processes that were refused because of it. */
  answered: number
  refused: number
  differences: string[]
}

const ASKS = { tools: [{ name: 'shell', input: { command: 'echo ran' } }] }

export async function racedTokens(lab: Lab, rounds: number, processes: number): Promise<TokenReport> {
  const report: TokenReport = { rounds, processes, answered: 0, refused: 0, differences: [] }
  // Each round takes two responses: the request for a decision, and the reply after it.
  const responses = Array.from({ length: rounds }, (_, round) => [ASKS, { say: `reply ${round}` }]).flat()
  const agent = await Agent.spawn(lab, responses)
  for (let round = 0; round < rounds; round++) {
    const parked = await agent.run('send', 'a', `round ${round}`, '--json')
    const { token } = JSON.parse(parked.stdout).wait
    const racing = Array.from({ length: processes }, (_, index) =>
      agent.start('resume', 'a', '--token', token, index % 3 === 2 ? '--deny' : '--approve', '--json'),
    )
    judge(report, agent, round, await Promise.all(racing.map(({ ended }) => ended)))
  }
  return report
}

function judge(report: TokenReport, agent: Agent, round: number, told: Ended[]): void {
  const differ = (what: string): void => void report.differences.push(`round ${round}: ${what}`)
  const consumed = agent.records().filter(({ kind }) => kind === 'token.consumed')
  if (consumed.length !== round + 1) differ(`${consumed.length - round} records of consumption`)
  const latest = consumed.at(-1)
  const wins = latest?.kind === 'token.consumed' && latest.decision === 'deny' ? [2] : [0, 1]
  for (const [index, { code, stdout, stderr }] of told.entries()) {
    const object = stdout === '' ? undefined : JSON.parse(stdout)
    const isWinner = wins.includes(index % 3)
    const isRight = isWinner
      ? code === 0 && object.reply === `reply ${round}`
      : code === 13 && object.error.code === 'TOKEN_CONSUMED'
    if (!isRight) differ(`process ${index} exited ${code}: ${stderr.trim()}`)
    else if (isWinner) report.answered += 1
    else report.refused += 1
  }
}
