/** The models and modes of a session: an editor shows them, and a choice is a setting of the agent. */
import { methods, type SessionConfigOption } from '@agentclientprotocol/sdk'
import { afterAll, describe, expect, test } from 'vitest'
import { House } from '../support/cli.js'
import { startModelServer } from '../support/model-server/server.js'
import { waitFor } from '../support/wait.js'
import { Editor } from './support.js'

const server = await startModelServer()
afterAll(() => server.close())

/** A home whose agents have this provider. */
async function houseWith(provider: string): Promise<House> {
  const house = House.ofProcesses({ OPENAI_API_KEY: 'right' })
  await house.ok('providers', 'add', provider)
  house.env.SUBSTRAT_PROVIDER = provider
  return house
}

/** Models that the service lists slowly come in a notification after the answer. */
async function optionsOf(
  editor: Editor,
  answered: SessionConfigOption[],
  isWhole: (options: SessionConfigOption[]) => boolean,
): Promise<SessionConfigOption[]> {
  let options = answered
  await waitFor(() => {
    const update = editor.updates.findLast((each) => each.sessionUpdate === 'config_option_update')
    if (update?.sessionUpdate === 'config_option_update') options = update.configOptions
    return isWhole(options)
  }, 'the choices')
  return options
}

const create = async (editor: Editor, house: House) =>
  editor.request(methods.agent.session.new, { cwd: house.workspace, mcpServers: [] })

describe.concurrent('the choices of a session', () => {
  test('are the models of the provider, and another model is a setting of the agent', async () => {
    const house = await houseWith('openai')
    await house.ok('config', 'set', 'openai.base_url', `${server.url}/v1`)
    await house.ok('config', 'set', 'openai.model', 'gpt-small')
    const editor = await Editor.open(house)
    const { sessionId, configOptions } = await create(editor, house)
    const options = await optionsOf(editor, configOptions ?? [], (found) => found.length > 0)
    expect(options).toMatchObject([
      { id: 'model', currentValue: 'gpt-small', options: [{ value: 'gpt-small' }, { value: 'gpt-large' }] },
    ])
    const chosen = await editor.request(methods.agent.session.setConfigOption, {
      sessionId,
      configId: 'model',
      value: 'gpt-large',
    })
    expect(chosen.configOptions).toMatchObject([{ id: 'model', currentValue: 'gpt-large' }])
    expect((await house.ok('show', sessionId, '--json')).json.agent.model).toBe('gpt-large')
    await editor.close()
  })

  test.for([
    ['claude-code', 'permission_mode', 'plan'],
    ['codex', 'sandbox', 'read-only'],
  ] as const)('are the modes of %s, and an unknown mode is refused', async ([provider, option, value]) => {
    const house = await houseWith(provider)
    const editor = await Editor.open(house)
    const { sessionId, configOptions } = await create(editor, house)
    const [mode] = (configOptions ?? []).filter(({ id }) => id === 'mode')
    expect(JSON.stringify(mode)).toContain(value)
    const set = (to: string) =>
      editor.request(methods.agent.session.setConfigOption, { sessionId, configId: 'mode', value: to })
    expect((await set(value)).configOptions).toContainEqual(
      expect.objectContaining({ id: 'mode', currentValue: value }),
    )
    expect((await house.ok('show', sessionId, '--json')).json.options).toMatchObject({ [option]: value })
    await expect(set('nonsense')).rejects.toThrow()
    expect((await house.ok('show', sessionId, '--json')).json.options).toMatchObject({ [option]: value })
    await editor.close()
  })

  test('are none for a provider without models or modes, and a choice is refused', async () => {
    const house = new House()
    const editor = await Editor.open(house)
    const { sessionId, configOptions } = await create(editor, house)
    expect(configOptions).toEqual([])
    await expect(
      editor.request(methods.agent.session.setConfigOption, { sessionId, configId: 'mode', value: 'plan' }),
    ).rejects.toMatchObject({ data: { code: 'USAGE' } })
    await editor.close()
  })
})
