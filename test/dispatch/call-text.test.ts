import { expect, test } from 'vitest'
import { callText } from '../../src/dispatch/call-text.js'

test.each([
  [
    'the one field that is text, as it stands',
    'shell',
    { command: 'npm test && git push' },
    'shell: npm test && git push',
  ],
  [
    'several fields by their names',
    'edit_file',
    { path: 'a.txt', old_text: 'a b', new_text: 'c' },
    'edit_file: path=a.txt old_text="a b" new_text=c',
  ],
  [
    'lines within a field, so that it is seen where it ends',
    'write_file',
    { path: 'a', content: 'b\npath=c' },
    'write_file: path=a content="b\\npath=c"',
  ],
  [
    'what is no text as JSON',
    'files__copy',
    { from: ['a', 'b'], force: true },
    'files__copy: from=["a","b"] force=true',
  ],
  ['nothing where nothing is given', 'files__sync', {}, 'files__sync:'],
])('a call is shown as %s', (_, tool, input, text) => {
  expect(callText({ tool, input })).toBe(text)
})
