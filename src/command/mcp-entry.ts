// `substrat mcp` by itself: an agent's program waits for it at the start of each of its turns, and oclif is not needed to
// carry bytes. With anything else on its command line it is oclif's: see commands/mcp.
import { bridgeStdio } from './mcp-bridge.js'

void bridgeStdio().then(() => process.exit())
