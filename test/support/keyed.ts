/** A provider that needs a key, for turns that cannot begin. */

/** The plugin of a model whose key is the file `key` in the workspace. With the file `down` its turns fail. */
export const KEYED = `
  import { existsSync } from 'node:fs'
  export default {
    kind: 'model',
    description: 'needs a key',
    options: {},
    check({ workspace }) {
      if (existsSync(workspace + '/key')) return
      throw Object.assign(new Error('no API key: set NIGHT_KEY'), { failure: { type: 'authentication' } })
    },
    async *complete({ workspace }) {
      if (existsSync(workspace + '/down')) throw Object.assign(new Error('it is down'), { failure: { type: 'invalid' } })
      yield { type: 'text', text: 'slept well' }
      yield { type: 'stop', reason: 'end' }
    },
  }`
