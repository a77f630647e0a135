/** How commands print: results on stdout, notes on stderr, and JSON with `--json` or `--stream`. */
import { Command } from '@oclif/core/command'
import { printableText } from '../console/output.js'
import { guardStdio, stderr, stdout } from '../console/stdio.js'

export abstract class PrintingCommand extends Command {
  /** With `--stream`, stdout has one JSON line per record. */
  protected isStream = false

  protected override async init(): Promise<void> {
    await super.init()
    guardStdio()
  }

  /** False once stdout cannot be written or its reader has closed it. A turn then continues; a command that only prints may stop. */
  protected get isRead(): boolean {
    return stdout.isOpen
  }

  protected print(text: string): void {
    stdout.write(`${printableText(text, stdout)}\n`)
  }

  /** Prints a result that is not a turn's. */
  protected printObject(object: object, text: string): void {
    if (this.jsonEnabled()) this.printJson(object)
    else this.print(text)
  }

  /** Prints one of several results, each acknowledged on its own: one line each, also with `--json`. */
  protected printEach(object: object, text: string, isOneOfSeveral: boolean): void {
    if (isOneOfSeveral && this.jsonEnabled()) this.printJsonLine(object)
    else this.printObject(object, text)
  }

  /** After the lines of `--stream`, the result is one line too. */
  protected printJson(value: unknown): void {
    stdout.write(`${JSON.stringify(value, null, this.isStream ? 0 : 2)}\n`)
  }

  protected printJsonLine(value: unknown): void {
    stdout.write(`${JSON.stringify(value)}\n`)
  }

  /** Whether everything was written to stdout. */
  protected async isPrinted(): Promise<boolean> {
    return (await stdout.flush()) && this.isRead
  }

  protected note(text: string): void {
    stderr.line(`substrat: ${text}`)
  }
}
