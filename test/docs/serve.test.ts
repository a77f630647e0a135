/** docs/serve.md has every status of the server's table. `WRITE_DOCS=1` writes the rows. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { STATUS_OF } from '../../plugins/serve/src/problem.js'

const PAGE = 'docs/serve.md'

test('the table of statuses is that of the server', () => {
  const codes = new Map<number, string[]>()
  for (const [code, [status]] of Object.entries(STATUS_OF))
    codes.set(status, [...(codes.get(status) ?? []), code])
  const rows = [...codes]
    .sort(([a], [b]) => a - b)
    .map(([status, found]) => `| ${status} | ${found.map((code) => `\`${code}\``).join(', ')} |`)
  const page = readFileSync(PAGE, 'utf8')
  const [head = '', rest = ''] = page.split('| status | codes |\n|---|---|\n')
  const written = `${head}| status | codes |\n|---|---|\n${rows.join('\n')}\n${rest.slice(rest.indexOf('\n\n## Security') + 1)}`
  if (process.env.WRITE_DOCS) writeFileSync(PAGE, written)
  expect(readFileSync(PAGE, 'utf8')).toBe(written)
})
