/** An agent whose turn waits for a decision about a shell command, and the output that its sender got. */
import { expect } from 'vitest'
import type { House, Result, RunOptions } from './cli.js'

/** Leaves a mark in the workspace on every run, so that runs can be counted. */
export const MARKS = { name: 'shell', input: { command: 'echo ran >> ran; echo done' } }

export interface Parked {
  id: string
  token: string
  told: Result
}

export async function parked(house: House, options: RunOptions & { tools?: object[] } = {}): Promise<Parked> {
  const { tools = [MARKS], ...rest } = options
  const id = await house.spawn('a', '--option', house.scenario('s.json', { tools }, { say: 'finished' }))
  const told = await house.run(['send', 'a', 'go', '--json'], rest)
  expect(told.exit, told.stderr).toBe(5)
  return { id, token: told.json.wait.token, told }
}

/** The arguments of a `resume` with a token. */
export function decides(token: string, ...decision: string[]): string[] {
  return ['resume', 'a', '--token', token, ...decision]
}

/** How often the command ran. */
export function ran(house: House): number {
  return (house.read('ran') ?? '').split('\n').length - 1
}
