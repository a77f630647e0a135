/** Takes a slot, reports it, and holds it until it reads a line or is killed. */
import { takeSlot } from '../../src/provider/slots.js'
import { FileStore } from '../../src/storage/file-store.js'

const [root, slotsMax, waitMs] = process.argv.slice(2) as [string, string, string]
const options = { slotsMax: Number(slotsMax), waitMs: Number(waitMs), command: 'slot-child' }
try {
  const slot = await takeSlot(FileStore.openForWrite(root), options)
  process.stdout.write('in\n')
  process.stdin.once('data', async () => {
    process.stdout.write('out\n')
    await slot.release()
    process.exit()
  })
} catch (error) {
  process.stdout.write(`${(error as { code: string }).code}\n`)
  process.exit()
}
