import { readdirSync } from 'node:fs'
import { House, type Running } from './cli.js'
import { waitFor } from './wait.js'

/** Starts a command that waits for the agent with a message. */
export async function waiting(
  house: House,
  id: string,
  content: string,
  ...flags: string[]
): Promise<Running> {
  const arrivals = (): number => {
    try {
      return readdirSync(house.agentFile(id, 'waits')).length
    } catch {
      return 0
    }
  }
  const before = arrivals()
  const running = house.start(['send', id, content, ...flags])
  await waitFor(() => arrivals() > before, 'the arrival')
  return running
}

/** An agent during a turn, which ends when the file `go` exists. */
export async function atWork(): Promise<{ house: House; id: string; first: Running }> {
  const house = new House()
  const replies = ['1', '2', '3', '4'].map((say) => ({ say }))
  const scenario = house.scenario('s.json', { after_file: 'go', say: '0' }, ...replies)
  const id = await house.spawn('a', '--option', scenario)
  const first = house.start(['send', 'a', 'first'])
  await house.waitForRecord(id, 'model.requested')
  return { house, id, first }
}
