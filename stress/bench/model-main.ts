/**
 * The loopback model of the real programs as a separate process. It answers hello. Its first line of output is its
 * address.
 */
import { startLooseModel } from '../real/model.js'

const { url } = await startLooseModel(() => ({
  text: 'hello',
  usage: { input_tokens: 10, output_tokens: 1 },
}))
process.stdout.write(`${JSON.stringify({ url })}\n`)
process.stdin.resume().on('end', () => process.exit(0))
