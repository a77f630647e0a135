// The fast start of `substrat mcp`, without oclif: an agent program waits for this command at the start of each turn. With
// any argument or flag, commands/mcp runs instead.
import { bridgeStdio } from './mcp-bridge.js'

void bridgeStdio().then(() => process.exit())
