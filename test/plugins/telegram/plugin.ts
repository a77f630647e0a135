/** The plugin of Telegram, as it is published, and the settings for it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Channel } from '../../../src/channel/contract.js'
import type { House } from '../../support/cli.js'
import { TOKEN } from '../../support/telegram.js'
import { buildPlugin } from '../built.js'

export async function telegramChannel(): Promise<Channel> {
  const file = await buildPlugin('channel-telegram')
  return ((await import(/* @vite-ignore */ file)) as { default: Channel }).default
}

/** The setting `channels` of docs/telegram.md, for a house. */
export function settingsFor(house: House, url: string, responses?: unknown[]): string {
  const page = readFileSync('docs/telegram.md', 'utf8')
  const [, json = ''] = /```json\n(.*?)```/s.exec(page) ?? []
  const { channels } = JSON.parse(json)
  const [channel] = channels
  const { file } = channel.options.token
  const tokenFile = path.join(house.env.HOME as string, file.slice(2))
  mkdirSync(path.dirname(tokenFile), { recursive: true })
  writeFileSync(tokenFile, `${TOKEN}\n`)
  mkdirSync(house.workspace, { recursive: true })
  const scenario = path.join(house.workspace, 'scenario.json')
  if (responses !== undefined) writeFileSync(scenario, JSON.stringify({ responses }))
  channel.options.base_url = url
  channel.options.retry_after = '1s'
  channel.agent = {
    ...channel.agent,
    ...{ provider: 'scripted', workspace: house.workspace },
    ...(responses === undefined ? {} : { options: { scenario } }),
  }
  return JSON.stringify(channels)
}
