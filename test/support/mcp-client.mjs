// An agent program for the exec provider. It reads its prompt, `[[tool, input], …]`, starts `substrat mcp` like any MCP
// client, calls the tools one after the other, and answers with the results: `[[is_error, text], …]`. RUN_JS is the
// path of the CLI.
//
// - `["wait-for", {file}]` waits for a file
// - `["together", {calls}]` makes several calls at once
// - `["exit", {code}]` ends the program at once
// - `["leave", {call, file, text}]` ends it in the middle of a call, once the file has the text
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'

const prompt = await text(process.stdin)
const calls = JSON.parse(prompt.slice(prompt.indexOf('[[')))
const client = new Client({ name: 'test', version: '1' })
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [process.env.RUN_JS, 'mcp'],
  env: process.env,
})
await client.connect(transport)
const results = []
for (const [name, input] of calls) {
  if (name === 'exit') process.exit(input.code)
  else if (name === 'reached') writeFileSync(input.file, '')
  else if (name === 'wait-for') await until(() => existsSync(input.file))
  else if (name === 'leave') {
    call(...input.call).catch(() => undefined)
    await until(() => readFileSync(input.file, 'utf8').includes(input.text))
    process.exit(0)
  } else if (name === 'tools') results.push((await client.listTools()).tools.map((tool) => tool.name))
  else if (name === 'together') results.push(...(await Promise.all(input.calls.map((c) => call(...c)))))
  else results.push(await call(name, input))
}
await client.close()
process.stdout.write(JSON.stringify(results))

async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function call(name, input) {
  const { isError, content } = await client.callTool({ name, arguments: input }, undefined, {
    timeout: 3_600_000,
  })
  return [isError === true, content[0].text]
}
