/** Modal dialogs. The browser's own <dialog> keeps the focus inside and gives it back. */
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  // With the drawing, so that the next key goes to the dialog.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  )
}

export interface Question {
  title: string
  text: string
  confirm: string
  isDangerous?: boolean
  /** Offers a check box, whose state it gives. */
  option?: string
  onConfirm: (option: boolean) => void
}

export function Confirm({ question, onClose }: { question: Question; onClose: () => void }) {
  const option = useRef<HTMLInputElement>(null)
  const confirm = (event: Event): void => {
    event.preventDefault()
    question.onConfirm(option.current?.checked === true)
    onClose()
  }
  return (
    <Dialog title={question.title} onClose={onClose}>
      <form onSubmit={confirm}>
        <p>{question.text}</p>
        {question.option !== undefined && (
          <label class="check">
            <input type="checkbox" ref={option} /> {question.option}
          </label>
        )}
        <div class="buttons end">
          <button type="button" class="plain" onClick={onClose}>
            Go back
          </button>
          <button type="submit" class={question.isDangerous === true ? 'danger' : 'primary'}>
            {question.confirm}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
