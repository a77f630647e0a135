/** Executes statements in the thread of `worker.ts`, which also renews leases and hears of changes. */
import { join } from 'node:path'
import { createSecureContext } from 'node:tls'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { StoreKit } from 'substrat/store'
import type { Executor } from './executor.js'
import type { Answer, Request, Statement, WorkerSettings } from './protocol.js'

/** Beside the bundle of this module. */
const WORKER = 'worker.cjs'

type FromWorker = { answer: Answer } | { changed: string } | { handsOver: true }

export class ThreadExecutor implements Executor {
  private readonly answered = new Int32Array(new SharedArrayBuffer(4))
  private readonly port: MessagePort
  /** The number of answers before that of the statement. */
  private before = 0
  /** An answer that came while the event loop turned. */
  private heard: Answer | undefined
  private parsesCertificates: boolean
  private readonly onChange: (agentId: string) => void
  private readonly onHandOver: () => void

  /**
   * `onChange` is called with an agent that may have a new request, and `onHandOver` when the caller should close the connection of
   * its own, because this thread has one.
   */
  constructor(
    { startThread }: Pick<StoreKit, 'startThread'>,
    settings: Omit<WorkerSettings, 'port' | 'answered'>,
    {
      usesTls,
      onChange,
      onHandOver,
    }: { usesTls: boolean; onChange: (agentId: string) => void; onHandOver: () => void },
  ) {
    this.onHandOver = onHandOver
    this.parsesCertificates = usesTls
    this.onChange = onChange
    const { port1, port2 } = new MessageChannel()
    const { answered } = this
    startThread(join(__dirname, WORKER), { ...settings, port: port2, answered }, [port2])
    this.port = port1
    port1.on('message', (message: FromWorker) => this.hear(message))
    port1.unref()
  }

  begin(statement: Statement): void {
    this.before = Atomics.load(this.answered, 0)
    this.post({ kind: 'statement', statement })
    if (this.parsesCertificates) parseRootCertificates()
    this.parsesCertificates = false
  }

  answer(): Answer {
    // The worker counts an answer first and wakes the caller then. It may be so late that it wakes the wait for the next answer.
    while (Atomics.load(this.answered, 0) === this.before) Atomics.wait(this.answered, 0, this.before)
    for (;;) {
      const { heard } = this
      this.heard = undefined
      if (heard !== undefined) return heard
      const received = receiveMessageOnPort(this.port) as { message: FromWorker } | undefined
      if (received === undefined) throw new Error('the worker gave no answer')
      this.hear(received.message)
    }
  }

  post(request: Request): void {
    this.port.postMessage(request)
  }

  private hear(message: FromWorker): void {
    if ('answer' in message) this.heard = message.answer
    else if ('changed' in message) this.onChange(message.changed)
    else this.onHandOver()
  }
}

/**
 * Node parses its own certificates at the first context of a process, in 40 ms, also if the URL names the only one that counts. Here
 * it does so while the thread starts to connect.
 */
function parseRootCertificates(): void {
  createSecureContext()
}
